/**
 * Cloud nodes of a test cluster: `slurmctld` starts a `slurmd` on this machine for each node that is powered up, and ends it when the
 * node is powered down (slurm.schedmd.com/power_save.html).
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

export interface CloudPlace {
  /** Directory of the cluster. */
  readonly directory: string;
  readonly slurmd: string;
  readonly scontrol: string;
  readonly configuration: string;
}

/** Writes `resume` and `suspend`, and returns their lines for slurm.conf. The file `broken` makes starts fail. */
export function writeCloudPrograms({ directory, slurmd, scontrol, configuration }: CloudPlace): readonly string[] {
  const script = (name: string, forEachNode: string): string => {
    const file = path.join(directory, name);
    const lines = [
      "#!/bin/sh",
      `export SLURM_CONF=${configuration}`,
      `echo "${name} $1" >> ${directory}/power.log`,
      `for n in $(${scontrol} show hostnames "$1"); do`,
      forEachNode,
      "done",
    ];
    writeFileSync(file, `${lines.join("\n")}\n`, { mode: 0o700 });
    return file;
  };
  // -b: "rebooted". A node that is powered up must have booted since (slurmd(8)), and these share the machine.
  const start = `setsid -f ${slurmd} -b -D -N $n -f ${configuration} </dev/null >>${directory}/$n.log 2>&1`;
  const resume = script("resume", `[ -e ${directory}/broken ] || ${start}`);
  const suspend = script("suspend", `[ -e ${directory}/slurmd.$n.pid ] && kill $(cat ${directory}/slurmd.$n.pid)`);
  return [
    `ResumeProgram=${resume}`,
    `SuspendProgram=${suspend}`,
    // Nodes that are powered down are listed.
    "PrivateData=cloud",
    "ResumeTimeout=30",
    "SuspendTimeout=3",
    "ResumeRate=0",
    "SuspendRate=0",
    // Slurm itself stops idle nodes only after this; Headroom decides before.
    "SuspendTime=3600",
  ];
}

/** Ends the daemons of cloud nodes that still run. */
export function endCloudNodes(directory: string, nodes: readonly string[]): void {
  for (const node of nodes) {
    const file = path.join(directory, `slurmd.${node}.pid`);
    if (!existsSync(file)) continue;
    try {
      process.kill(Number(readFileSync(file, "utf8")), "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}
