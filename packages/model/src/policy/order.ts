import type { Workload } from "../resources/workload.ts";
import type { OrderKey, Policy } from "./policy.ts";

type Compare = (left: Workload, right: Workload) => number;

/**
 * Comparisons of two workloads by the keys of a policy's order. Keys that depend on more than the two workloads are
 * applied in `ordering/`.
 */
export const comparisons: Partial<Record<OrderKey, Compare>> = {
  priority: (left, right) => right.spec.priority - left.spec.priority,
  walltime: (left, right) => orLast(left.spec.walltimeMs) - orLast(right.spec.walltimeMs),
  deadline: (left, right) => orLast(left.spec.deadlineMs) - orLast(right.spec.deadlineMs),
};

const orLast = (value: number | null | undefined): number => value ?? Number.MAX_SAFE_INTEGER;

/**
 * The total order in which a policy considers waiting work. Its last key is the order of submission, so no two
 * workloads compare equal.
 */
export function workloadOrder({ order }: Pick<Policy, "order">): Compare {
  // `submitted` is a total order, so keys after it have no effect.
  const cut = order.indexOf("submitted");
  const deciding = (cut < 0 ? order : order.slice(0, cut)).flatMap((key) => comparisons[key] ?? []);
  if (deciding.length === 0) return (left, right) => left.ordinal - right.ordinal;
  return (left, right) => {
    for (const compare of deciding) {
      const difference = compare(left, right);
      if (difference !== 0) return difference;
    }
    return left.ordinal - right.ordinal;
  };
}
