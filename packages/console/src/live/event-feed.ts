/**
 * The event stream of the page. The stream starts at the sequence of the first status, so that no event is missed.
 * Events are delivered in batches, because a busy control plane records thousands of events a second and a screen shows
 * only a few. The stream reconnects without limit.
 */
import { ProblemError } from "@headroom/protocol";
import type { EventEnvelope, HeadroomClient } from "@headroom/protocol";

export type FeedPhase = "connecting" | "live" | "interrupted";

export interface FeedState {
  readonly phase: FeedPhase;
  readonly lastSequence: number;
  /** Reason why the stream ended; `null` while it is connected. */
  readonly detail: string | null;
}

/** Called when the connection changes. */
export interface FeedHooks {
  /** Called when events may have been missed. Everything on screen must then be fetched again. */
  onGap(): void;
  onUnauthorized(): void;
}

/**
 * Time in ms for which events are gathered into one batch. Users do not notice it, and few batches need to be rendered.
 */
const BATCH_MS = 200;
/** Maximum number of recent events, enough for the events page. Older events are read from the control plane. */
const RECENT_MAX = 2_000;
const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 10_000;
/** Time in ms without events after which a new stream counts as connected, because an idle fleet records no events. */
const QUIET_IS_LIVE_MS = 300;

export class EventFeed {
  readonly #client: HeadroomClient;
  readonly #hooks: FeedHooks;
  readonly #batchListeners = new Set<(batch: readonly EventEnvelope[]) => void>();
  readonly #stateListeners = new Set<() => void>();
  readonly #abort = new AbortController();
  #state: FeedState;
  #recent: EventEnvelope[] = [];
  #pending: EventEnvelope[] = [];
  #flushTimer: ReturnType<typeof setTimeout> | null = null;
  #endPause: () => void = () => undefined;

  constructor(client: HeadroomClient, sequence: number, hooks: FeedHooks) {
    this.#client = client;
    this.#hooks = hooks;
    this.#state = { phase: "connecting", lastSequence: sequence, detail: null };
  }

  get state(): FeedState {
    return this.#state;
  }

  /** The newest events received, oldest first. Every batch makes a new array. */
  get recent(): readonly EventEnvelope[] {
    return this.#recent;
  }

  readonly subscribe = (listener: (batch: readonly EventEnvelope[]) => void): (() => void) => {
    this.#batchListeners.add(listener);
    return () => this.#batchListeners.delete(listener);
  };

  readonly subscribeState = (listener: () => void): (() => void) => {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  };

  stop(): void {
    this.#abort.abort(new Error("the page is gone"));
  }

  async run(): Promise<void> {
    const { signal } = this.#abort;
    let retryMs = RETRY_FIRST_MS;
    while (!signal.aborted) {
      const before = this.#state.lastSequence;
      const detail = await this.#follow();
      if (signal.aborted) return;
      if (this.#state.lastSequence > before) retryMs = RETRY_FIRST_MS;
      this.#change({ phase: "interrupted", detail });
      do {
        await this.#pause(retryMs);
        retryMs = Math.min(2 * retryMs, RETRY_MAX_MS);
      } while (!signal.aborted && !(await this.#catchUp()));
    }
  }

  /** Reconnects now, without waiting for the next attempt. */
  retryNow(): void {
    this.#endPause();
  }

  #pause(durationMs: number): Promise<void> {
    const { signal } = this.#abort;
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, durationMs);
      signal.addEventListener("abort", end, { once: true });
      this.#endPause = end;
    });
  }

  /** Reads until the stream breaks; returns the reason. */
  async #follow(): Promise<string> {
    const { signal } = this.#abort;
    const quiet = setTimeout(() => this.#change({ phase: "live", detail: null }), QUIET_IS_LIVE_MS);
    try {
      for await (const envelope of this.#client.events({ from: this.#state.lastSequence + 1, signal })) {
        clearTimeout(quiet);
        if (this.#state.phase !== "live") this.#change({ phase: "live", detail: null });
        this.#take(envelope);
      }
      return "The control plane closed the stream.";
    } catch (error) {
      if (error instanceof ProblemError && error.code === "unauthorized") this.#hooks.onUnauthorized();
      return error instanceof Error ? error.message : String(error);
    } finally {
      clearTimeout(quiet);
    }
  }

  /**
   * Waits after an interruption, and returns true when the control plane answers again. If its journal is another one,
   * or far ahead, everything is fetched again.
   */
  async #catchUp(): Promise<boolean> {
    try {
      const { sequence } = await this.#client.status({ signal: this.#abort.signal });
      const behind = sequence - this.#state.lastSequence;
      if (behind >= 0 && behind <= RECENT_MAX) return true;
      if (behind < 0) this.#recent = [];
      this.#change({ lastSequence: sequence });
      this.#hooks.onGap();
      return true;
    } catch (error) {
      if (error instanceof ProblemError && error.code === "unauthorized") this.#hooks.onUnauthorized();
      return false;
    }
  }

  #take(envelope: EventEnvelope): void {
    this.#state = { ...this.#state, lastSequence: envelope.sequence };
    // An event of another team only says how far the stream has come.
    if (envelope.event.kind !== "eventHidden") this.#pending.push(envelope);
    this.#flushTimer ??= setTimeout(() => this.#flush(), BATCH_MS);
  }

  #flush(): void {
    this.#flushTimer = null;
    const batch = this.#pending;
    this.#pending = [];
    this.#recent = [...this.#recent, ...batch].slice(-RECENT_MAX);
    for (const listener of this.#batchListeners) listener(batch);
    this.#change({});
  }

  #change(change: Partial<FeedState>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#stateListeners) listener();
  }
}
