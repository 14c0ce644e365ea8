/**
 * The cheapest run with perfect foresight, by dynamic programming over (step, work done, place). Foresight needs no checkpoint before a preemption.
 */
import type { SpotJob } from "./spot-job.ts";
import type { SpotSeries } from "./spot-series.ts";

/** Resolution of work in hours: a minute, and coarser for long work, so that the table stays small. */
function unitOf(workHours: number): number {
  return Math.max(1 / 60, workHours / 10_000);
}

/** Cost in USD; infinity if the work cannot be done by the deadline. */
export function offlineOptimum(series: SpotSeries, job: SpotJob): number {
  const starts = stepsUntil(series, job.deadlineHours);
  const units = Math.max(1, Math.floor(job.workHours / unitOf(job.workHours) + 1e-9));
  const unitHours = job.workHours / units;
  let costs: Float64Array[] = Array.from({ length: series.zones.length + 2 }, () =>
    new Float64Array(units + 1).fill(Number.POSITIVE_INFINITY),
  );
  costs[0]![units] = 0;
  for (let step = 0; step + 1 < starts.length; step += 1) {
    costs = advance(series, job, costs, { step, hours: starts[step + 1]! - starts[step]!, unitHours });
  }
  return Math.min(...costs.map((left) => left[0]!));
}

function stepsUntil(series: SpotSeries, deadlineHours: number): readonly number[] {
  return [...series.startHours.filter((start) => start < deadlineHours - 1e-9), deadlineHours];
}

interface Interval {
  readonly step: number;
  readonly hours: number;
  readonly unitHours: number;
}

/** Place 0 is nowhere, 1 on demand, 2 and more the zones. */
function advance(
  series: SpotSeries,
  job: SpotJob,
  before: readonly Float64Array[],
  interval: Interval,
): Float64Array[] {
  const units = before[0]!.length - 1;
  const cheapest = new Float64Array(units + 1).fill(Number.POSITIVE_INFINITY);
  for (const costs of before) {
    for (let left = 0; left <= units; left += 1) if (costs[left]! < cheapest[left]!) cheapest[left] = costs[left]!;
  }
  return before.map((stayed, place) => {
    if (place === 0) return cheapest.slice();
    const price = place === 1 ? series.onDemand[interval.step]! : series.spot[place - 2]![interval.step]!;
    const after = new Float64Array(units + 1).fill(Number.POSITIVE_INFINITY);
    after[0] = cheapest[0]!;
    if (!Number.isFinite(price)) return after;
    run(after, stayed, price, interval, 0);
    run(after, cheapest, price, interval, job.restartHours);
    return after;
  });
}

/** Rounds progress down to whole units. A start that is longer than a step is cut at the end of the step. */
function run(after: Float64Array, from: Float64Array, price: number, interval: Interval, startHours: number): void {
  const working = Math.max(0, interval.hours - startHours);
  const done = Math.floor(working / interval.unitHours + 1e-9);
  for (let left = 1; left < from.length; left += 1) {
    const cost = from[left]!;
    if (cost === Number.POSITIVE_INFINITY) continue;
    const made = Math.min(done, left);
    const hours = made < done ? startHours + made * interval.unitHours : interval.hours;
    const total = cost + price * hours;
    if (total < after[left - made]!) after[left - made] = total;
  }
}
