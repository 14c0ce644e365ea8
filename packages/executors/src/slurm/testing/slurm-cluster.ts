/**
 * A real Slurm cluster in a directory of its own, for tests: munge with its own key and socket, one controller, several
 * node daemons on this machine. It reads no installed configuration and changes nothing outside its directory.
 */
import { randomBytes } from "node:crypto";
import type { ChildProcess } from "node:child_process";
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { hostname, tmpdir, userInfo } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { endCloudNodes, writeCloudPrograms } from "./cloud-programs.ts";
import { freePortsIn } from "../../conformance/free-ports.ts";

const PROGRAM_DIRS = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin"];
const PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun"] as const;
type Program = (typeof PROGRAMS)[number];

const START_TIMEOUT_MS = 60_000;
const END_TIMEOUT_MS = 15_000;
const POLL_MS = 100;
/** Ports below those that Linux uses for outgoing connections (ip(7)), away from the rendezvous ports of gangs. */
const PORTS = { first: 17_100, size: 900 };
const REST_PROGRAM = "/usr/sbin/slurmrestd";
const NOBODY = 65_534;
/** Bytes of a daemon's log in a message. */
const LOG_SHOWN = 1_000;

export interface ClusterShape {
  readonly nodes: number;
  readonly gpusPerNode: number;
  readonly cpusPerNode: number;
  readonly memoryMib: number;
  /** Nodes `c1`, `c2`, … of the partition `cloud`, which are powered down. */
  readonly cloudNodes?: number;
}

const fourNodes: ClusterShape = { nodes: 4, gpusPerNode: 8, cpusPerNode: 64, memoryMib: 500_000 };

const programPath = (program: Program): string | undefined =>
  PROGRAM_DIRS.map((directory) => path.join(directory, program)).find((file) => existsSync(file));

/** Programs of Slurm and munge that this machine lacks. */
function missingSlurmPrograms(): readonly string[] {
  return PROGRAMS.filter((program) => programPath(program) === undefined);
}

/** Why a test of a real cluster cannot run here; `null`: it can. */
export function whyNoCluster(shape: ClusterShape = fourNodes): string | null {
  const missing = missingSlurmPrograms();
  if (missing.length > 0) return `Slurm is not installed (${missing.join(", ")}); Debian: slurm-wlm munge`;
  const terminals = terminalFiles().length;
  return terminals < shape.gpusPerNode
    ? `/dev has ${terminals} terminals to stand for ${shape.gpusPerNode} GPUs`
    : null;
}

/** Debian: slurm-wlm-jwt-plugin. */
const hasTokens = (): boolean =>
  existsSync(`/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu/slurm-wlm/auth_jwt.so`);

const terminalFiles = (): readonly string[] =>
  readdirSync("/dev")
    .filter((name) => /^tty\d+$/.test(name))
    .toSorted((a, b) => Number(a.slice(3)) - Number(b.slice(3)));

export class SlurmCluster {
  readonly directory: string;
  readonly nodes: readonly string[];
  readonly cloudNodes: readonly string[];
  /** Address of slurmrestd; `null`: it is not installed, or cannot run here. */
  restAddress: string | null = null;
  /** URL of slurmrestd, which takes JSON web tokens; `null`: as above, or Slurm's plugin for tokens is not installed. */
  restUrl: string | null = null;
  #restPort = 0;
  readonly #shape: ClusterShape;
  readonly #daemons = new Map<string, ChildProcess>();

  private constructor(shape: ClusterShape) {
    this.#shape = shape;
    this.directory = mkdtempSync(path.join(tmpdir(), "headroom-slurm-"));
    // Jobs of other users reach the socket of munge and their scripts.
    chmodSync(this.directory, 0o711);
    this.nodes = Array.from({ length: shape.nodes }, (_, index) => `n${index + 1}`);
    this.cloudNodes = Array.from({ length: shape.cloudNodes ?? 0 }, (_, index) => `c${index + 1}`);
  }

  static async start(shape: ClusterShape = fourNodes): Promise<SlurmCluster> {
    const cluster = new SlurmCluster(shape);
    try {
      await cluster.#start();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  get configurationFile(): string {
    return this.#in("slurm.conf");
  }

  /** Environment of Slurm's commands. */
  get env(): Readonly<Record<string, string>> {
    return { PATH: PROGRAM_DIRS.join(":") + ":/sbin:/bin", SLURM_CONF: this.configurationFile };
  }

  /** Standard output of a command that must succeed. */
  async call(program: Program, ...args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(this.#program(program), args, { env: this.env, timeout: 30_000 });
    return stdout;
  }

  /** Kills a daemon without notice, as a crash does: `slurmctld`, or the name of a node. */
  async kill(name: string): Promise<void> {
    const child = this.#daemons.get(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  /**
   * Kills the daemon of a node and all that runs on it, as a power cut does. `mark`: a variable of its jobs, which have none of Slurm's.
   */
  async crashNode(node: string, mark: string): Promise<void> {
    await this.kill(node);
    const own = `SLURM_CONF=${this.configurationFile}`;
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
        const isDaemons = environment.includes(own) && environment.includes(`SLURMD_NODENAME=${node}`);
        if (isDaemons || environment.includes(mark)) process.kill(Number(pid), "SIGKILL");
      } catch {
        // It has ended, or is a process of the kernel.
      }
    }
  }

  /** Stops a daemon from answering, or lets it go on. */
  hang(name: string, isHanging: boolean): void {
    this.#daemons.get(name)?.kill(isHanging ? "SIGSTOP" : "SIGCONT");
  }

  async startController(): Promise<void> {
    this.#daemon("slurmctld", "slurmctld", "-D", "-f", this.configurationFile);
    await this.#until("slurmctld", () => this.#answers());
  }

  startNode(node: string): void {
    this.#daemon(node, "slurmd", "-D", "-N", node, "-f", this.configurationFile);
  }

  /**
   * A controller that was killed may give out the id of a job whose steps run; the node is then drained ("Duplicate jobid") until an
   * administrator resumes it.
   */
  async resumeDrained(): Promise<void> {
    const states = await this.call("sinfo", "--noheader", "--Node", "--format=%N %T");
    for (const [, node = ""] of states.matchAll(/^(\S+) drain/gm))
      // A node that has just gone back to work by itself refuses.
      await this.call("scontrol", "update", `nodename=${node}`, "state=resume").catch(() => "");
  }

  async nodesAreIdle(): Promise<void> {
    await this.#until("the nodes", async () => {
      const names = this.nodes.join(",");
      const states = (await this.call("sinfo", "--noheader", "--Node", `--nodes=${names}`, "--format=%T"))
        .trim()
        .split("\n");
      return states.length === this.nodes.length && states.every((state) => state === "idle");
    });
  }

  async stop(): Promise<void> {
    if (this.#daemons.has("slurmctld")) await this.call("scancel", `--user=${userInfo().username}`).catch(() => "");
    for (const child of [...this.#daemons.values()].toReversed()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), END_TIMEOUT_MS);
      await ended;
      clearTimeout(timer);
    }
    endCloudNodes(this.directory, this.cloudNodes);
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  async #start(): Promise<void> {
    for (const name of ["state", ...this.nodes, ...this.cloudNodes]) mkdirSync(this.#in(name), { mode: 0o700 });
    mkdirSync(this.#in("munge"), { mode: 0o711 });
    writeFileSync(this.#in("munge/key"), randomBytes(1024), { mode: 0o600 });
    writeFileSync(this.#in("jwt.key"), randomBytes(32), { mode: 0o600 });
    // Together, since the ports of cloud nodes are free until they are powered up.
    const ports = await freePortsIn(PORTS, this.nodes.length + this.cloudNodes.length + 2);
    this.#restPort = ports.at(-1) ?? 0;
    writeFileSync(this.configurationFile, this.#configuration(ports));
    const devices = this.#deviceFiles();
    const line = (node: string, device: string): string => `NodeName=${node} Name=gpu Type=h100 File=${device}\n`;
    writeFileSync(
      this.#in("gres.conf"),
      [...this.nodes, ...this.cloudNodes].flatMap((node) => devices.map((device) => line(node, device))).join(""),
    );
    this.#daemon("munged", "munged", "--foreground", "--force", ...mungeFiles(this.#in("munge")));
    await this.#until("munged", () => existsSync(this.#in("munge/socket")));
    await this.startController();
    for (const node of this.nodes) this.startNode(node);
    await this.nodesAreIdle();
    await this.startRest();
  }

  /** A file with a token of this user for slurmrestd, as `scontrol token` prints it. */
  async tokenFile(): Promise<string> {
    const file = this.#in("token");
    writeFileSync(file, await this.call("scontrol", "token", "lifespan=7200"), { mode: 0o600 });
    return file;
  }

  /** slurmrestd serves a socket, and a port with tokens, as a user without rights: it refuses to run as root. */
  async startRest(): Promise<void> {
    if (!existsSync(REST_PROGRAM) || userInfo().uid !== 0) return;
    const socket = this.#in("rest/socket");
    mkdirSync(path.dirname(socket), { recursive: true });
    chownSync(path.dirname(socket), NOBODY, NOBODY);
    const as = ["--reuid", String(NOBODY), "--regid", String(NOBODY), "--clear-groups"];
    const program = [REST_PROGRAM, "-f", this.configurationFile, "-s", "openapi/v0.0.38"];
    this.#spawn("slurmrestd", "/usr/bin/setpriv", [...as, ...program, "-a", "rest_auth/local", `unix:${socket}`]);
    await this.#until("slurmrestd", () => existsSync(socket));
    this.restAddress = `unix:${socket}`;
    if (!hasTokens()) return;
    const port = this.#restPort;
    const server = [...program, "-a", "rest_auth/jwt", `127.0.0.1:${port}`];
    this.#spawn("slurmrestd-http", "/usr/bin/env", ["SLURM_JWT=daemon", "/usr/bin/setpriv", ...as, ...server]);
    const url = `http://127.0.0.1:${port}`;
    const answers = async (): Promise<boolean> => fetch(url).then(Boolean, () => false);
    await this.#until("slurmrestd over HTTP", answers);
    this.restUrl = url;
  }

  /** Keys as in slurm.conf(5). */
  #configuration(ports: readonly number[]): string {
    const { username } = userInfo();
    const { nodes, gpusPerNode, cpusPerNode, memoryMib } = this.#shape;
    const nodeLines = [...this.nodes, ...this.cloudNodes].map(
      (node, index) =>
        `NodeName=${node} NodeHostname=${hostname()} NodeAddr=127.0.0.1 Port=${ports[index + 1]} CPUs=${cpusPerNode} ` +
        `Boards=1 SocketsPerBoard=1 CoresPerSocket=${cpusPerNode} ThreadsPerCore=1 RealMemory=${memoryMib} ` +
        `Gres=gpu:h100:${gpusPerNode} State=${index < nodes ? "UNKNOWN" : "CLOUD"}`,
    );
    return `${[
      "ClusterName=headroomtest",
      `SlurmctldHost=${hostname()}(127.0.0.1)`,
      `SlurmctldPort=${ports[0]}`,
      `SlurmUser=${username}`,
      `SlurmdUser=${username}`,
      "AuthType=auth/munge",
      `AuthInfo=socket=${this.#in("munge/socket")}`,
      ...(hasTokens() ? ["AuthAltTypes=auth/jwt", `AuthAltParameters=jwt_key=${this.#in("jwt.key")}`] : []),
      `StateSaveLocation=${this.#in("state")}`,
      `SlurmdSpoolDir=${this.directory}/%n`,
      `SlurmctldPidFile=${this.#in("slurmctld.pid")}`,
      `SlurmdPidFile=${this.directory}/slurmd.%n.pid`,
      "SlurmctldDebug=error",
      "SlurmdDebug=error",
      "ProctrackType=proctrack/linuxproc",
      "TaskPlugin=task/none",
      "SwitchType=switch/none",
      "MpiDefault=none",
      "JobAcctGatherType=jobacct_gather/none",
      "AccountingStorageType=accounting_storage/none",
      "SelectType=select/cons_tres",
      "SelectTypeParameters=CR_Core_Memory",
      // Heterogeneous jobs need the backfill scheduler (slurm.schedmd.com/heterogeneous_jobs.html).
      "SchedulerType=sched/backfill",
      "SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=10000,bf_interval=1",
      "SlurmdParameters=config_overrides",
      "ReturnToService=2",
      "SlurmdTimeout=10",
      "KillWait=5",
      "MinJobAge=60",
      "EpilogMsgTime=0",
      "GresTypes=gpu",
      "MailProg=/bin/true",
      ...nodeLines,
      `PartitionName=gpu Nodes=n[1-${nodes}] Default=YES MaxTime=INFINITE State=UP`,
      ...this.#cloudLines(),
    ].join("\n")}\n`;
  }

  #cloudLines(): readonly string[] {
    if (this.cloudNodes.length === 0) return [];
    const place = {
      directory: this.directory,
      slurmd: this.#program("slurmd"),
      scontrol: this.#program("scontrol"),
      configuration: this.configurationFile,
    };
    const names = this.cloudNodes.join(",");
    return [...writeCloudPrograms(place), `PartitionName=cloud Nodes=${names} MaxTime=INFINITE State=UP`];
  }

  /** Slurm needs a device file for each GPU and, without cgroups, opens none of them. */
  #deviceFiles(): readonly string[] {
    const { gpusPerNode } = this.#shape;
    const terminals = terminalFiles().map((name) => path.join("/dev", name));
    if (terminals.length >= gpusPerNode) return terminals.slice(0, gpusPerNode);
    return Array.from({ length: gpusPerNode }, (_, index) => {
      const file = this.#in(`gpu${index}`);
      // Any number of a character device that has no driver.
      execFileSync("mknod", [file, "c", "195", String(index)]);
      return file;
    });
  }

  async #answers(): Promise<boolean> {
    return this.call("scontrol", "ping").then(
      (text) => !text.includes("DOWN"),
      () => false,
    );
  }

  async #until(what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
    const deadlineMs = performance.now() + START_TIMEOUT_MS;
    while (!(await isSo())) {
      for (const [name, child] of this.#daemons)
        if (child.exitCode !== null) throw new Error(`${name} has ended: ${this.#logOf(name)}`);
      if (performance.now() > deadlineMs) throw new Error(`${what}: not within ${START_TIMEOUT_MS} ms`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  #daemon(name: string, program: Program, ...args: readonly string[]): void {
    this.#spawn(name, this.#program(program), args);
  }

  #spawn(name: string, program: string, args: readonly string[]): void {
    const log = openSync(this.#in(`${name}.log`), "a", 0o600);
    this.#daemons.set(name, spawn(program, args, { env: this.env, stdio: ["ignore", log, log] }));
    closeSync(log);
  }

  #logOf(name: string): string {
    return readFileSync(this.#in(`${name}.log`), "utf8").slice(-LOG_SHOWN);
  }

  #program(program: Program): string {
    const found = programPath(program);
    if (found === undefined) throw new Error(`${program} is not installed`);
    return found;
  }

  #in(name: string): string {
    return path.join(this.directory, name);
  }
}

const mungeFiles = (directory: string): string[] => [
  `--key-file=${directory}/key`,
  `--socket=${directory}/socket`,
  `--pid-file=${directory}/pid`,
  `--log-file=${directory}/log`,
  `--seed-file=${directory}/seed`,
];
