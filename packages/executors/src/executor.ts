/**
 * What every executor is to the control plane: effects go in through `perform`, facts come out through `watch`.
 * An executor decides nothing and remembers nothing that is not outside the control plane (on disk, in Slurm, in
 * Kubernetes), so that a control plane that was killed finds everything again. `conformance/` holds what all must pass.
 */
import type {
  AttemptId,
  Effect,
  ExecutorCapabilities,
  ExecutorId,
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
} from "@headroom/engine";
import type { DeviceValues, ReadingTool } from "./readings/reading.ts";

/** What an executor found: the nodes, and the pools and sites which they name, for an `apply` before the first `nodeSeen`. */
export interface Inventory {
  readonly sites: readonly Site[];
  readonly pools: readonly Pool[];
  readonly nodes: readonly NodeSpec[];
  /** Pools whose accelerators were found by the vendors' tools: the type that is found replaces another that is recorded. */
  readonly detectedPools?: readonly PoolName[];
}

export type KnownAttemptPhase =
  /** Asked for, but no worker has started yet; launching it again is safe, and stopping it makes sure that none ever will. */
  | { readonly kind: "launching" }
  | { readonly kind: "running" }
  | { readonly kind: "ended"; readonly endedAtMs: number; readonly exits: readonly WorkerExit[] }
  /** It ended without an exit record (or never ran), and nothing of it runs any more. */
  | {
      readonly kind: "lost";
      readonly endedAtMs: number;
      readonly detail: string;
      /** Set where the workload itself may be the cause; absent: the machine is. */
      readonly cause?: LossCause;
    };

export interface KnownAttempt {
  readonly attemptId: AttemptId;
  /** `null`: what was recorded of its launch is unreadable. */
  readonly workloadId: WorkloadId | null;
  /** 0 where it is unreadable. `LaunchGang.sequence`: a journal whose head lies below it is older than what it launched. */
  readonly sequence: number;
  readonly phase: KnownAttemptPhase;
}

export type LogStream = "stdout" | "stderr";

export type LogStart =
  /** The oldest byte that rotation has left. */
  | { readonly kind: "oldest" }
  /** A byte of the stream as it was written, counted from 0 over all rotations; in every selected stream. */
  | { readonly kind: "byte"; readonly offset: number }
  /** The last so many lines of each selected stream. */
  | { readonly kind: "tail"; readonly lines: number };

export interface LogRequest {
  /** `null`: all workers. */
  readonly worker: number | null;
  /** `null`: both. */
  readonly stream: LogStream | null;
  readonly start: LogStart;
  /** Only what was written at or after this instant, as far as times are known; absent: all. */
  readonly sinceMs?: number | undefined;
  /** Goes on until the attempt has ended and everything is read, or the signal aborts. */
  readonly follow: boolean;
}

/** A piece of one worker's stream: whole lines, except where a line is very long, still unfinished, or the last. */
export interface LogChunk {
  readonly worker: number;
  readonly stream: LogStream;
  /** Where the piece lies in the stream as it was written; a gap to the piece before was rotated away. */
  readonly fromByte: number;
  /** Exclusive; asking again from here continues without a loss or a repetition. */
  readonly toByte: number;
  /** When the first byte was written, to about 5 ms; `null`: unknown. Chunks of several streams come in this order, as far as they are there. */
  readonly atMs: number | null;
  readonly text: string;
}

export interface WorkerUsage {
  readonly worker: number;
  /** User and system time of everything the worker started, so far. */
  readonly cpuMs: number;
  /** Resident now; 0 once it has ended. */
  readonly rssMib: number;
  /** The largest seen at any sample: at least what it is now, perhaps less than a short spike. */
  readonly peakRssMib: number;
}

export interface AttemptUsage {
  readonly workers: readonly WorkerUsage[];
  /** Lines of the progress file that could not be read, in this life of the control plane. */
  readonly progressSkippedCount: number;
}

/** One accelerator of a node at one time. `null`: the tool does not say it. */
export interface AcceleratorReading extends DeviceValues {
  /** The node's own index. */
  readonly index: number;
  /** The tool reports an error instead of a value, or no longer lists the accelerator. */
  readonly fault: string | null;
}

export interface NodeReadings {
  readonly node: NodeId;
  /** `null`: the node has no tool that could be asked, such as one with declared slots. */
  readonly source: ReadingTool | null;
  /** By index; none where there is a problem. */
  readonly accelerators: readonly AcceleratorReading[];
  readonly problem: string | null;
}

export type ExecutorInput = Observation | Signal;

/** While the promise is pending, the executor reports nothing more of what it can read again. */
export type ExecutorListener = (input: ExecutorInput) => void | Promise<void>;

export interface Executor {
  /** Pools name it. Of one control plane no two executors have the same. */
  readonly id: ExecutorId;
  /** The implementation, for people: several executors may be of one kind. */
  readonly kind: string;
  readonly capabilities: ExecutorCapabilities;
  /** What is there now. */
  inventory(): Promise<Inventory>;
  /**
   * Everything that was ever launched here and was not forgotten, for reconciliation after a restart. Whatever lost its
   * supervisor is ended for good first (its processes are killed and gone) and then told as `lost`.
   */
  attempts(): Promise<readonly KnownAttempt[]>;
  /** Never throws, never blocks; what comes of it arrives as observations. Idempotent by attempt, in order for one attempt. */
  perform(effect: Effect): void;
  /**
   * Called once. Every observation and signal reaches the listener once in a life of this process: first those about what
   * is already there (ended attempts too: the engine ignores what it knows), then what happens. For one attempt the order
   * is running, signals, end.
   */
  watch(listener: ExecutorListener): void;
  /** Memory is bounded whatever the logs hold. Throws an `OperationalError` for an attempt that is not known here. */
  logs(attemptId: AttemptId, request: LogRequest, signal: AbortSignal): AsyncIterable<LogChunk>;
  /** `null` for an attempt that is not known here. */
  usage(attemptId: AttemptId): Promise<AttemptUsage | null>;
  /** Reads the accelerators of all its nodes, within seconds; never throws. Absent: this kind of executor reads none. */
  readAccelerators?(): Promise<readonly NodeReadings[]>;
  /** Removes what is kept of an attempt that has ended. Only for attempts whose end is in the journal: nothing else prevents a second launch. */
  forget(attemptId: AttemptId): Promise<void>;
  /** Stops watching and launching; what runs goes on. */
  close(): Promise<void>;
}
