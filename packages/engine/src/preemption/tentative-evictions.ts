/** What a search has taken so far, tentatively: workers of a gang from its last one on, or all of it. */
import type { Attempt } from "../model/workload.ts";
import type { Ledger } from "../cluster/ledger.ts";
import type { VictimCandidate } from "./victim-candidates.ts";

export class TentativeEvictions {
  readonly #ledger: Ledger;
  #taken: VictimCandidate[] = [];
  #keeps = new Map<Attempt, number>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** In the order of taking. */
  get taken(): readonly VictimCandidate[] {
    return this.#taken;
  }

  /** Takes the leaver's workers, and those behind them that were not taken yet: a gang gives its last workers first. False: nothing is left. */
  take(victimCandidate: VictimCandidate): boolean {
    const { attempt, keeps } = victimCandidate;
    const upTo = this.#keeps.get(attempt) ?? attempt.workers.length;
    if (keeps >= upTo) return false;
    this.#ledger.vacateWorkers(attempt, keeps, upTo);
    this.#keeps.set(attempt, keeps);
    this.#taken.push({ ...victimCandidate, upTo });
    return true;
  }

  /** What `run` takes is taken back when it has answered, unless that is what is sought. */
  tentatively<T>(run: () => T, isSought: (answer: T) => boolean = () => false): T {
    const mark = this.#ledger.mark();
    const keeps = this.#keeps;
    const count = this.#taken.length;
    this.#keeps = new Map(keeps);
    const answer = run();
    if (isSought(answer)) return answer;
    this.#ledger.rollback(mark);
    this.#taken.length = count;
    this.#keeps = keeps;
    return answer;
  }

  /** What would be found if all of these were taken as well. */
  findBeyond<T>(others: readonly VictimCandidate[], find: () => T): T {
    return this.tentatively(() => {
      for (const victimCandidate of others) this.take(victimCandidate);
      return find();
    });
  }

  returnAll(): void {
    this.#ledger.rollback();
    this.#taken = [];
    this.#keeps.clear();
  }

  /**
   * Gives back in turn, the last taken first, whoever it is still found without; answers what was found last, and those who are
   * needed for it in the order of taking.
   */
  giveBackUnless<T>(find: () => T | null, first: T): Needed<T> {
    const needed: VictimCandidate[] = [];
    let found = first;
    for (const victimCandidate of this.#taken.toReversed()) {
      const { attempt, keeps, upTo } = victimCandidate;
      // Who gives workers further in front cannot keep those behind them.
      if (needed.some((other) => other.attempt === attempt)) {
        needed.push(victimCandidate);
        continue;
      }
      const mark = this.#ledger.mark();
      this.#ledger.stay(attempt, keeps, upTo);
      const again = find();
      if (again !== null) {
        found = again;
        continue;
      }
      this.#ledger.rollback(mark);
      needed.push(victimCandidate);
    }
    return { needed: needed.toReversed(), found };
  }
}

interface Needed<T> {
  readonly needed: readonly VictimCandidate[];
  readonly found: T;
}
