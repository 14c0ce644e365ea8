/**
 * Typical demand of a list of jobs, as in FGD's evaluation: the most frequent kinds of job, until they make up 95% of
 * the list.
 */
import type { Policy, TypicalDemand } from "@headroom/model";
import type { TraceJob } from "../trace/trace.ts";

type Demand = readonly TypicalDemand[];

/** Share of the list in percent. The kind of job that crosses this share is included. */
const TYPICAL_PERCENT = 95;

function typicalDemandOf(population: readonly TraceJob[]): Demand {
  const kinds = new Map<string, TypicalDemand>();
  for (const { accelerators, shareMilli, coresMilli } of population) {
    const milli = shareMilli ?? 1000;
    const key = `${accelerators}|${milli}|${coresMilli}`;
    kinds.set(key, { accelerators, milli, coresMilli, count: (kinds.get(key)?.count ?? 0) + 1 });
  }
  const sorted = [...kinds.values()].toSorted(
    (left, right) =>
      right.count - left.count ||
      left.coresMilli - right.coresMilli ||
      left.accelerators - right.accelerators ||
      left.milli - right.milli,
  );
  let counted = 0;
  return sorted.filter(({ count }) => {
    const isTypical = counted * 100 < population.length * TYPICAL_PERCENT;
    counted += count;
    return isTypical;
  });
}

/**
 * Adds the typical demand to a policy that needs typical demand and does not state it. A policy that learns demand from
 * submissions stays unchanged.
 */
export function withTypicalDemand(policy: Policy, population: readonly TraceJob[]): Policy {
  const { placement: order } = policy;
  if (order !== "fragmentation" || population.length === 0) return policy;
  return { ...policy, placement: { order, typicalDemand: typicalDemandOf(population) } };
}
