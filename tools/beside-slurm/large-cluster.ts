/**
 * `npm run bench:large-cluster`: a control plane follows a Slurm cluster whose commands print generated answers in the format that Slurm
 * 22.05 prints. Measured: the time from the declaration of the executor until all nodes are in, the processor time of the control plane
 * while nothing changes, and the time until a node that goes down shows another use. The processes that stand for Slurm's commands are not counted.
 * Options: `--nodes N` (5,000), `--jobs N` (50,000), `--idle SECONDS` (60), `--poll MS` (2,000), `--port N`, `--json`.
 */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir, userInfo } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { ControlPlaneProcess } from "../../packages/executors/src/conformance/control-plane-process.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "5000" },
    jobs: { type: "string", default: "50000" },
    idle: { type: "string", default: "60" },
    poll: { type: "string", default: "2000" },
    port: { type: "string", default: "25910" },
    json: { type: "boolean", default: false },
  },
});

const nodeCount = Number(values.nodes);
const jobCount = Number(values.jobs);
const idleMs = Number(values.idle) * 1_000;
const TICKS_PER_S = 100;

/** A record of `scontrol show node --oneliner --details`; half of the accelerators are in use. */
const nodeLine = (index: number, state: string): string =>
  `NodeName=n${index} Arch=x86_64 CoresPerSocket=48 CPUAlloc=48 CPUEfctv=192 CPUTot=192 CPULoad=47.90 ` +
  `AvailableFeatures=h100,ib ActiveFeatures=h100,ib Gres=gpu:h100:8(S:0-1) GresDrain=N/A GresUsed=gpu:h100:4(IDX:0-3) ` +
  `NodeAddr=10.${index >> 8}.${index & 255}.1 NodeHostName=n${index} Version=22.05.8 ` +
  `OS=Linux 5.14.0-427.el9.x86_64 #1 SMP PREEMPT_DYNAMIC Fri Feb 23 2024 RealMemory=2063000 AllocMem=1031500 FreeMem=901233 ` +
  `Sockets=2 Boards=1 State=${state} ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A Partitions=gpu,all ` +
  `BootTime=2026-11-01T06:11:02 SlurmdStartTime=2026-11-01T06:12:12 LastBusyTime=2026-11-28T21:03:11 ` +
  `CfgTRES=cpu=192,mem=2063000M,billing=192,gres/gpu=8 AllocTRES=cpu=48,mem=1031500M,gres/gpu=4 CapWatts=n/a ` +
  `CurrentWatts=0 AveWatts=0 ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s \n`;

function writeAnswers(directory: string, changed: string): void {
  const nodes = Array.from({ length: nodeCount }, (_, index) => nodeLine(index + 1, index === 0 ? changed : "MIXED"));
  const { uid } = userInfo();
  const jobs = Array.from(
    { length: jobCount },
    (_, index) => `${index + 1}|${index % 5 === 0 ? "PENDING|Priority" : "RUNNING|None"}|${uid}|train-${index % 977}\n`,
  );
  const texts = {
    node: nodes.join(""),
    partition: `PartitionName=gpu Default=YES Nodes=n[1-${nodeCount}] State=UP\nPartitionName=all Nodes=n[1-${nodeCount}] State=UP\n`,
    config: "KillWait                = 30 sec\nSLURM_VERSION           = 22.05.8\n",
    topology: "",
    jobs: jobs.join(""),
  };
  for (const [name, text] of Object.entries(texts)) {
    writeFileSync(path.join(directory, `${name}.new`), text);
    renameSync(path.join(directory, `${name}.new`), path.join(directory, name));
  }
}

/** Programs that print the files. */
function writeCommands(directory: string): void {
  const programs = {
    scontrol: `#!/bin/sh\nexec cat "${directory}/$2"\n`,
    squeue: `#!/bin/sh\nexec cat "${directory}/jobs"\n`,
    sbatch: "#!/bin/sh\nexit 1\n",
    scancel: "#!/bin/sh\nexit 0\n",
  };
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(path.join(directory, name), text);
    chmodSync(path.join(directory, name), 0o755);
  }
}

/** Processor time of a process, without its children (proc(5)). */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_PER_S;
}

async function until(isSo: () => Promise<boolean>): Promise<number> {
  const beganMs = performance.now();
  while (!(await isSo().catch(() => false))) {
    if (performance.now() - beganMs > 300_000) throw new Error("not within five minutes");
    await delay(100);
  }
  return performance.now() - beganMs;
}

const root = mkdtempSync(path.join(tmpdir(), "headroom-large-"));
const commands = path.join(root, "commands");
mkdirSync(commands);
writeAnswers(commands, "MIXED");
writeCommands(commands);
const plane = new ControlPlaneProcess(root, Number(values.port), []);
try {
  await plane.start();
  const pid = plane.pid;
  const load = loadavg()[0] ?? 0;
  const settings = { directory: path.join(root, "shared"), commands, pollMs: Number(values.poll) };
  const beganMs = performance.now();
  const cpuBeforeMs = cpuMsOf(pid);
  await plane.put("/v1/executors/lab", { type: "slurm", mode: "follow", settings });
  const count = async (): Promise<number> => {
    const { items } = JSON.parse(await plane.text("/v1/executors")) as { items: { name: string; nodes: number }[] };
    return items.find(({ name }) => name === "lab")?.nodes ?? 0;
  };
  await until(async () => (await count()) >= nodeCount);
  const takenInMs = performance.now() - beganMs;
  const takenInCpuMs = cpuMsOf(pid) - cpuBeforeMs;
  await delay(5_000);
  const idleBeforeMs = cpuMsOf(pid);
  await delay(idleMs);
  const idleShare = (cpuMsOf(pid) - idleBeforeMs) / idleMs;
  const before = await plane.text("/v1/nodes/lab-n1");
  writeAnswers(commands, "DOWN*+DRAIN");
  const seenMs = await until(async () => (await plane.text("/v1/nodes/lab-n1")) !== before);
  const figures = { nodeCount, jobCount, takenInMs, takenInCpuMs, idleShare, seenMs, load };
  if (values.json) console.log(JSON.stringify(figures));
  else
    console.log(
      `${nodeCount} nodes, ${jobCount} jobs: taken in after ${(takenInMs / 1_000).toFixed(1)} s (${(takenInCpuMs / 1_000).toFixed(1)} s of processor time), ` +
        `followed at ${(100 * idleShare).toFixed(1)}% of a core, a changed node seen after ${(seenMs / 1_000).toFixed(1)} s, load before ${load.toFixed(1)}`,
    );
} finally {
  await plane.kill();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
}
