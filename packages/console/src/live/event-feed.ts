/**
 * The page's single event stream. It starts after the sequence of the first status, so that nothing is missed, delivers
 * batches (a busy control plane records thousands of events a second, a screen shows a few), and reconnects without
 * end.
 */
import { ProblemError } from "@headroom/protocol";
import type { EventEnvelope, HeadroomClient } from "@headroom/protocol";

export type FeedPhase = "connecting" | "live" | "interrupted";

export interface FeedState {
  readonly phase: FeedPhase;
  readonly lastSequence: number;
  /** Why the stream broke; `null` while it is up. */
  readonly detail: string | null;
}

/** Changes of the connection. */
export interface FeedHooks {
  /** Events may have been missed: all visible data must be fetched again. */
  onGap(): void;
  onUnauthorized(): void;
}

/** Events within this time form one batch: imperceptible to users, cheap enough to render. */
const BATCH_MS = 200;
/** Enough for the events page; older events are read from the control plane. */
const RECENT_MAX = 2_000;
const RETRY_FIRST_MS = 500;
const RETRY_MAX_MS = 10_000;
/** After this time without events the stream counts as up: an idle fleet records nothing. */
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

  constructor(client: HeadroomClient, sequence: number, hooks: FeedHooks) {
    this.#client = client;
    this.#hooks = hooks;
    this.#state = { phase: "connecting", lastSequence: sequence, detail: null };
  }

  get state(): FeedState {
    return this.#state;
  }

  /** The newest events seen, oldest first. A new array with every batch. */
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
      await pause(retryMs, signal);
      retryMs = Math.min(2 * retryMs, RETRY_MAX_MS);
      await this.#catchUp();
    }
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
   * After an interruption: if the control plane has another history, or is far ahead, all data is fetched again instead
   * of following.
   */
  async #catchUp(): Promise<void> {
    try {
      const { sequence } = await this.#client.status({ signal: this.#abort.signal });
      const behind = sequence - this.#state.lastSequence;
      if (behind >= 0 && behind <= RECENT_MAX) return;
      if (behind < 0) this.#recent = [];
      this.#change({ lastSequence: sequence });
      this.#hooks.onGap();
    } catch {
      // Still disconnected: the next attempt reports why.
    }
  }

  #take(envelope: EventEnvelope): void {
    this.#state = { ...this.#state, lastSequence: envelope.sequence };
    this.#pending.push(envelope);
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

function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, durationMs);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
