/** Stage 3: simulations on the live indexes. Every one of them is rolled back; nothing of it is an event. */
import type { Attempt } from "../model/workload.ts";
import { Ledger } from "../cluster/ledger.ts";
import type { World } from "../cluster/world.ts";
import type { VictimCandidate } from "./candidates.ts";
import { minimise } from "./minimise.ts";
import type { Victim } from "./plan.ts";

/** What `run` returns; all that it does to its ledger is undone. */
export function simulate<T>(world: World, run: (ledger: Ledger) => T): T {
  const ledger = new Ledger(world);
  try {
    return run(ledger);
  } finally {
    ledger.rollback();
  }
}

/** What `ask` returns while the victims count as terminating. */
export const simulateWithout = <T>(
  world: World,
  victims: readonly Pick<Victim, "attempt" | "keeps">[],
  ask: (ledger: Ledger) => T,
): T =>
  simulate(world, (ledger) => {
    for (const { attempt, keeps } of victims) ledger.vacate(attempt, keeps);
    return ask(ledger);
  });

/** What a search has evicted so far, tentatively: workers of a gang from its last one on, or all of it. */
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

  /** Evicts the candidate's workers and those behind them: a gang gives its last workers first. False: nothing is left of them. */
  take(victimCandidate: VictimCandidate): boolean {
    const { attempt, keeps } = victimCandidate;
    const upTo = this.#keeps.get(attempt) ?? attempt.workers.length;
    if (keeps >= upTo) return false;
    this.#ledger.vacateWorkers(attempt, keeps, upTo);
    this.#keeps.set(attempt, keeps);
    this.#taken.push({ ...victimCandidate, upTo });
    return true;
  }

  /** Undoes what `run` evicts, unless its answer is the one that is sought. */
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

  /** What would be found if all of these were evicted too. */
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

  /** Drops evictions that are not needed, the last one first; what is found with the others. */
  minimise<T>(find: () => T | null, first: T): { readonly needed: readonly VictimCandidate[]; readonly found: T } {
    const needed = new Set<Attempt>();
    return minimise(this.#taken, first, {
      order: this.#taken.toReversed(),
      without: ({ attempt, keeps, upTo }) => {
        // A gang that gives workers further in front cannot keep those behind them.
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
