/**
 * A Slurm cluster in its own directory on this machine: munge with its own key and socket, one controller, several node
 * daemons. It changes nothing else on the machine and does not read the configuration of an installed Slurm.
 */
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { hostname, userInfo } from "node:os";
import path from "node:path";
import type { Daemon } from "./child-processes.ts";
import { assertRunning, endDaemons, output, startDaemon, until } from "./child-processes.ts";
import type { CpuAccount } from "./cpu-account.ts";
import type { ArrayRequest } from "./measurement.ts";

export interface SchedulerSetup {
  readonly name: string;
  readonly type: "sched/builtin" | "sched/backfill";
  readonly parameters: string;
  readonly why: string;
}

/**
 * Two configurations from Slurm's "High Throughput Computing Administration Guide"
 * (slurm.schedmd.com/high_throughput.html). Both also follow the guide's other advice: priority/basic, no accounting,
 * no job completion log, quiet daemons, sched/builtin.
 */
export const schedulerSetups: readonly SchedulerSetup[] = [
  {
    name: "each end",
    type: "sched/builtin",
    parameters: "batch_sched_delay=1,sched_interval=1,sched_min_interval=10000,default_queue_depth=64",
    why: "schedules at every end of a job, at most every 10 ms",
  },
  {
    name: "deferred",
    type: "sched/builtin",
    parameters: "defer,batch_sched_delay=0,sched_interval=1,sched_min_interval=10000,default_queue_depth=64",
    why: "leaves it to the main loop, once a second, for all that has ended by then",
  },
];

const PROGRAMS = ["slurmctld", "slurmd", "munged", "sbatch", "scontrol", "sdiag", "sinfo", "squeue"] as const;
type Program = (typeof PROGRAMS)[number];
/** Directories of Slurm's daemons, which are not on an ordinary user's PATH. */
const PROGRAM_DIRS = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"];
const START_TIMEOUT_MS = 60_000;
/**
 * `MaxJobCount`: maximum number of jobs in the controller, including ended ones (slurm.conf(5)); Slurm's default is
 * 10,000.
 */
const MAX_JOB_COUNT = 50_000;
/** `MinJobAge`: time for which finished jobs remain. It must last until their states are counted. */
const MIN_JOB_AGE_S = 3_600;

function findPrograms(): ReadonlyMap<Program, string> {
  const found = new Map<Program, string>();
  for (const program of PROGRAMS) {
    const directory = PROGRAM_DIRS.find((each) => existsSync(path.join(each, program)));
    if (directory !== undefined) found.set(program, path.join(directory, program));
  }
  return found;
}

/** The version of Slurm, which the daemon prints without a configuration; `null` if Slurm is not installed. */
export async function slurmVersion(): Promise<string | null> {
  const slurmd = findPrograms().get("slurmd");
  return slurmd === undefined ? null : (await output(slurmd, ["-V"], {})).trim();
}

export function missingPrograms(): string[] {
  const found = findPrograms();
  return PROGRAMS.filter((program) => !found.has(program));
}

export class SlurmCluster {
  readonly #directory: string;
  readonly #account: CpuAccount;
  readonly #programs = findPrograms();
  readonly #env: NodeJS.ProcessEnv;
  readonly #daemons: Daemon[] = [];

  constructor(directory: string, account: CpuAccount) {
    this.#directory = directory;
    this.#account = account;
    this.#env = {
      PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
      SLURM_CONF: this.#in("slurm.conf"),
    };
  }

  /** Standard output of a command. */
  call(program: Program, ...args: readonly string[]): Promise<string> {
    return output(this.#path(program), args, this.#env);
  }

  async start(request: ArrayRequest, setup: SchedulerSetup): Promise<void> {
    const nodes = Array.from({ length: request.nodeCount }, (_, index) => `n${index + 1}`);
    for (const name of ["state", "munge", ...nodes]) mkdirSync(this.#in(name), { mode: 0o700 });
    writeFileSync(this.#in("munge/key"), randomBytes(1024), { mode: 0o600 });
    const ports = await freePorts(nodes.length + 1);
    writeFileSync(this.#in("slurm.conf"), configuration({ directory: this.#directory, request, setup, nodes, ports }));
    writeFileSync(this.#in("gres.conf"), gresConfiguration(nodes, request.slotsPerNode));
    this.#daemon("munged", "--foreground", "--force", ...mungeFiles(this.#in("munge")));
    await until("munged", START_TIMEOUT_MS, () => existsSync(this.#in("munge/socket")));
    this.#daemon("slurmctld", "-D", "-c", "-f", this.#in("slurm.conf"));
    await until("slurmctld", START_TIMEOUT_MS, () => this.#succeeds("scontrol", "ping"));
    for (const node of nodes) this.#daemon("slurmd", "-D", "-c", "-N", node, "-f", this.#in("slurm.conf"));
    await until("the nodes", START_TIMEOUT_MS, async () => {
      for (const daemon of this.#daemons) assertRunning(daemon);
      const states = (await this.call("sinfo", "--noheader", "--Node", "--format=%T")).trim().split("\n");
      return states.length === nodes.length && states.every((state) => state === "idle");
    });
  }

  stop(): Promise<void> {
    return endDaemons(this.#daemons.splice(0));
  }

  async #succeeds(program: Program, ...args: readonly string[]): Promise<boolean> {
    return this.call(program, ...args).then(
      (text) => !text.includes("DOWN"),
      () => false,
    );
  }

  #daemon(program: Program, ...args: readonly string[]): void {
    const logFile = this.#in(`${program}-${this.#daemons.length}.log`);
    const command = [this.#path(program), ...args] as const;
    this.#daemons.push(startDaemon({ name: program, command, env: this.#env, logFile }, this.#account));
  }

  #path(program: Program): string {
    const found = this.#programs.get(program);
    if (found === undefined) throw new Error(`${program} is not installed`);
    return found;
  }

  #in(name: string): string {
    return path.join(this.#directory, name);
  }
}

interface ConfigurationParts {
  readonly directory: string;
  readonly request: ArrayRequest;
  readonly setup: SchedulerSetup;
  readonly nodes: readonly string[];
  /** Logs of the controller, then of the nodes. */
  readonly ports: readonly number[];
}

/** Keys as in slurm.conf(5). */
function configuration({ directory, request, setup, nodes, ports }: ConfigurationParts): string {
  const user = userInfo().username;
  const host = hostname();
  return `${[
    "ClusterName=beside",
    `SlurmctldHost=${host}(127.0.0.1)`,
    `SlurmctldPort=${ports[0]}`,
    `SlurmUser=${user}`,
    `SlurmdUser=${user}`,
    "AuthType=auth/munge",
    `AuthInfo=socket=${directory}/munge/socket`,
    "CredType=cred/munge",
    `StateSaveLocation=${directory}/state`,
    `SlurmdSpoolDir=${directory}/%n`,
    `SlurmctldPidFile=${directory}/slurmctld.pid`,
    `SlurmdPidFile=${directory}/slurmd.%n.pid`,
    "SlurmctldDebug=error",
    "SlurmdDebug=error",
    "ProctrackType=proctrack/linuxproc",
    "TaskPlugin=task/none",
    "SwitchType=switch/none",
    "MpiDefault=none",
    "JobAcctGatherType=jobacct_gather/none",
    "AccountingStorageType=accounting_storage/none",
    "JobCompType=jobcomp/none",
    "PriorityType=priority/basic",
    "SelectType=select/cons_tres",
    "SelectTypeParameters=CR_Core",
    `SchedulerType=${setup.type}`,
    `SchedulerParameters=${setup.parameters}`,
    "SlurmdParameters=config_overrides",
    "ReturnToService=2",
    `MaxJobCount=${MAX_JOB_COUNT}`,
    // `MaxArraySize` is one more than the highest index.
    `MaxArraySize=${request.jobCount + 1}`,
    `MinJobAge=${MIN_JOB_AGE_S}`,
    "CompleteWait=0",
    "EpilogMsgTime=0",
    "GresTypes=gpu",
    "MailProg=/bin/true",
    ...nodes.map((node, index) => nodeLine(node, ports[index + 1] ?? 0, request.slotsPerNode)),
    `PartitionName=all Nodes=${nodes.join(",")} Default=YES MaxTime=INFINITE State=UP`,
  ].join("\n")}\n`;
}

function nodeLine(node: string, port: number, slots: number): string {
  const place = `NodeHostname=${hostname()} NodeAddr=127.0.0.1 Port=${port}`;
  return `NodeName=${node} ${place} CPUs=${slots} RealMemory=1000 Gres=gpu:${slots} State=UNKNOWN`;
}

/**
 * Slurm needs a device file for each GPU and, without cgroups, opens none of these files. Terminals serve as such
 * files, because they are also character devices.
 */
function gresConfiguration(nodes: readonly string[], slots: number): string {
  const devices = readdirSync("/dev")
    .filter((name) => /^tty\d+$/.test(name) && statSync(path.join("/dev", name)).isCharacterDevice())
    .slice(0, slots);
  if (devices.length < slots) throw new Error(`/dev has ${devices.length} terminals to stand for ${slots} GPUs`);
  return nodes.flatMap((node) => devices.map((device) => `NodeName=${node} Name=gpu File=/dev/${device}\n`)).join("");
}

function mungeFiles(directory: string): string[] {
  return [
    `--key-file=${directory}/key`,
    `--socket=${directory}/socket`,
    `--pid-file=${directory}/pid`,
    `--log-file=${directory}/log`,
    `--seed-file=${directory}/seed`,
  ];
}

/** Free ports. Each is held until all are found, so that no port is found twice. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve, reject) => {
          server.once("error", reject);
          server.listen({ host: "127.0.0.1", port: 0 }, () => resolve((server.address() as AddressInfo).port));
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
  return ports;
}
