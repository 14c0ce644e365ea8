/**
 * Future submissions, as far as they can delay waiting work. Under policies that let later work overtake, the simulated
 * future repeats random stretches of past submissions (a block bootstrap, Künsch 1989), so that bursts of submissions
 * stay bursts.
 */
import { draw } from "@headroom/model";
import type { Workload, WorkloadId } from "@headroom/model";
import { acceleratorsOf, type WorkHistory } from "./history.ts";

export interface Arrival {
  readonly atMs: number;
  /** Index of the past workload that is repeated. */
  readonly record: number;
}

/**
 * Minimum length in ms of the past that is repeated. A shorter past is extended by a time without submissions before
 * it: the rate of one hour must not become the rate of a week.
 */
const pastMinMs = 24 * 3_600_000;

const startOf = ({ firstStartedAtMs, activeAttempts, submittedAtMs, endedAtMs }: Workload): number => {
  if (firstStartedAtMs !== null) return firstStartedAtMs;
  if (activeAttempts.length > 0) return submittedAtMs;
  return endedAtMs === null ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
};

/**
 * Whether later work can overtake any of `targets`: true if later work has overtaken work of that size or smaller
 * before. The answer comes from the history and not from the policy, so that every policy is covered, and queues
 * without overtaking cost nothing extra.
 */
export function mayBePassed({ workloads }: WorkHistory, targets: ReadonlySet<WorkloadId>): boolean {
  let laterStartMs = Number.POSITIVE_INFINITY;
  let passedSize = Number.POSITIVE_INFINITY;
  let targetSize = 0;
  for (let index = workloads.length - 1; index >= 0; index--) {
    const workload = workloads[index]!;
    const size = acceleratorsOf(workload.spec);
    if (targets.has(workload.id)) targetSize = Math.max(targetSize, size);
    const startMs = startOf(workload);
    const waitsInPart = workload.activeAttempts.length > 0 && targets.has(workload.id);
    if (laterStartMs < (waitsInPart ? Number.POSITIVE_INFINITY : startMs)) passedSize = Math.min(passedSize, size);
    if (startMs > Number.NEGATIVE_INFINITY) laterStartMs = Math.min(laterStartMs, startMs);
  }
  return targetSize >= passedSize;
}

/**
 * Maximum number of arrivals in one forward run: several days of a busy cluster. A target that later work overtakes
 * again and again must not make the run endless.
 */
const arrivalsMax = 2000;

export interface ArrivalReplay {
  readonly nowMs: number;
  readonly seed: number;
}

/**
 * Repeats past submissions from `nowMs` on, starting at a random instant of the past. After the last past submission it
 * continues with the first.
 */
export function* replayedArrivals(history: WorkHistory, { nowMs, seed }: ArrivalReplay): Generator<Arrival> {
  const { records } = history;
  const first = records[0];
  if (first === undefined) return;
  const periodMs = Math.max(pastMinMs, nowMs - first.submittedAtMs) + 1;
  const beginMs = nowMs - periodMs + 1 + Math.floor((draw(seed, 0, "arrivals") / 2 ** 32) * periodMs);
  let record = records.findIndex(({ submittedAtMs }) => submittedAtMs >= beginMs);
  let shiftMs = nowMs - beginMs;
  if (record < 0) record = records.length;
  for (let count = 0; count < arrivalsMax; count++) {
    if (record === records.length) {
      record = 0;
      shiftMs += periodMs;
    }
    yield { atMs: records[record]!.submittedAtMs + shiftMs, record };
    record++;
  }
}
