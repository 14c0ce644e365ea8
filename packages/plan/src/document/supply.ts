/** The supply of a plan before anything is ordered: accelerators in service by month, and how soon an order can be in service. */
import { monthNumber } from "./calendar.ts";
import { leadLines, leadQuantileDays } from "./distributions.ts";
import type { PlanDocument } from "./plan-document.ts";

/** Accelerators in service by month, in the demand's unit, until their end of life. */
export function existingCapacity({ start, months, existing }: PlanDocument, pool: string): readonly number[] {
  const first = monthNumber(start);
  return Array.from({ length: months }, (_, month) => {
    let sum = 0;
    for (const cohort of existing) {
      const isOver = cohort.endOfLife !== undefined && monthNumber(cohort.endOfLife) <= first + month;
      if (cohort.pool === pool && !isOver) sum += cohort.accelerators * cohort.speed;
    }
    return Math.round(10 * sum) / 10;
  });
}

/** Lead time in days at P95 of the option that arrives first; `undefined`: no option of the pool has a lead time. */
export function shortestLeadDays({ options }: PlanDocument, pool: string): number | undefined {
  const days = options.flatMap((option) =>
    option.pool === pool && "leadTime" in option ? [leadQuantileDays(leadLines(option.leadTime), 0.95)] : [],
  );
  return days.length === 0 ? undefined : Math.min(...days);
}

/** Work of one accelerator of the pool as it exists, in the demand's unit; 1 if nothing exists. */
export function meanSpeed({ existing }: PlanDocument, pool: string): number {
  let [work, count] = [0, 0];
  for (const cohort of existing) {
    if (cohort.pool !== pool) continue;
    work += cohort.accelerators * cohort.speed;
    count += cohort.accelerators;
  }
  return count === 0 ? 1 : work / count;
}
