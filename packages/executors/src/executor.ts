/**
 * The contract between executors and the control plane. Effects enter through `perform`; facts are reported through
 * `watch`. An executor decides nothing. All its state is outside the control plane (on disk, in Slurm, in Kubernetes),
 * so that a restarted control plane finds everything again. Every executor must pass `conformance/`.
 */
import type {
  AttemptId,
  Effect,
  ExecutorCapabilities,
  ExecutorId,
  ForeignUseReport,
  LossCause,
  NodeId,
  NodeSpec,
  Observation,
  Pool,
  PoolName,
  Signal,
  Site,
  WorkerExit,
  WorkloadId,
} from "@headroom/model";
import type { CacheReport } from "@headroom/stores";
import type { WorkAdoption } from "./adoption.ts";
import type { StagingProgress } from "./job-protocol/input-staging.ts";
import type { NodeSignals, PastNodeSignals, UnwatchedPeriod } from "./node-signals.ts";
import type { DeviceValues, ReadingTool } from "./readings/reading.ts";

/**
 * Nodes that an executor found, with their pools and sites. Pools and sites are applied before the first `nodeSeen`.
 */
export interface Inventory {
  readonly sites: readonly Site[];
  readonly pools: readonly Pool[];
  readonly nodes: readonly NodeSpec[];
  /**
   * Amounts that work uses which this control plane did not launch, for all nodes of the executor; nodes that are not listed
   * have no such work. Absent: the executor does not report them. Between inventories, `foreignUseSeen` reports it to the listener.
   */
  readonly foreignUse?: readonly ForeignUseReport[];
  /** Pools whose accelerators the vendors' tools found. The type found replaces another type that is recorded. */
  readonly detectedPools?: readonly PoolName[];
}

export type KnownAttemptPhase =
  /**
   * The attempt was requested, but no worker has started yet. The attempt can safely be launched again. A stop
   * guarantees that no worker ever starts.
   */
  | { readonly kind: "launching" }
  | { readonly kind: "running" }
  | { readonly kind: "ended"; readonly endedAtMs: number; readonly exits: readonly WorkerExit[] }
  /** The attempt ended without an exit record (or never ran), and none of its processes runs any more. */
  | {
      readonly kind: "lost";
      readonly endedAtMs: number;
      readonly detail: string;
      /** Set if the workload itself may be the cause of the loss; absent: the machine is the cause. */
      readonly cause?: LossCause;
    };

export interface KnownAttempt {
  readonly attemptId: AttemptId;
  /** The attempt's launch; `null`: the launch record is unreadable. */
  readonly workloadId: WorkloadId | null;
  /**
   * `LaunchGang.sequence`; 0 if the launch record is unreadable. A journal that ends before this sequence is older than
   * the attempt.
   */
  readonly sequence: number;
  readonly phase: KnownAttemptPhase;
}

export type LogStream = "stdout" | "stderr";

export type LogStart =
  /** Offset of the oldest byte that rotation has kept. */
  | { readonly kind: "oldest" }
  /** Offset in bytes from the start of the stream, including rotated files. It applies to every selected stream. */
  | { readonly kind: "byte"; readonly offset: number }
  /** Number of the last lines to read of each selected stream. */
  | { readonly kind: "tail"; readonly lines: number };

export interface LogRequest {
  /** `null`: all workers. */
  readonly worker: number | null;
  /** `null`: both. */
  readonly stream: LogStream | null;
  readonly start: LogStart;
  /** Only output that was written at or after this instant, as far as its time is known; absent: all output. */
  readonly sinceMs?: number | undefined;
  /** True: reading continues until the attempt has ended and all output is read, or the signal aborts. */
  readonly follow: boolean;
}

/**
 * A piece of one worker's stream. It has whole lines, except for a very long line, an unfinished line, or the last one.
 */
export interface LogChunk {
  readonly worker: number;
  readonly stream: LogStream;
  /** Offset of the piece in the stream. A gap after the previous piece was removed by rotation. */
  readonly fromByte: number;
  /** End offset, exclusive. Reading from this offset continues without loss or repetition. */
  readonly toByte: number;
  /**
   * Time at which the first byte was written, accurate to about 5 ms; `null`: unknown. Available chunks of several
   * streams come in the order of this time.
   */
  readonly atMs: number | null;
  readonly text: string;
}

export interface TerminalSize {
  readonly rows: number;
  readonly columns: number;
}

/** A command to run inside a worker of a running attempt. */
export interface ExecRequest {
  readonly worker: number;
  /** Words that no shell interprets; empty: the shell of the worker's environment. */
  readonly command: readonly string[];
  /** `type`: the value of `TERM`. `null`: input and output are pipes. */
  readonly terminal: (TerminalSize & { readonly type: string }) | null;
}

export interface ExecChunk {
  readonly stream: "stdout" | "stderr";
  readonly data: Uint8Array;
}

/** A running command inside a worker. Its processes end with the attempt. */
export interface ExecSession {
  /** Read once. A slow reader slows the command down. Ends when the command has ended and its output is read. */
  output(): AsyncIterable<ExecChunk>;
  /** The exit code; 128 + n after signal n. It resolves also if the attempt ends first. */
  readonly ended: Promise<number>;
  /** Valid after the end. True: the connection to the worker was lost, so the command may go on. Absent: it cannot be lost. */
  readonly isCut?: boolean;
  /** Resolves when the command has taken the input, or has ended. */
  write(data: Uint8Array): Promise<void>;
  endInput(): void;
  /** Without effect if there is no terminal. */
  resize(size: TerminalSize): void;
  /** Hangs up, and kills the command if it stays. */
  close(): void;
}

export interface WorkerUsage {
  readonly worker: number;
  /** User and system time that all processes of the worker have used so far. */
  readonly cpuMs: number;
  /** Resident memory now; 0 after the end. */
  readonly rssMib: number;
  /** Largest resident memory in any sample; it can miss short spikes. */
  readonly peakRssMib: number;
}

export interface AttemptUsage {
  readonly workers: readonly WorkerUsage[];
  /** Unreadable lines of the progress file since the control plane started. */
  readonly progressSkippedCount: number;
}

/** One accelerator of a node at one time. `null`: the tool does not report the value. */
export interface AcceleratorReading extends DeviceValues {
  /** The accelerator's index on the node. */
  readonly index: number;
  /** Message of the tool if it reports an error instead of a value, or no longer lists the accelerator. */
  readonly fault: string | null;
}

export interface NodeReadings {
  readonly node: NodeId;
  /** Problem in reading the accelerators; `null`: there is none, or the node has no tool, as with declared slots. */
  readonly source: ReadingTool | null;
  /** Readings by index of the accelerator; empty if there is a problem. */
  readonly accelerators: readonly AcceleratorReading[];
  readonly problem: string | null;
}

/** `auto`: the best that works. */
export const isolationModes = ["auto", "bubblewrap", "none"] as const;
export type IsolationMode = (typeof isolationModes)[number];

/** How attempts are separated from the control plane and from each other, and which limits are enforced. */
export interface IsolationReport {
  readonly kind: Exclude<IsolationMode, "auto">;
  readonly memory: boolean;
  readonly cores: boolean;
  readonly processes: boolean;
  /** Limits and separations that are not enforced, each as a sentence for people. */
  readonly notes: readonly IsolationNote[];
}

export interface IsolationNote {
  /** `choice`: the operator has switched isolation off. `isolation`: it does not work here. `limits`: of resources. */
  readonly subject: "choice" | "isolation" | "limits";
  readonly message: string;
}

export type ExecutorInput = Observation | Signal;

/** While the returned promise is pending, the executor reports nothing that it can read again later. */
export type ExecutorListener = (input: ExecutorInput) => void | Promise<void>;

export interface Executor {
  /** Id by which pools name the executor. It is unique among the executors of a control plane. */
  readonly id: ExecutorId;
  /** Name of the implementation, for display. Several executors can have the same kind. */
  readonly kind: string;
  readonly capabilities: ExecutorCapabilities;
  /**
   * True: `attempts()` reads the only copy of the records itself, so that an attempt missing from its answer does not
   * exist. Absent: another system answers. Then a missing attempt is unknown: it is neither lost nor rerun until the
   * executor reports it as ended or lost, or an operator gives it up.
   */
  readonly attemptsAreComplete?: true;
  /** Absent: another system isolates the attempts. */
  readonly isolation?: IsolationReport;
  /** Absent: the executor takes in no work that exists already. */
  readonly adoption?: WorkAdoption;
  /** Whether workers would find this directory empty, because it belongs to the control plane. Absent: none is. */
  hides?(directory: string): boolean;
  /**
   * The nodes that exist at present. It rejects with an `OperationalError` if the executor has no contact with its
   * nodes' manager; then, and after 30 s without an answer, all nodes stay as recorded.
   */
  inventory(): Promise<Inventory>;
  /**
   * Every attempt that was launched by this executor and not forgotten, for reconciliation after a restart. If an
   * attempt has lost its supervisor, its processes are killed before it is reported as `lost`. It rejects with an
   * `OperationalError` if the records cannot be read completely, and never answers with fewer attempts instead.
   */
  attempts(): Promise<readonly KnownAttempt[]>;
  /**
   * Never throws and never blocks; results are reported as observations. A repeated effect of an attempt changes
   * nothing. Effects of one attempt are carried out in order.
   */
  perform(effect: Effect): void;
  /**
   * Called once. In the life of this process, the listener gets every observation and signal once: first those about
   * existing attempts (also ended ones, because the engine ignores known facts), then new ones. For one attempt the
   * order is running, signals, end.
   */
  watch(listener: ExecutorListener): void;
  /**
   * Called once. The listener gets the reason when the system behind the executor has not answered for some time, before attempts are
   * given back that have not started there, so that they are not placed there again. Absent: the executor gives back none.
   */
  whenSilent?(listener: (detail: string) => void): void;
  /**
   * Reads logs. Memory use is limited, whatever the size of the logs. Throws an `OperationalError` for an unknown
   * attempt.
   */
  logs(attemptId: AttemptId, request: LogRequest, signal: AbortSignal): AsyncIterable<LogChunk>;
  /** Whether the output of an ended attempt is still kept, from memory. Absent: only `logs` shows it. */
  keepsOutput?(attemptId: AttemptId): boolean;
  /**
   * Runs a command inside a worker: in its control groups, and in its namespaces if it has a sandbox. Throws an
   * `OperationalError` with the code `cannotExec` if that is not possible. Absent: this kind of executor runs none.
   */
  exec?(attemptId: AttemptId, request: ExecRequest): Promise<ExecSession>;
  /** Resource usage of an attempt; `null` if the attempt is unknown. */
  usage(attemptId: AttemptId): Promise<AttemptUsage | null>;
  /** The transfer of inputs that an attempt waits for; `null`: it waits for none. Absent: this kind stages nothing. */
  staging?(attemptId: AttemptId): StagingProgress | null;
  /** The cache of inputs; `null`: there is none. Absent: this kind stages nothing. */
  inputCache?(): Promise<CacheReport | null>;
  /**
   * Reads the accelerators of all nodes within seconds and never throws. Absent: this kind of executor reads no
   * accelerators.
   */
  readAccelerators?(): Promise<readonly NodeReadings[]>;
  /**
   * Removes the records of an attempt. Call it only if the end of the attempt is in the journal: nothing else prevents
   * a second launch.
   */
  forget(attemptId: AttemptId): Promise<void>;
  /**
   * Passes drained nodes on to the system behind the executor, if its settings say so. `nodes`: all nodes of the executor that are
   * drained in the control plane; those that it drained itself and that are missing take work again. Drains of others stay as they are.
   * Rejects with an `OperationalError`. Absent: this kind of executor passes none on.
   */
  passDrains?(nodes: readonly NodeId[]): Promise<void>;
  /**
   * States of nodes as the system behind the executor reports them now; a signal that is missing has ended. `null`: the newest answer is not
   * complete, so nothing is known. Never throws. Absent: this kind of executor has none.
   */
  nodeSignals?(): NodeSignals | null;
  /**
   * Signals that ended within a period in which nobody called `nodeSignals`, as far as the system behind the executor keeps them. Rejects if it
   * does not answer. Absent: it keeps none.
   */
  pastNodeSignals?(period: UnwatchedPeriod): Promise<PastNodeSignals>;
  /** Stops watching and launching; running attempts continue. */
  close(): Promise<void>;
}
