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
import type { Attempt, WorkloadSpec } from "@headroom/model";

/** Part of the time that the best interval must save. */
const SAVED_MIN = 0.01;
const FINDINGS_MAX = 50;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** Advised intervals, so that advice does not change with each failure. */
const STEPS_MS = [1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 360, 480, 720].map((step) => step * MINUTE_MS);

export function checkpointFindings(state: ReadonlyState): readonly Finding[] {
  const failures = nodeFailures(state);
  const found = [...state.attempts.values()].flatMap((attempt) => {
    const workload = state.workloads.get(attempt.workloadId);
    if (workload === undefined || attempt.startedAtMs === null || typeof workload.spec.checkpointEvery !== "number")
      return [];
    const best = checkpointIntervalOn(failures, workload.spec, new Set(attempt.workers.map(({ node }) => node)).size);
    return findingOf(attempt, workload.spec, best) ?? [];
  });
  return found
    .toSorted((left, right) => right.savedHours - left.savedHours || (left.finding.id < right.finding.id ? -1 : 1))
    .slice(0, FINDINGS_MAX)
    .map(({ finding }) => finding);
}

function findingOf(
  { workloadId, workers, startedAtMs }: Attempt,
  { name, team, checkpointEvery }: WorkloadSpec,
  best: CheckpointInterval,
): { readonly savedHours: number; readonly finding: Finding } | null {
  const everyMs = Number(checkpointEvery);
  const advisedMs = nearestStep(best.everyMs);
  const saved = lossAt(everyMs, best) - lossAt(advisedMs, best);
  if (advisedMs === everyMs || !(saved >= SAVED_MIN)) return null;
  const accelerators = workers.reduce((sum, worker) => sum + acceleratorCount(worker.accelerators), 0);
  const savedHours = saved * accelerators * 24;
  return {
    savedHours,
    finding: {
      id: `checkpoint:${workloadId}:${advisedMs}`,
      kind: "checkpoint",
      sinceMs: startedAtMs ?? 0,
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
        ground("accelerator-hours saved", savedHours, "per day"),
      ],
    },
  };
}

/** Part of the time that checkpoints and repeated work take. */
const lossAt = (everyMs: number, { costMs, failureMs }: CheckpointInterval): number =>
  Math.min(1, costMs / Math.max(everyMs, costMs) + everyMs / (2 * failureMs));

const nearestStep = (everyMs: number): number =>
  STEPS_MS.reduce((nearest, step) =>
    Math.abs(Math.log(step / everyMs)) < Math.abs(Math.log(nearest / everyMs)) ? step : nearest,
  );
