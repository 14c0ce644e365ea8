/** The number of replicas of an endpoint: its initial number, and its changes within the bounds of the spec. */
import type { ChangeRefusal, ScaleGround, Workload, WorkloadChanges, WorkloadId } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";

export interface ScaleDecision {
  readonly replicas: number;
  readonly actor: string;
  readonly ground: ScaleGround;
}

export function recordScale(batch: Batch, workloadId: WorkloadId, { replicas, actor, ground }: ScaleDecision): void {
  batch.emit({ kind: "endpointScaled", version: 1, atMs: batch.nowMs, workloadId, actor, replicas, ground });
}

/** Records the requested number of replicas, or the number nearest to the present one within changed bounds. */
export function recordChangedScale(
  batch: Batch,
  { id, spec, scale }: Workload,
  { changes, actor }: { readonly changes: WorkloadChanges; readonly actor: string },
): void {
  if (spec.kind !== "serve" || scale === undefined) return;
  const { min, max } = spec.replicas;
  const isRequested = changes.replicaCount !== undefined;
  const replicas = Math.min(max, Math.max(min, changes.replicaCount ?? scale.replicas));
  if (replicas !== scale.replicas)
    recordScale(batch, id, { replicas, actor, ground: { kind: isRequested ? "requested" : "bounds" } });
}

/** The reason why changes of the number of tasks or replicas are refused, or `null`. */
export function countRefusal({ spec }: Workload, changes: WorkloadChanges): ChangeRefusal | null {
  const { taskCount, replicas = spec.kind === "serve" ? spec.replicas : undefined, replicaCount } = changes;
  if (taskCount !== undefined) {
    if (spec.kind !== "batch") return { field: "taskCount", cause: "otherKind" };
    if (taskCount < spec.taskCount) return { field: "taskCount", cause: "fewerTasks" };
  }
  if (changes.replicas !== undefined) {
    if (spec.kind !== "serve") return { field: "replicas", cause: "otherKind" };
    if (changes.replicas.min > changes.replicas.max) return { field: "replicas", cause: "emptyRange" };
  }
  if (replicaCount === undefined) return null;
  if (spec.kind !== "serve" || replicas === undefined) return { field: "replicaCount", cause: "otherKind" };
  const isWithin = replicaCount >= replicas.min && replicaCount <= replicas.max;
  return isWithin ? null : { field: "replicaCount", cause: "outsideReplicas", replicas };
}
