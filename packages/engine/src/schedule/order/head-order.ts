/** The order between the heads of two classes. */
import type { PlacementClass } from "../../state/queue.ts";
import type { Workload } from "../../model/workload.ts";
import { comparisons } from "../../policy/order.ts";
import type { World } from "../../state/world.ts";

export type CompareClasses = (left: PlacementClass, right: PlacementClass) => number;

export function headOrder({ rules, queue }: World): CompareClasses {
  const head = (found: PlacementClass): Workload => found.waiting.first() as Workload;
  if (!rules.phases.includes("refill") && !rules.order.includes("starting") && !rules.order.includes("running"))
    return (left, right) => queue.compare(head(left), head(right));
  return (left, right) => {
    for (const key of rules.order) {
      let difference = comparisons[key]?.(head(left), head(right)) ?? 0;
      if (key === "starting") difference = Number(left.isGrowth) - Number(right.isGrowth);
      if (key === "running") difference = Number(left.holds === null) - Number(right.holds === null);
      if (difference !== 0) return difference;
      if (key === "submitted") break;
    }
    // A task that runs already is not displaced by another of its own workload.
    return head(left).ordinal - head(right).ordinal || Number(left.holds === null) - Number(right.holds === null);
  };
}
