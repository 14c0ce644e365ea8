/**
 * The surroundings of a conformance case: an executor on an empty home directory, builders for effects, and a scratch
 * directory.
 */
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { attemptId, nodeId, teamName, workloadId } from "@headroom/model";
import type {
  AttemptId,
  CheckpointGang,
  ExecutorId,
  GrowGang,
  LaunchGang,
  NodeId,
  ShrinkGang,
  StopGang,
  WorkloadSpec,
} from "@headroom/model";
import type { Executor, LogChunk, LogRequest } from "../executor.ts";
import { Observer } from "./observer.ts";

/**
 * Things that some systems do not offer: standard output and error apart, lines without their end while the worker runs, processor time
 * and memory of workers.
 */
export type OptionalOutput = "separateStreams" | "unfinishedLines" | "usage";

/** Creates the executor under test. */
export interface ConformanceSubject {
  readonly id: ExecutorId;
  /**
   * Opens another instance of the executor on a home directory that earlier instances may have used. Logs rotate at 64
   * KiB and keep 3 files.
   */
  open(homeDir: string): Executor;
  /** Nodes that the workers of a gang are placed on in turn. Default: one node, which takes all. */
  readonly nodes?: readonly NodeId[];
  /** True: another system chooses the devices of a worker, and only their number is decided. */
  readonly choosesDevices?: boolean;
  /** True: workers run no command. They have a duration, and an exit code that the command names. */
  readonly isSimulated?: boolean;
  /** Absent: the system under the executor offers everything. */
  readonly lacks?: readonly OptionalOutput[];
  /** Container image in which all workers run. Absent: none. */
  readonly image?: string;
  /** Variables that the image sets. Absent: none. */
  readonly imageVariables?: readonly string[];
  /** Directory for the files of a case. Default: the system's directory for temporary files. */
  readonly rootDir?: string;
}

export interface LaunchOptions {
  readonly workers?: number;
  readonly accelerators?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly dir?: string | null;
  readonly graceTimeoutMs?: number;
  readonly checkpointDir?: string;
  readonly image?: string;
}

export class ConformanceWorld {
  readonly scratchDir: string;
  readonly #subject: ConformanceSubject;
  readonly #root: string;
  readonly #open: Executor[] = [];
  readonly #launched: AttemptId[] = [];
  readonly #sleepSeconds = `600.${randomInt(100_000_000, 999_999_999)}`;
  #count = 0;

  static async create(subject: ConformanceSubject): Promise<ConformanceWorld> {
    return new ConformanceWorld(
      subject,
      await mkdtemp(path.join(subject.rootDir ?? tmpdir(), "headroom-conformance-")),
    );
  }

  constructor(subject: ConformanceSubject, root: string) {
    this.#subject = subject;
    this.#root = root;
    this.scratchDir = root;
  }

  get choosesDevices(): boolean {
    return this.#subject.choosesDevices === true;
  }

  get isSimulated(): boolean {
    return this.#subject.isSimulated === true;
  }

  get imageVariables(): readonly string[] {
    return this.#subject.imageVariables ?? [];
  }

  lacks(what: OptionalOutput): boolean {
    return this.#subject.lacks?.includes(what) === true;
  }

  get homeDir(): string {
    return path.join(this.#root, "home");
  }

  open(): Executor {
    const executor = this.#subject.open(this.homeDir);
    this.#open.push(executor);
    return executor;
  }

  watched(): { readonly executor: Executor; readonly observer: Observer } {
    const executor = this.open();
    return { executor, observer: new Observer(executor) };
  }

  /** An effect that launches `run` under a new attempt id. */
  launch(run: string, options: LaunchOptions = {}): LaunchGang {
    this.#count += 1;
    const id = attemptId(`w${this.#count}.1`);
    this.#launched.push(id);
    const accelerators = options.accelerators ?? Array.from({ length: options.workers ?? 1 }, () => "");
    return {
      kind: "launchGang",
      executor: this.#subject.id,
      attemptId: id,
      workloadId: workloadId(`w${this.#count}`),
      task: 0,
      number: 1,
      actor: "tester",
      spec: { ...specOf(run, options, accelerators.length), ...imageOf(options.image ?? this.#subject.image) },
      workers: accelerators.map((set, rank) => ({ node: this.#nodeOf(rank), accelerators: set })),
      sequence: 100 + this.#count,
    };
  }

  #nodeOf(rank: number): NodeId {
    const { nodes = [] } = this.#subject;
    return nodes[rank % nodes.length] ?? nodeId("conformance");
  }

  /**
   * An effect that grows the launched gang to `size` workers. It names all new workers, as after a restart, or only
   * those from `firstRank` on.
   */
  grow(launch: LaunchGang, size: number, firstRank = 0): GrowGang {
    const [first] = launch.workers;
    if (first === undefined) throw new Error("a gang without workers");
    const workers = Array.from({ length: size }, (_, rank) => launch.workers[rank] ?? first);
    return {
      kind: "growGang",
      executor: launch.executor,
      attemptId: launch.attemptId,
      workloadId: launch.workloadId,
      firstRank,
      workers: workers.slice(firstRank),
      launch: { ...launch, workers },
    };
  }

  shrink({ executor, attemptId: id }: LaunchGang, workers: number, graceTimeoutMs: number): ShrinkGang {
    return { kind: "shrinkGang", executor, attemptId: id, workers, graceTimeoutMs };
  }

  stop(launch: LaunchGang, graceTimeoutMs: number): StopGang {
    return {
      kind: "stopGang",
      executor: launch.executor,
      attemptId: launch.attemptId,
      graceTimeoutMs,
      reason: "cancelled",
    };
  }

  /** A request for a checkpoint without a practical time limit. */
  checkpoint({ executor, attemptId: id }: LaunchGang): CheckpointGang {
    return { kind: "checkpointGang", executor, attemptId: id, untilMs: Number.MAX_SAFE_INTEGER };
  }

  /** The lines of a file in the scratch directory. Workloads append to this file. */
  async marks(name: string): Promise<string[]> {
    const text = await readFile(path.join(this.scratchDir, name), "utf8").catch(() => "");
    return text.split("\n").filter((line) => line !== "");
  }

  /** A command that outlives its case, and that `sleeperCount` finds: pids in a sandbox have no meaning outside. */
  get longSleep(): string {
    return `sleep ${this.#sleepSeconds}`;
  }

  /** Number of processes that execute `longSleep`. */
  sleeperCount(): number {
    const { stdout } = spawnSync("ps", ["-eo", "stat=,args="], { encoding: "utf8" });
    return stdout.split("\n").filter((line) => line.endsWith(this.longSleep) && !line.startsWith("Z")).length;
  }

  /** Stops processes that a failed case may have left, and removes all files. */
  async dispose(): Promise<void> {
    const last = this.open();
    const active = new Set(
      (await last.attempts())
        .filter(({ phase }) => phase.kind === "running" || phase.kind === "launching")
        .map((known) => known.attemptId),
    );
    const observer = new Observer(last);
    for (const id of active) {
      last.perform({
        kind: "stopGang",
        executor: this.#subject.id,
        attemptId: id,
        graceTimeoutMs: 0,
        reason: "cancelled",
      });
    }
    await Promise.all([...active].map((id) => observer.end(id)));
    await Promise.all(this.#open.map((executor) => executor.close()));
    await rm(this.#root, { recursive: true, force: true, maxRetries: 5 });
  }
}

const everything: LogRequest = { worker: null, stream: null, start: { kind: "oldest" }, follow: false };

export async function readAll(
  executor: Executor,
  id: AttemptId,
  request: Partial<LogRequest> = {},
): Promise<LogChunk[]> {
  const chunks: LogChunk[] = [];
  const never = new AbortController().signal;
  for await (const chunk of executor.logs(id, { ...everything, ...request }, never)) chunks.push(chunk);
  return chunks;
}

export async function readText(executor: Executor, id: AttemptId, request: Partial<LogRequest> = {}): Promise<string> {
  return (await readAll(executor, id, request)).map(({ text }) => text).join("");
}

/** Follows a worker's output until it contains `text`. This shows how far the workload has come. */
export async function outputHas(executor: Executor, id: AttemptId, text: string, worker = 0): Promise<void> {
  const abort = new AbortController();
  let seen = "";
  const request: LogRequest = { worker, stream: "stdout", start: { kind: "oldest" }, follow: true };
  for await (const chunk of executor.logs(id, request, abort.signal)) {
    seen += chunk.text;
    if (seen.includes(text)) return;
  }
  throw new Error(
    `worker ${worker} of ${id} ended without writing ${JSON.stringify(text)}; it wrote ${JSON.stringify(seen)}`,
  );
}

/** Resolves when the worker has written `ready`; without logs, when its attempt runs. */
export async function isReady(executor: Executor, observer: Observer, id: AttemptId): Promise<void> {
  if (executor.capabilities.logs) await outputHas(executor, id, "ready");
  else await observer.running(id);
}

/** A zombie still accepts signals, so the state of the process is read instead. */
export function isRunning(pid: number): boolean {
  const state = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).stdout.trim();
  return state !== "" && !state.startsWith("Z");
}

const imageOf = (image: string | undefined): Pick<WorkloadSpec, "image"> => (image === undefined ? {} : { image });

function specOf(run: string, options: LaunchOptions, workers: number): WorkloadSpec {
  return {
    kind: "train",
    name: "conformance",
    team: teamName("tests"),
    run,
    dir: options.dir ?? null,
    env: options.env ?? {},
    gang: { workers, accelerators: options.accelerators === undefined ? 0 : 1, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    priority: 0,
    walltimeMs: null,
    retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
    graceTimeoutMs: options.graceTimeoutMs ?? 5_000,
    checkpointDir: options.checkpointDir ?? null,
  };
}
