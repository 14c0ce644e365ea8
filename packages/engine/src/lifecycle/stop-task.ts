/**
 * `stopTask`: a user stops one task of an array. Its attempt is stopped, and it is not tried again; a task without an
 * attempt is given up. It counts as unsuccessful, as a cancelled task of an array does in Slurm, and a rerun includes it.
 * A replica of an endpoint that is stopped starts again.
 */
import { kindRules, taskCountOf, taskOf } from "@headroom/model";
import type { Attempt, Command, Workload } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { activeAttempt } from "../cluster/entities.ts";
import { withdraw } from "../transitions/nominations.ts";
import { requestStop } from "../transitions/stop-attempt.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";
import { endWorkloadIfDone } from "./end-attempt.ts";
import { stopWorkload } from "./submit.ts";

export function stopTask(batch: Batch, { workloadId, task, actor }: Command & { readonly kind: "stopTask" }): Decision {
  const { state } = batch.world;
  const workload = state.workloads.get(workloadId);
  if (workload === undefined) return refused({ code: "unknownWorkload", workloadId });
  if (workload.endedAtMs !== null) return refused({ code: "workloadEnded", workloadId, phase: workload.phase });
  const tasks = taskCountOf(workload.spec);
  if (task >= tasks) return refused({ code: "unknownTask", workloadId, task, tasks });
  const stopping = done({ kind: "taskStopping", workloadId, task });
  if (kindRules(workload.spec).restarts === "always" && !workload.stopRequested) {
    // A replica starts again: the number of replicas says how many there are.
    const replica = attemptOf(batch, workload, task);
    if (replica === null) return refused({ code: "notRunning", workloadId, task });
    requestStop(batch, replica, "cancelled");
    return stopping;
  }
  if (tasks === 1 || workload.stopRequested) {
    const whole = stopWorkload(batch, workloadId, actor);
    return whole.kind === "refused" ? whole : stopping;
  }
  if (taskOf(workload, task).isStopRequested === true) return stopping;
  // The task of a nomination waits again when the nomination is withdrawn, and is given up then like any other.
  for (const nomination of Array.from(state.nominations.values()))
    if (nomination.workloadId === workloadId && nomination.task === task)
      withdraw(batch, nomination, "its task was stopped");
  const attempt = attemptOf(batch, workload, task);
  if (attempt === null && hasEnded(workload, task)) return refused({ code: "taskEnded", workloadId, task });
  batch.emit({ kind: "taskStopRequested", version: 1, atMs: batch.nowMs, workloadId, task, actor });
  if (attempt !== null) requestStop(batch, attempt, "cancelled");
  else endWorkloadIfDone(batch, workload, { kind: "tasksFailed", failedCount: workload.failedCount });
  return stopping;
}

function attemptOf({ world }: Batch, { activeAttempts }: Workload, task: number): Attempt | null {
  for (const id of activeAttempts) {
    const attempt = activeAttempt(world, id);
    if (attempt?.task === task) return attempt;
  }
  return null;
}

/** Whether a task without an attempt and without a nomination has succeeded or was given up. */
const hasEnded = (workload: Workload, task: number): boolean =>
  task < workload.nextTask && !workload.waitingTasks.includes(task);
