/** Messages between the processes of the benchmark. */

export type JournalKind = "durable" | "stubbed";

export interface ControlPlaneConfig {
  readonly home: string;
  readonly journal: JournalKind;
  readonly waitingCount: number;
  /** Number of workers, with eight accelerators each, in every initial workload; absent: one. */
  readonly waitingWorkers?: number;
  /** Number of teams that the initial workloads are spread over; absent: the default team. */
  readonly teamCount?: number;
  /** Number of nodes whose work runs for the whole measurement; absent: a small fleet that is always busy. */
  readonly fleet?: { readonly nodes: number; readonly runMinMs: number };
}

export interface ControlPlaneReady {
  readonly port: number;
  readonly token: string;
}

/** Figures of the measured period only. */
export interface ControlPlaneFigures {
  readonly submittedCount: number;
  readonly endedCount: number;
  readonly waitingBefore: number;
  readonly waitingAfter: number;
  readonly syncCount: number;
  readonly commandCount: number;
  readonly loopDelayP99Ms: number;
  readonly loopDelayMaxMs: number;
  readonly syncP50Ms: number;
  readonly decideP99Ms: number;
  readonly cpuS: number;
  readonly rssMib: number;
}

export interface LoadConfig {
  readonly port: number;
  readonly token: string;
  readonly connections: number;
  readonly durationMs: number;
  /** Pause in ms between an answer and the next request of the connection; absent: no pause. */
  readonly pauseMs?: number;
}

export interface LoadFigures {
  readonly acknowledgedCount: number;
  readonly refusedCount: number;
  readonly elapsedMs: number;
  readonly latencyP50Ms: number;
  readonly latencyP99Ms: number;
  readonly latencyMaxMs: number;
}

export interface ReadersConfig {
  readonly port: number;
  readonly token: string;
  readonly readers: number;
  /**
   * `catchUp`: reads from the first event until `untilSequence`. `follow`: reads new events until the parent sends a message. `spread`: the same, each reader from another event on. `stalled`:
   * reads the first bytes of the stream and nothing more.
   */
  readonly mode: "catchUp" | "spread" | "follow" | "stalled";
  readonly untilSequence: number;
}

export interface ReadersFigures {
  readonly elapsedMs: number;
  /** Number of lines that the slowest reader has read. For readers that follow, it is the number of events. */
  readonly lineCount: number;
  /** Number of events whose sequence does not follow the one before, counted over all readers that follow. */
  readonly gapCount: number;
}

export interface RepeatedConfig {
  readonly port: number;
  readonly token: string | null;
  readonly connections: number;
  /** Pause in ms between an answer and the next request of the connection. */
  readonly pauseMs: number;
  /** True: each connection sends a head that never ends, and `request` is not sent. */
  readonly isSlowHead: boolean;
  readonly request: {
    readonly method: string;
    readonly target: string;
    /** The body: `item` repeated, joined by commas, between the others. `#` in an item is the number of the item. */
    readonly body?: { readonly before: string; readonly item: string; readonly count: number; readonly after: string };
  };
}

export interface RepeatedFigures {
  readonly statuses: Readonly<Record<string, number>>;
  readonly count: number;
  /** `null`: there was no answer. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly maxMs: number | null;
}

export function tellParent(
  message: ControlPlaneReady | ControlPlaneFigures | LoadFigures | ReadersFigures | RepeatedFigures,
): void {
  const send = process.send as ((message: object) => boolean) | undefined;
  if (send === undefined) throw new Error("this is started by a benchmark only");
  send.call(process, message);
}
