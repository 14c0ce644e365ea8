/**
 * Decides which ended attempts are kept. The code is pure: it returns expired attempts, and the caller removes them.
 */
import type { AttemptId } from "@headroom/model";

export interface RetentionRules {
  /** Maximum number of ended attempts that are kept, the newest ones. */
  readonly keptMax: number;
  /** Maximum age of kept attempts in ms. */
  readonly keptMs: number;
}

/**
 * Limits of the attempts kept. Every start reads the directory of each kept attempt (about 0.2 ms), and a directory has
 * up to 128 MiB of logs for each worker. Users rarely look further back than a month.
 */
export const retentionDefaults: RetentionRules = { keptMax: 2_000, keptMs: 30 * 24 * 3_600_000 };

export class AttemptStore {
  readonly #rules: RetentionRules;
  /** Time of the end of each attempt, oldest end first. */
  readonly #endedAtMs = new Map<AttemptId, number>();
  #newest: { readonly attemptId: AttemptId; readonly sequence: number } | null = null;

  constructor(rules: RetentionRules) {
    this.#rules = rules;
  }

  /**
   * Notes a launch. The attempt of the newest launch is never removed: by it, a start notices a journal that is older
   * than its launches.
   */
  launched(attemptId: AttemptId, sequence: number): void {
    if (this.#newest === null || sequence > this.#newest.sequence) this.#newest = { attemptId, sequence };
  }

  /** Notes an end. Ends arrive in order; a repeated report of an end changes nothing. */
  ended(attemptId: AttemptId, atMs: number): void {
    if (!this.#endedAtMs.has(attemptId)) this.#endedAtMs.set(attemptId, atMs);
  }

  hasEnded(attemptId: AttemptId): boolean {
    return this.#endedAtMs.has(attemptId);
  }

  removed(attemptId: AttemptId): void {
    this.#endedAtMs.delete(attemptId);
  }

  /** Expired attempts, oldest first, at most `limit` of them. */
  surplus(nowMs: number, limit: number): readonly AttemptId[] {
    const surplus: AttemptId[] = [];
    let excess = this.#endedAtMs.size - this.#rules.keptMax;
    for (const [attemptId, endedAtMs] of this.#endedAtMs) {
      const isDue = excess > 0 || endedAtMs < nowMs - this.#rules.keptMs;
      if (!isDue || surplus.length >= limit) break;
      excess--;
      if (attemptId !== this.#newest?.attemptId) surplus.push(attemptId);
    }
    return surplus;
  }
}
