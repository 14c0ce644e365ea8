/** Messages between the processes of the benchmark. */

export type JournalKind = "durable" | "stubbed";

export interface ControlPlaneConfig {
  readonly home: string;
  readonly journal: JournalKind;
  readonly waitingCount: number;
  /** Workers of eight accelerators in each initial workload; absent: one. */
  readonly waitingWorkers?: number;
  /** Number of nodes on which work runs this long; absent: a small fleet that is always busy. */
  readonly fleet?: { readonly nodes: number; readonly runMinMs: number };
}

export interface ControlPlaneReady {
  readonly port: number;
  readonly token: string;
}

/** Figures of the measured time only. */
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
  /** Pause in ms between an answer and the connection's next request; absent: none. */
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
   * `catchUp`: reads from the first event until `untilSequence`. `follow`: reads new events until the parent sends a message. `stalled`:
   * reads the first bytes of the stream and nothing more.
   */
  readonly mode: "catchUp" | "follow" | "stalled";
  readonly untilSequence: number;
}

export interface ReadersFigures {
  readonly elapsedMs: number;
  /** Lines of the reader that has the fewest; events where they follow. */
  readonly lineCount: number;
  /** Events whose sequence does not follow the one before, over all readers that follow. */
  readonly gapCount: number;
}

export function tellParent(message: ControlPlaneReady | ControlPlaneFigures | LoadFigures | ReadersFigures): void {
  const send = process.send as ((message: object) => boolean) | undefined;
  if (send === undefined) throw new Error("this is started by a benchmark only");
  send.call(process, message);
}
