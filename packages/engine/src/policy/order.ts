import type { Workload } from "../model/workload.ts";
import type { Policy } from "./policy.ts";

/** The total order in which a policy considers what waits; it ends in the order of submission, so no two compare equal. */
export function workloadOrder(policy: Policy): (left: Workload, right: Workload) => number {
  // `submitted` decides everything, so the keys after it cannot matter.
  const cut = policy.order.indexOf("submitted");
  const deciding = cut < 0 ? policy.order : policy.order.slice(0, cut);
  if (deciding.length === 0) return (left, right) => left.ordinal - right.ordinal;
  return (left, right) => {
    for (const key of deciding) {
      const difference = key === "priority" ? right.spec.priority - left.spec.priority : compareWalltimes(left, right);
      if (difference !== 0) return difference;
    }
    return left.ordinal - right.ordinal;
  };
}

function compareWalltimes(left: Workload, right: Workload): number {
  const leftMs = left.spec.walltimeMs ?? Number.MAX_SAFE_INTEGER;
  const rightMs = right.spec.walltimeMs ?? Number.MAX_SAFE_INTEGER;
  return leftMs - rightMs;
}
