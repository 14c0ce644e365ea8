/** The time that an endpoint's own starts took, from the placement of a replica to its readiness. */
import type { Attempt } from "@headroom/model";

const STARTS_KEPT = 5;
const ATTEMPTS_KNOWN_MAX = 2_000;
/** Assumed before the first start. */
const UNKNOWN_MS = 30_000;

export class ColdStarts {
  readonly #durations: number[] = [];
  readonly #known = new Set<string>();

  /** Takes in replicas that are ready for the first time. A replica that is ready again did not start again. */
  learn(attempts: readonly Pick<Attempt, "id" | "placedAtMs" | "ready">[]): void {
    for (const { id, placedAtMs, ready } of attempts) {
      if (ready === undefined || this.#known.has(id)) continue;
      this.#known.add(id);
      if (this.#known.size > ATTEMPTS_KNOWN_MAX)
        for (const oldest of this.#known) if (this.#known.delete(oldest)) break;
      this.#durations.push(Math.max(0, ready.atMs - placedAtMs));
      if (this.#durations.length > STARTS_KEPT) this.#durations.shift();
    }
  }

  /** The median of the last starts: one start that waited for a slow disk says little about the next. */
  get usualMs(): number {
    const sorted = this.#durations.toSorted((left, right) => left - right);
    return sorted[Math.floor(sorted.length / 2)] ?? UNKNOWN_MS;
  }
}
