/**
 * Running work whose interval between checkpoints costs far more than the best one for the failures of its nodes. The loss at an
 * interval is the time of its checkpoints and half an interval for each failure (J. Young, "A first order approximation to the optimum
 * checkpoint interval", CACM 17, 1974).
 */
import { checkpointIntervalOn, nodeFailures } from "@headroom/engine";
import type { CheckpointInterval, ReadonlyState } from "@headroom/engine";
import { ground, shortReason } from "@headroom/health";
import type { Finding } from "@headroom/health";
import { acceleratorCount } from "@headroom/model";
import type { Attempt, WorkloadId, WorkloadSpec } from "@headroom/model";

/** Part of the time that the best interval must save. */
const SAVED_MIN = 0.01;
const FINDINGS_MAX = 50;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Advised intervals, so that advice does not change with each failure. */
const STEPS_MS = [1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480, 720].map((step) => step * MINUTE_MS);

/** One finding for each workload and advised interval, such as an array with many running tasks; the most saved hours first. */
export function checkpointFindings(state: ReadonlyState): readonly Finding[] {
  const failures = nodeFailures(state);
  const found = new Map<string, CostlyInterval>();
  for (const attempt of state.attempts.values()) {
    const spec = state.workloads.get(attempt.workloadId)?.spec;
    if (spec === undefined || attempt.startedAtMs === null || typeof spec.checkpointEvery !== "number") continue;
    const best = checkpointIntervalOn(failures, spec, new Set(attempt.workers.map(({ node }) => node)).size);
    const own = intervalOf(attempt, spec, best);
    if (own === null) continue;
    const known = found.get(idOf(own));
    found.set(idOf(own), known === undefined ? own : joined(known, own));
  }
  return [...found]
    .toSorted(([id, left], [otherId, right]) => right.savedHours - left.savedHours || (id < otherId ? -1 : 1))
    .slice(0, FINDINGS_MAX)
    .map(([id, interval]) => findingOf(id, interval));
}

/** An interval that costs far more than the best one. Hours are accelerator-hours a day. */
interface CostlyInterval {
  readonly workloadId: WorkloadId;
  readonly spec: WorkloadSpec;
  readonly everyMs: number;
  readonly advisedMs: number;
  readonly best: CheckpointInterval;
  readonly attempts: number;
  readonly sinceMs: number;
  readonly savedHours: number;
}

const idOf = ({ workloadId, advisedMs }: CostlyInterval): string => `checkpoint:${workloadId}:${advisedMs}`;

/** The best interval of the first attempt speaks for all. */
const joined = (left: CostlyInterval, right: CostlyInterval): CostlyInterval => ({
  ...left,
  attempts: left.attempts + right.attempts,
  sinceMs: Math.min(left.sinceMs, right.sinceMs),
  savedHours: left.savedHours + right.savedHours,
});

function intervalOf(
  { workloadId, workers, startedAtMs }: Attempt,
  spec: WorkloadSpec,
  best: CheckpointInterval,
): CostlyInterval | null {
  const everyMs = Number(spec.checkpointEvery);
  const advisedMs = nearestStep(best.everyMs);
  const saved = lossAt(everyMs, best) - lossAt(advisedMs, best);
  if (advisedMs === everyMs || !(saved >= SAVED_MIN)) return null;
  const accelerators = workers.reduce((sum, worker) => sum + acceleratorCount(worker.accelerators), 0);
  const savedHours = saved * accelerators * 24;
  return { workloadId, spec, everyMs, advisedMs, best, attempts: 1, sinceMs: startedAtMs ?? 0, savedHours };
}

function findingOf(id: string, interval: CostlyInterval): Finding {
  const { workloadId, spec, everyMs, advisedMs, best, attempts, sinceMs, savedHours } = interval;
  const { name, team } = spec;
  return {
    id,
    kind: "checkpoint",
    sinceMs,
    change: {
      kind: "advice",
      about: shortReason(`checkpoints of ${name} (${workloadId})`),
      text: `set checkpoint.every to ${advisedMs / MINUTE_MS}m, or to auto`,
    },
    team,
    reason: shortReason(`${name} saves a checkpoint every ${Math.round(everyMs / MINUTE_MS)} min`),
    ground: [
      ground("interval", everyMs / MINUTE_MS, "min"),
      ground("best interval", best.everyMs / MINUTE_MS, "min"),
      ground("mean time to a failure of its nodes", best.failureMs / HOUR_MS, "h"),
      ...(attempts === 1 ? [] : [ground("running attempts", attempts)]),
      ground("accelerator-hours saved", savedHours, "per day"),
    ],
  };
}

/** Part of the time that checkpoints and repeated work take. */
const lossAt = (everyMs: number, { costMs, failureMs }: CheckpointInterval): number =>
  Math.min(1, costMs / Math.max(everyMs, costMs) + everyMs / (2 * failureMs));

const nearestStep = (everyMs: number): number =>
  STEPS_MS.reduce((nearest, step) =>
    Math.abs(Math.log(step / everyMs)) < Math.abs(Math.log(nearest / everyMs)) ? step : nearest,
  );
