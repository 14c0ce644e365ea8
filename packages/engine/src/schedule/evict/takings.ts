/** What a search has taken so far, tentatively: workers of a gang from its last one on, or all of it. */
import type { Attempt } from "../../model/workload.ts";
import type { Ledger } from "../../state/ledger.ts";
import type { Leaver } from "./leavers.ts";

export class Takings {
  readonly #ledger: Ledger;
  #taken: Leaver[] = [];
  readonly #keeps = new Map<Attempt, number>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Takes the leaver's workers, and those behind them that were not taken yet: a gang gives its last workers first. */
  take(leaver: Leaver): void {
    const { attempt, keeps } = leaver;
    const upTo = this.#keeps.get(attempt) ?? attempt.workers.length;
    if (keeps >= upTo) return;
    this.#ledger.vacateWorkers(attempt, keeps, upTo);
    this.#keeps.set(attempt, keeps);
    this.#taken.push({ ...leaver, upTo });
  }

  /** Whether `suffices` would hold if all of these were taken as well. */
  wouldSuffice(others: readonly Leaver[], suffices: () => boolean): boolean {
    const mark = this.#ledger.mark();
    const keeps = new Map(this.#keeps);
    for (const { attempt, keeps: kept } of others) {
      const upTo = keeps.get(attempt) ?? attempt.workers.length;
      if (kept >= upTo) continue;
      this.#ledger.vacateWorkers(attempt, kept, upTo);
      keeps.set(attempt, kept);
    }
    const holds = suffices();
    this.#ledger.rollback(mark);
    return holds;
  }

  giveAllBack(): void {
    this.#ledger.rollback();
    this.#taken = [];
    this.#keeps.clear();
  }

  /** Gives back in turn, the last taken first, whoever `suffices` holds without; answers those who are needed, in the order of taking. */
  giveBackUnless(suffices: () => boolean): readonly Leaver[] {
    const needed: Leaver[] = [];
    for (const leaver of this.#taken.toReversed()) {
      const { attempt, keeps, upTo } = leaver;
      // Who gives workers further in front cannot keep those behind them.
      if (needed.some((other) => other.attempt === attempt)) {
        needed.push(leaver);
        continue;
      }
      const mark = this.#ledger.mark();
      this.#ledger.stay(attempt, keeps, upTo);
      if (suffices()) continue;
      this.#ledger.rollback(mark);
      needed.push(leaver);
    }
    return needed.toReversed();
  }
}
