/** Stage 3: simulations on the live indexes. Each of them is rolled back, and none records an event. */
import type { Attempt } from "@headroom/model";
import { simulate } from "../cluster/ledger.ts";
import type { Ledger } from "../cluster/ledger.ts";
import type { World } from "../cluster/world.ts";
import type { VictimCandidate } from "./candidates.ts";
import { minimise } from "./minimise.ts";
import type { Victim } from "./plan.ts";

/** Returns the result of `ask` while the victims count as terminating. */
export const simulateWithout = <T>(
  world: World,
  victims: readonly Pick<Victim, "attempt" | "keeps">[],
  ask: (ledger: Ledger) => T,
): T =>
  simulate(world, (ledger) => {
    for (const { attempt, keeps } of victims) ledger.vacate(attempt, keeps);
    return ask(ledger);
  });

/** The tentative evictions of a search so far: whole attempts, or the last workers of a gang. */
export class TentativeEvictions {
  readonly #ledger: Ledger;
  #taken: VictimCandidate[] = [];
  #keeps = new Map<Attempt, number>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Evicted candidates, in the order of eviction. */
  get taken(): readonly VictimCandidate[] {
    return this.#taken;
  }

  /**
   * Evicts the candidate's workers and all workers of higher rank, because a gang loses its last workers first. Returns
   * false if all of them were evicted already.
   */
  take(victimCandidate: VictimCandidate): boolean {
    const { attempt, keeps } = victimCandidate;
    const upTo = this.#keeps.get(attempt) ?? attempt.workers.length;
    if (keeps >= upTo) return false;
    this.#ledger.vacateWorkers(attempt, keeps, upTo);
    this.#keeps.set(attempt, keeps);
    this.#taken.push({ ...victimCandidate, upTo });
    return true;
  }

  /** Undoes the evictions of `run`, unless `isSought` accepts its result. */
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

  /** The result of `find` if all candidates in `others` were evicted too. */
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

  /** Drops evictions that are not needed, the last eviction first, and returns the result of `find` with the rest. */
  minimise<T>(find: () => T | null, first: T): { readonly needed: readonly VictimCandidate[]; readonly found: T } {
    const needed = new Set<Attempt>();
    return minimise(this.#taken, first, {
      order: this.#taken.toReversed(),
      without: ({ attempt, keeps, upTo }) => {
        // Workers of lower rank in the same gang must be evicted, so these workers cannot stay.
        if (needed.has(attempt)) return null;
        const mark = this.#ledger.mark();
        this.#ledger.stay(attempt, keeps, upTo);
        const again = find();
        if (again !== null) return again;
        this.#ledger.rollback(mark);
        needed.add(attempt);
        return null;
      },
    });
  }
}
