/**
 * Measured shares of the used time of attempts, from the telemetry store: the parts of a step that the attempt reports, or else the
 * part of the time in which its accelerators were not busy. The file is only read, whether a control plane uses it or not.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { measuredStepOf } from "@headroom/perf";
import type { AttemptMetrics } from "@headroom/protocol";
import type { UsedShares } from "@headroom/usage";
import { AttemptSeries } from "@headroom/views";

/** Attempts that are read for one answer, those with the most used time first: some tenths of a millisecond each. */
const ATTEMPTS_READ_MAX = 10_000;
const POINTS_READ = 600;

export interface StepShares {
  readonly byAttempt: ReadonlyMap<string, UsedShares>;
  /** `null`: there is none. */
  readonly problem: string | null;
}

/** `attemptIds`: those with the most used time first. Attempts without a measurement are missing in the answer. */
export function readStepShares(home: string, attemptIds: readonly string[]): StepShares {
  const file = path.join(home, "telemetry.db");
  const byAttempt = new Map<string, UsedShares>();
  if (!existsSync(file)) return { byAttempt, problem: null };
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(file, { readOnly: true });
    const find = database.prepare("SELECT series FROM attempts WHERE attempt_id = ?");
    for (const attemptId of attemptIds.slice(0, ATTEMPTS_READ_MAX)) {
      const row = find.get(attemptId);
      if (row === undefined) continue;
      const shares = usedSharesOf(
        AttemptSeries.fromText(String(row["series"])).view(attemptId, { points: POINTS_READ }),
      );
      if (shares !== null) byAttempt.set(attemptId, shares);
    }
    const left = attemptIds.length - ATTEMPTS_READ_MAX;
    return { byAttempt, problem: left > 0 ? `the time of ${left} attempts with little time is not divided` : null };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { byAttempt, problem: `telemetry.db cannot be read, so that used time is not divided: ${problem}` };
  } finally {
    database?.close();
  }
}

/** `null`: nothing is measured. */
export function usedSharesOf({
  progress,
  utilization,
}: Pick<AttemptMetrics, "progress" | "utilization">): UsedShares | null {
  const step = measuredStepOf(progress);
  if (step !== undefined && step.seconds > 0 && Object.keys(step.reported).length > 0) {
    const { compute = 0, network = 0, storage = 0 } = step.reported;
    const { seconds } = step;
    return { compute: compute / seconds, communication: network / seconds, io: storage / seconds };
  }
  // Time without any busy accelerator is idle time of its own.
  const busy = utilization.filter(({ busyAccelerators }) => busyAccelerators > 0);
  const reports = busy.reduce((sum, point) => sum + point.reports, 0);
  if (reports === 0) return null;
  const busyShare = busy.reduce((sum, { busyMilli, reports: count }) => sum + (busyMilli / 1_000) * count, 0) / reports;
  return { idle: Math.min(1, Math.max(0, 1 - busyShare)) };
}
