/**
 * `restartWorkload`: the running attempts of a workload are stopped, after a checkpoint where they write one on request,
 * and its tasks wait again. It uses up no retry. A gang that makes no progress, or is slow, continues on other nodes.
 */
import type { Attempt, Command, Rejection, WorkloadId } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { activeAttempt } from "../cluster/entities.ts";
import type { World } from "../cluster/world.ts";
import { requestStop } from "../transitions/stop-attempt.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";

export function restartWorkload(
  batch: Batch,
  { workloadId }: Command & { readonly kind: "restartWorkload" },
): Decision {
  const rejection = restartRefusal(batch.world, workloadId);
  if (rejection !== null) return refused(rejection);
  const attempts = restartable(batch.world, workloadId);
  for (const attempt of attempts) requestStop(batch, attempt, "restarted");
  return done({ kind: "workloadRestarting", workloadId, attempts: attempts.length });
}

/** The reason why the workload cannot be restarted now, or `null` if it can. */
export function restartRefusal(world: World, workloadId: WorkloadId): Rejection | null {
  const workload = world.state.workloads.get(workloadId);
  if (workload === undefined) return { code: "unknownWorkload", workloadId };
  const { endedAtMs, phase, stopRequested } = workload;
  if (endedAtMs !== null || stopRequested) return { code: "workloadEnded", workloadId, phase };
  return restartable(world, workloadId).length === 0 ? { code: "notRunning", workloadId, task: 0 } : null;
}

/** Attempts that have not been asked to stop. */
function restartable(world: World, workloadId: WorkloadId): readonly Attempt[] {
  const ids = world.state.workloads.get(workloadId)?.activeAttempts ?? [];
  return ids.flatMap((id) => {
    const attempt = activeAttempt(world, id);
    return attempt === undefined || attempt.stop !== null ? [] : [attempt];
  });
}
