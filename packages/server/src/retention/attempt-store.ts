/**
 * Which ended attempts are kept, and which have been kept for long enough. Pure: it names them, somebody else removes them.
 */
import type { AttemptId } from "@headroom/engine";

export interface RetentionRules {
  /** So many ended attempts stay, the ones that ended last. */
  readonly keptMax: number;
  /** And none of them for longer than this. */
  readonly keptMs: number;
}

/**
 * Each attempt is a directory that every start reads (about 0.2 ms) and that holds up to 128 MiB of logs for each worker.
 * A month is what people look back for.
 */
export const retentionDefaults: RetentionRules = { keptMax: 2_000, keptMs: 30 * 24 * 3_600_000 };

export class AttemptStore {
  readonly #rules: RetentionRules;
  /** When each of them ended, oldest first. */
  readonly #endedAtMs = new Map<AttemptId, number>();
  #newest: { readonly attemptId: AttemptId; readonly sequence: number } | null = null;

  constructor(rules: RetentionRules) {
    this.#rules = rules;
  }

  /** The newest one stays for ever: a start knows by it that a journal is older than what it launched. */
  launched(attemptId: AttemptId, sequence: number): void {
    if (this.#newest === null || sequence > this.#newest.sequence) this.#newest = { attemptId, sequence };
  }

  /** In the order of the ends. An end that is told again changes nothing. */
  ended(attemptId: AttemptId, atMs: number): void {
    if (!this.#endedAtMs.has(attemptId)) this.#endedAtMs.set(attemptId, atMs);
  }

  removed(attemptId: AttemptId): void {
    this.#endedAtMs.delete(attemptId);
  }

  /** What need not be kept any more, oldest first, at most `limit` of them. */
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
