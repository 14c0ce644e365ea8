/**
 * `startExec`: a user runs a command inside a worker of a running attempt. The engine finds the attempt and records the
 * user and the command; the server starts the process afterwards. Nothing else of the state changes.
 */
import type { Attempt, Command, Workload } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { activeAttempt } from "../cluster/entities.ts";
import type { World } from "../cluster/world.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";

export function startExec(
  batch: Batch,
  { workloadId, task, worker, run, terminal, actor }: Command & { readonly kind: "startExec" },
): Decision {
  const workload = batch.world.state.workloads.get(workloadId);
  if (workload === undefined) return refused({ code: "unknownWorkload", workloadId });
  if (workload.endedAtMs !== null) return refused({ code: "workloadEnded", workloadId, phase: workload.phase });
  const attempt = runningAttempt(batch.world, workload, task);
  if (attempt === null) return refused({ code: "notRunning", workloadId, task });
  const allocation = attempt.workers[worker];
  const attemptId = attempt.id;
  if (allocation === undefined)
    return refused({ code: "unknownWorker", attemptId, worker, workers: attempt.workers.length });
  batch.emit({ kind: "execStarted", version: 1, atMs: batch.nowMs, attemptId, worker, run, terminal, actor });
  return done({ kind: "execStarted", attemptId, task: attempt.task, nodeId: allocation.node });
}

/** The running attempt of a task, or the one that was placed last. An attempt in its grace period still runs. */
function runningAttempt(world: World, { activeAttempts }: Workload, task: number | null): Attempt | null {
  for (const id of activeAttempts.toReversed()) {
    const attempt = activeAttempt(world, id);
    if (attempt === undefined || attempt.startedAtMs === null) continue;
    if (task === null || attempt.task === task) return attempt;
  }
  return null;
}
