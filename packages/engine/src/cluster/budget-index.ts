/** Rates at which running work uses up budgets, and the pending wakeups for these budgets. */
import { milliOf, shapeOf } from "@headroom/model";
import type { Rate, TeamName, Attempt } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";

const NO_RATE: Rate = { milli: 0, moneyMilli: 0 };

export class BudgetIndex {
  readonly #state: Pick<ReadonlyState, "accounts" | "teams" | "pools" | "nodes" | "workloads" | "attempts">;
  readonly #rates = new Map<TeamName, { milli: number; moneyMilli: number }>();
  /** Instant of the earliest pending wakeup, by team. */
  readonly wakes: Map<TeamName, number> = new Map();

  constructor(state: ReadonlyState) {
    this.#state = state;
  }

  rate(team: TeamName): Rate {
    return this.#rates.get(team) ?? NO_RATE;
  }

  /** Recomputes everything, after teams or prices changed. */
  rebuild(): void {
    this.#rates.clear();
    if (this.#state.accounts.size === 0) return;
    for (const attempt of this.#state.attempts.values()) this.count(attempt, 1);
  }

  /** Adds an attempt's rate (`sign` -1: subtracts it), from its placement until its end. */
  count(attempt: Attempt, sign: 1 | -1): void {
    const { accounts, teams, workloads } = this.#state;
    const spec = accounts.size === 0 ? undefined : workloads.get(attempt.workloadId)?.spec;
    if (spec === undefined) return;
    let milli = 0;
    let moneyMilli = 0;
    for (const worker of [...attempt.workers, ...(attempt.terminating ?? [])]) {
      const shape = shapeOf(spec.gang, worker);
      const perWorker = shape.accelerators * milliOf(shape);
      milli += perWorker;
      moneyMilli += perWorker * this.#price(worker.node);
    }
    for (let at: TeamName | null = spec.team; at !== null; at = teams.get(at)?.parent ?? null) {
      if (!accounts.has(at)) continue;
      const rate = this.#rates.get(at) ?? { milli: 0, moneyMilli: 0 };
      this.#rates.set(at, { milli: rate.milli + sign * milli, moneyMilli: rate.moneyMilli + sign * moneyMilli });
    }
  }

  #price(id: Attempt["workers"][number]["node"]): number {
    const node = this.#state.nodes.get(id);
    return node === undefined ? 0 : (this.#state.pools.get(node.pool)?.priceMicroUsdPerHour ?? 0);
  }
}
