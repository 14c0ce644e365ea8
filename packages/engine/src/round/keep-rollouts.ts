/**
 * Keeps the numbers of replicas of both revisions of an endpoint during a rollout, and ends the rollout when all replicas
 * of the revision that remains are ready. With steps, the present replicas stay until the end, so that a rollback is a
 * matter of weights. Without, replicas are replaced one after another, beside one that is added first.
 */
import { revisionNumberOf, rolloutShare, shadowShare } from "@headroom/model";
import type { Rollout, Workload } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { World } from "../cluster/world.ts";
import { endRollout, startFromAlias } from "../lifecycle/rollouts.ts";

export function keepRollouts(batch: Batch): void {
  if (batch.world.rollouts.size > 0) keepAll(batch);
}

function keepAll(batch: Batch): void {
  const { rollouts, state } = batch.world;
  const endpoints = [...rollouts].flatMap((id) => state.workloads.get(id) ?? []);
  for (const endpoint of endpoints.toSorted((left, right) => left.ordinal - right.ordinal)) keep(batch, endpoint);
}

function keep(batch: Batch, workload: Workload): void {
  const { rollout, scale, stopRequested } = workload;
  if (rollout === undefined || scale === undefined || stopRequested) return;
  const ready = readyReplicas(batch.world, workload, rollout);
  const successors = rollout.isReversed === true ? ready.stable : ready.canary;
  if (rollout.isFinal === true && successors >= scale.replicas) {
    end(batch, workload, rollout);
    return;
  }
  const { stable, canary } = sizes(workload, rollout, successors);
  if (stable === rollout.stable && canary === rollout.canary) return;
  batch.emit({ kind: "rolloutSized", version: 1, atMs: batch.nowMs, workloadId: workload.id, stable, canary });
}

function end(batch: Batch, workload: Workload, { actor, isReversed }: Rollout): void {
  const replicas = workload.scale?.replicas ?? 0;
  const outcome = isReversed === true ? "rolledBack" : "completed";
  endRollout(batch, workload, { actor, outcome, ground: { kind: "ready", replicas } });
  const ended = batch.world.state.workloads.get(workload.id);
  if (outcome === "completed" && ended !== undefined) startFromAlias(batch, ended, actor);
}

function readyReplicas(
  { state }: World,
  workload: Workload,
  rollout: Rollout,
): { readonly stable: number; readonly canary: number } {
  let stable = 0;
  let canary = 0;
  for (const id of workload.activeAttempts) {
    const attempt = state.attempts.get(id);
    if (attempt?.ready === undefined || attempt.stop !== null) continue;
    if (revisionNumberOf(attempt) === rollout.number) canary++;
    else stable++;
  }
  return { stable, canary };
}

/** `successors`: ready replicas of the revision that replaces the other one. */
function sizes(
  { scale, spec }: Workload,
  rollout: Rollout,
  successors: number,
): { readonly stable: number; readonly canary: number } {
  const replicas = scale?.replicas ?? 0;
  const share = rolloutShare(rollout);
  if (share !== null && rollout.isReversed !== true)
    return { stable: replicas, canary: Math.ceil((replicas * (shadowShare(rollout) ?? share)) / 100) };
  const least = spec.kind === "serve" ? Math.min(replicas, Math.max(1, spec.replicas.min)) : 0;
  const squeezed = rollout.isSqueezed === true ? 1 : 0;
  const added = Math.min(replicas, successors + 1);
  const leaving = Math.max(0, replicas - successors - squeezed, least - successors);
  return rollout.isReversed === true ? { stable: added, canary: leaving } : { stable: leaving, canary: added };
}
