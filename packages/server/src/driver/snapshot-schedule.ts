/** Decides when to make a snapshot: often enough for a quick restart, and rarely enough that snapshots cost little. */
export interface SnapshotRules {
  /** Maximum number of events that a restart has to fold. A restart folds hundreds of thousands a second. */
  readonly everyEvents: number;
  /** Minimum interval in ms between snapshots. On a busy system each snapshot costs a second of one core. */
  readonly pauseMinMs: number;
  /** Time in ms after which any new event triggers a snapshot. */
  readonly everyMs: number;
}

export const snapshotDefaults: SnapshotRules = { everyEvents: 200_000, pauseMinMs: 60_000, everyMs: 15 * 60_000 };

export class SnapshotSchedule {
  readonly #rules: SnapshotRules;
  #lastSequence: number;
  #lastAtMs: number;
  #isBusy = false;
  newest: { readonly sequence: number; readonly atMs: number } | null = null;

  constructor(rules: SnapshotRules, lastSequence: number, nowMs: number) {
    this.#rules = rules;
    this.#lastSequence = lastSequence;
    this.#lastAtMs = nowMs;
  }

  isDue(sequence: number, nowMs: number): boolean {
    const eventCount = sequence - this.#lastSequence;
    const elapsedMs = nowMs - this.#lastAtMs;
    if (this.#isBusy || eventCount === 0) return false;
    return (
      elapsedMs >= this.#rules.everyMs || (eventCount >= this.#rules.everyEvents && elapsedMs >= this.#rules.pauseMinMs)
    );
  }

  begin(sequence: number, nowMs: number): void {
    this.#isBusy = true;
    this.#lastSequence = sequence;
    this.#lastAtMs = nowMs;
  }

  done(sequence: number, atMs: number): void {
    this.#isBusy = false;
    this.newest = { sequence, atMs };
  }

  /** A failed snapshot is tried again when the next one is due. */
  failed(): void {
    this.#isBusy = false;
  }
}
