/**
 * The cheapest numbers of replicas over time for a trace that is known in advance, as close as we get: the trace is run
 * with every constant number of replicas, which gives the requests of each slot that miss their objectives with so many.
 * Then dynamic programming finds the plan with the least accelerator time + price × missed requests, where each added
 * replica costs its cold start too. The price is bisected until a run of the plan itself reaches the attainment.
 */
export interface MissTable {
  readonly slotMs: number;
  /** Missed requests by number of replicas (index 0: one replica) and slot. */
  readonly missed: readonly Float64Array[];
}

/** Numbers of replicas by slot that minimise replica-ms + `missMs` × missed requests. */
export function cheapestPlan({ slotMs, missed }: MissTable, coldStartMs: number, missMs: number): readonly number[] {
  const count = missed.length;
  const slots = missed[0]?.length ?? 0;
  let costs = Float64Array.from({ length: count }, (_, index) => index * coldStartMs);
  const from: Int32Array[] = [];
  for (let slot = 0; slot < slots; slot += 1) {
    const { best, origin } = moved(costs, coldStartMs);
    costs = best.map((cost, index) => cost + (index + 1) * slotMs + missMs * (missed[index]?.[slot] ?? 0));
    from.push(origin);
  }
  let at = costs.indexOf(Math.min(...costs));
  const plan: number[] = [];
  for (let slot = slots - 1; slot >= 0; slot -= 1) {
    plan[slot] = at + 1;
    at = from[slot]?.[at] ?? at;
  }
  return plan;
}

/** The least cost of each number of replicas after a change: one more costs a cold start, one less costs nothing. */
function moved(
  costs: Float64Array,
  coldStartMs: number,
): { readonly best: Float64Array<ArrayBuffer>; readonly origin: Int32Array } {
  const best = Float64Array.from(costs);
  const origin = Int32Array.from(costs, (_, index) => index);
  for (let index = costs.length - 2; index >= 0; index -= 1) {
    const above = best[index + 1] ?? Infinity;
    if (above < (best[index] ?? Infinity)) {
      best[index] = above;
      origin[index] = origin[index + 1] ?? index;
    }
  }
  for (let index = 1; index < costs.length; index += 1) {
    const below = (best[index - 1] ?? Infinity) + coldStartMs;
    if (below < (best[index] ?? Infinity)) {
      best[index] = below;
      origin[index] = origin[index - 1] ?? index;
    }
  }
  return { best, origin };
}
