/**
 * The driver: the only writer around the engine. All inputs of the engine go through its inbox, and no decision becomes
 * visible (reply, read, effect, event stream) before its journal group is synced.
 */
import type { AttemptId, Command, Event, ExecutorId, Observation, Reply, Signal } from "@headroom/model";
import type { Executor } from "@headroom/executors";
import type { Engine } from "@headroom/engine";
import type { EventFormat } from "@headroom/journal";

type WithoutCommandId<T> = T extends unknown ? Omit<T, "commandId"> : never;

/** A command without its correlation number. The driver adds the number. */
export type CommandRequest = WithoutCommandId<Command>;

export interface SequencedEvent {
  readonly sequence: number;
  readonly event: Event;
}

export interface LatencySummary {
  readonly count: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface DriverStatus {
  /** `failed`: an append failed. The process is about to end, and every call is refused. */
  readonly phase: "running" | "closing" | "closed" | "failed";
  /** The reason why decisions are paused, with the remedy; `null`: not paused. */
  readonly paused: string | null;
  readonly startedAtMs: number;
  /** Wall time in ms from opening the journal to being ready for the first decision. */
  readonly recoveryMs: number;
  /** The durable head of the journal: sequence of the newest synced event, and its hash chain. */
  readonly sequence: number;
  readonly chain: string;
  readonly journalId: string;
  readonly journalBytes: number;
  /** Rounds since the start of the process. */
  readonly roundCount: number;
  readonly groupCount: number;
  readonly syncCount: number;
  readonly commandCount: number;
  readonly rejectedOverloadCount: number;
  readonly signalDroppedCount: number;
  /** Number of commands answered for each sync. */
  readonly commandsPerSync: number;
  readonly inboxLength: number;
  readonly inboxLimit: number;
  readonly sync: LatencySummary;
  /** Duration of `engine.receive`. */
  readonly decide: LatencySummary;
  /** Delay of this process's event loop beyond the monitor's 10 ms sampling interval. */
  readonly loopDelay: LatencySummary;
  readonly snapshot: { readonly sequence: number; readonly atMs: number } | null;
}

export interface Driver {
  /**
   * Resolves with the engine's answer after the command's events are durable. Rejects with an `OperationalError`:
   * `overloaded` (retryable; the inbox is full), `closing` (retryable), or `journal…` (the outcome is unknown; after
   * the restart, a retry with the same idempotency key returns it).
   */
  command(command: CommandRequest): Promise<Reply>;
  /**
   * Accepts an input and never throws. Facts are never dropped: when the inbox is full, the call returns a promise, and
   * the source sends nothing more until the promise resolves. A source that goes on ends the process in the end
   * (`INBOX_FACTS_BOUND`). Progress and utilization go to the telemetry store. The
   * journal gets estimates and idle times derived from them. When the inbox is full, such estimates and checkpoints are
   * dropped.
   */
  observe(input: Observation | Signal): Promise<void> | undefined;
  /** Called when an executor reports that a replica is ready, before the state shows it. */
  onReplicaReady: (attemptId: AttemptId) => void;
  /** Runs `query` on a durable state that is at most a second old. `query` must not keep the engine for later use. */
  read<T>(query: (engine: Engine) => T): Promise<T>;
  /**
   * Durable events in order: recorded events from `fromSequence` on, then live ones, until `signal` aborts or the
   * driver closes. No buffer is kept for a reader: a slow reader goes back to reading the journal.
   */
  events(fromSequence: number, signal: AbortSignal): AsyncIterable<SequencedEvent>;
  /**
   * Recorded events from `fromSequence` to the present end of the journal, in groups whose JSON contains `text`. These
   * are all events that name an id, with other events of the same groups.
   */
  mentions(fromSequence: number, text: string): AsyncIterable<SequencedEvent>;
  /**
   * The events of `events` as bytes of an event stream, in pieces of whole events. The bytes are made once for all
   * readers of a format.
   */
  eventFrames(fromSequence: number, format: EventFormat, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Adds an executor: its reports are taken in, and effects for its id go to it. */
  attach(executor: Executor): void;
  /** Removes an executor. Its attempts stay as recorded, and later effects for it wait until it is attached again. */
  detach(id: ExecutorId): void;
  status(): DriverStatus;
  /** Finishes accepted commands, records the state's digest and a snapshot, and releases the journal. Idempotent. */
  close(): Promise<void>;
}
