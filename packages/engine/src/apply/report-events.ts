/**
 * Reports of running work: checkpoints, artifacts, progress estimates and idle times. Older journals contain every
 * progress report.
 */
import { isRegistered, taskOf } from "@headroom/model";
import type { ReportEvent } from "@headroom/model";
import { addUtilization } from "../state/utilization.ts";
import { updateTask } from "./tasks.ts";
import { meetDependencies, touchedAttempt, touchedWorkload, withArtifact } from "./writable.ts";
import type { Appliers } from "./writable.ts";

export const reportEvents: Appliers<ReportEvent> = {
  progressEstimated(world, { atMs, estimates }) {
    for (const [id, step, totalSteps] of estimates)
      touchedAttempt(world, id).progress = { atMs, step, totalSteps, metrics: {} };
  },
  idleChanged(world, { changes }) {
    for (const [id, idleSinceMs] of changes) {
      const attempt = touchedAttempt(world, id);
      if (idleSinceMs === null) delete attempt.idleSinceMs;
      else attempt.idleSinceMs = idleSinceMs;
    }
  },
  artifactRecorded(world, { attemptId, name, path, atMs }) {
    const workload = touchedWorkload(world, touchedAttempt(world, attemptId).workloadId);
    if (isRegistered(name)) {
      // Work that waits for it goes on when its version is registered.
      workload.artifacts = withArtifact(workload.artifacts, { name, path, by: attemptId });
      return;
    }
    const given = { name, path };
    workload.artifacts = withArtifact(workload.artifacts, given);
    meetDependencies(
      world,
      world.dependents.get(workload.id) ?? [],
      (wait) => wait.workloadId === workload.id && wait.on === "artifact" && wait.artifact === name,
      { atMs, given },
    );
  },
  checkpointRecorded(world, { attemptId, step, path, atMs }) {
    const attempt = touchedAttempt(world, attemptId);
    const workload = touchedWorkload(world, attempt.workloadId);
    workload.checkpoint = { step, path, atMs, attemptId };
    // The next attempt resumes from this checkpoint, so earlier losses no longer count.
    if (taskOf(workload, attempt.task).lossCount > 0) updateTask(workload, attempt.task, { lossCount: 0 });
  },
  progressRecorded(world, { attemptId, step, totalSteps, metrics, atMs }) {
    touchedAttempt(world, attemptId).progress = { atMs, step, totalSteps, metrics };
  },
  utilizationRecorded(world, { attemptId, ...event }) {
    const attempt = touchedAttempt(world, attemptId);
    const { startedAtMs } = attempt;
    attempt.utilization = addUtilization(attempt.utilization, event, { atMs: event.atMs, startedAtMs });
  },
};
