/** Rates at which running work uses up budgets, and the pending wakeups for these budgets. */
import { milliOf, shapeOf } from "@headroom/model";
import type { Attempt, NodeId, Rate, TeamName, Workload, WorkloadId } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";

const NO_RATE: Rate = { milli: 0, moneyMilli: 0 };

type Priced = Pick<ReadonlyState, "pools" | "nodes" | "attempts">;

/** The rate at which the running work of a workload costs money, as `Rate.moneyMilli`. */
export function moneyRateOf(
  state: Priced,
  { spec, activeAttempts }: Pick<Workload, "spec" | "activeAttempts">,
): number {
  let rate = 0;
  for (const id of activeAttempts) {
    const attempt = state.attempts.get(id);
    for (const worker of [...(attempt?.workers ?? []), ...(attempt?.terminating ?? [])]) {
      const shape = shapeOf(spec.gang, worker);
      rate += shape.accelerators * milliOf(shape) * priceOf(state, worker.node);
    }
  }
  return rate;
}

function priceOf({ nodes, pools }: Omit<Priced, "attempts">, id: NodeId): number {
  const node = nodes.get(id);
  return node === undefined ? 0 : (pools.get(node.pool)?.priceMicroUsdPerHour ?? 0);
}

export class BudgetIndex {
  readonly #state: Pick<ReadonlyState, "accounts" | "teams" | "pools" | "nodes" | "workloads" | "attempts">;
  readonly #rates = new Map<TeamName, { milli: number; moneyMilli: number }>();
  /** Instant of the earliest pending wakeup, by team. */
  readonly wakes: Map<TeamName, number> = new Map();
  /** The same, by endpoint. */
  readonly endpointWakes: Map<WorkloadId, number> = new Map();

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
      moneyMilli += perWorker * priceOf(this.#state, worker.node);
    }
    for (let at: TeamName | null = spec.team; at !== null; at = teams.get(at)?.parent ?? null) {
      if (!accounts.has(at)) continue;
      const rate = this.#rates.get(at) ?? { milli: 0, moneyMilli: 0 };
      this.#rates.set(at, { milli: rate.milli + sign * milli, moneyMilli: rate.moneyMilli + sign * moneyMilli });
    }
  }
}
