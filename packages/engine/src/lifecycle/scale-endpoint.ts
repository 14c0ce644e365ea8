/** The number of replicas of an endpoint: its initial number, and its changes within the bounds of the spec. */
import { isBudgetSpent, isDue, replicaBounds, taskOf, typeOrder } from "@headroom/model";
import type {
  AttemptId,
  ChangeRefusal,
  Command,
  ScaleGround,
  Workload,
  WorkloadChanges,
  WorkloadId,
} from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { startedTaskCount } from "../state/ready-task.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";

interface ScaleChange {
  readonly replicas: number;
  readonly actor: string;
  readonly ground: ScaleGround;
  readonly stopFirst?: readonly AttemptId[];
  readonly acceleratorTypes?: readonly string[];
}

/** Records the number of replicas. `due`: tasks whose back-off ends with this change. */
export function recordScale(
  batch: Batch,
  workloadId: WorkloadId,
  { replicas, actor, ground, stopFirst = [], acceleratorTypes = [] }: ScaleChange,
  due: readonly number[] = [],
): void {
  batch.emit({
    kind: "endpointScaled",
    version: 3,
    atMs: batch.nowMs,
    workloadId,
    actor,
    replicas,
    ground,
    ...(stopFirst.length === 0 ? {} : { stopFirst }),
    ...(acceleratorTypes.length === 0 ? {} : { acceleratorTypes }),
    ...(due.length === 0 ? {} : { due }),
  });
}

/** Records the requested number of replicas, or the number nearest to the present one within changed bounds. */
export function recordChangedScale(
  batch: Batch,
  workload: Workload,
  { changes, actor }: { readonly changes: WorkloadChanges; readonly actor: string },
): void {
  const { spec, scale } = workload;
  if (spec.kind !== "serve" || scale === undefined) return;
  const isRequested = changes.replicaCount !== undefined;
  const replicas = within(boundsOf(workload), changes.replicaCount ?? scale.replicas);
  recordScaleChange(batch, workload, { replicas, actor, ground: { kind: isRequested ? "requested" : "bounds" } });
}

/** Takes the cost of requests that left the endpoint. A counter without news changes nothing. */
export function chargeOverflow(batch: Batch, command: Command & { readonly kind: "chargeOverflow" }): Decision {
  const { workloadId, gateway, startedAtMs, microUsd } = command;
  const workload = batch.world.state.workloads.get(workloadId);
  if (workload === undefined) return refused({ code: "unknownWorkload", workloadId });
  const known = workload.account?.gateways?.find(
    (each) => each.gateway === gateway && each.startedAtMs === startedAtMs,
  );
  if (workload.account !== undefined && workload.endedAtMs === null && microUsd !== known?.microUsd)
    batch.emit({
      kind: "overflowCharged",
      version: 1,
      atMs: batch.nowMs,
      workloadId,
      gateway,
      startedAtMs,
      microUsd,
    });
  return done({ kind: "workloadChanged", workloadId, fields: [] });
}

/**
 * The number of replicas that the load needs, within the bounds. The decision was made for a number of replicas; if
 * somebody has changed it meanwhile, the decision is out of date and changes nothing.
 */
export function scaleEndpoint(batch: Batch, command: Command & { readonly kind: "scaleEndpoint" }): Decision {
  const { workloadId, from, replicas, actor, ground, stopFirst } = command;
  const workload = batch.world.state.workloads.get(workloadId);
  if (workload === undefined) return refused({ code: "unknownWorkload", workloadId });
  const { spec, scale, endedAtMs, phase, stopRequested } = workload;
  if (endedAtMs !== null) return refused({ code: "workloadEnded", workloadId, phase });
  const cannot = (cause: ChangeRefusal["cause"]): Decision =>
    refused({ code: "cannotChange", workloadId, field: "replicaCount", cause });
  if (spec.kind !== "serve" || scale === undefined) return cannot("otherKind");
  if (stopRequested) return cannot("stopping");
  const wanted = within(boundsOf(workload), replicas);
  const acceleratorTypes = newOrder(workload, command.acceleratorTypes ?? []);
  const isChange = wanted !== from || acceleratorTypes.length > 0;
  if (spec.scale === undefined || scale.replicas !== from || !isChange)
    return done({ kind: "workloadChanged", workloadId, fields: [] });
  const surplus = Math.max(0, scale.replicas - wanted);
  const due = wanted > from ? surplusBackOffs(workload, batch.nowMs) : [];
  const change = { replicas: wanted, actor, ground, stopFirst: stopFirst.slice(0, surplus), acceleratorTypes };
  recordScale(batch, workloadId, change, due);
  return done({ kind: "workloadChanged", workloadId, fields: wanted === from ? [] : ["replicaCount"] });
}

/** The accepted types among these; empty: they have this order already. */
function newOrder(workload: Workload, types: readonly string[]): readonly string[] {
  const before = typeOrder(workload);
  const order = types.filter((type) => before.includes(type));
  return order.every((type, index) => type === before[index]) ? [] : order;
}

const within = ({ min, max }: { readonly min: number; readonly max: number }, replicas: number): number =>
  Math.min(max, Math.max(min, replicas));

/** The bounds now. Only an endpoint has some. */
const boundsOf = ({ spec, account }: Workload): { readonly min: number; readonly max: number } =>
  spec.kind === "serve"
    ? replicaBounds({ spec, ...(account === undefined ? {} : { account }) })
    : { min: 0, max: Number.POSITIVE_INFINITY };

/** Records the number if it is another one. */
export function recordScaleChange(batch: Batch, workload: Workload, change: ScaleChange): void {
  if (workload.scale === undefined || change.replicas === workload.scale.replicas) return;
  const due = change.replicas > workload.scale.replicas ? surplusBackOffs(workload, batch.nowMs) : [];
  recordScale(batch, workload.id, change, due);
}

/**
 * Tasks whose back-off began when the endpoint needed more replicas than before this change. A replica in back-off keeps
 * its place among the needed ones; those beyond that number say nothing about the next replica. The back-offs that end
 * first keep their place.
 */
function surplusBackOffs(workload: Workload, nowMs: number): readonly number[] {
  const waiting = workload.waitingTasks.filter((index) => !isDue(workload, index, nowMs));
  const kept = Math.max(0, (workload.scale?.replicas ?? 0) - startedTaskCount(workload));
  const endOf = (index: number): number => taskOf(workload, index).retryAtMs ?? 0;
  return waiting
    .toSorted((left, right) => endOf(left) - endOf(right) || left - right)
    .slice(kept)
    .toSorted((left, right) => left - right);
}

/** The reason why changes of the number of tasks or replicas are refused, or `null`. */
export function countRefusal({ spec, account }: Workload, changes: WorkloadChanges): ChangeRefusal | null {
  const { taskCount, replicas = spec.kind === "serve" ? spec.replicas : undefined, replicaCount } = changes;
  if (taskCount !== undefined) {
    if (spec.kind !== "batch") return { field: "taskCount", cause: "otherKind" };
    if (taskCount < spec.taskCount) return { field: "taskCount", cause: "fewerTasks" };
  }
  if (changes.scale !== undefined && spec.kind !== "serve") return { field: "scale", cause: "otherKind" };
  if (changes.overflow !== undefined && spec.kind !== "serve") return { field: "overflow", cause: "otherKind" };
  if (changes.budget !== undefined && spec.kind !== "serve") return { field: "budget", cause: "otherKind" };
  if (changes.replicas !== undefined) {
    if (spec.kind !== "serve") return { field: "replicas", cause: "otherKind" };
    if (changes.replicas.min > changes.replicas.max) return { field: "replicas", cause: "emptyRange" };
  }
  if (replicaCount === undefined) return null;
  if (spec.kind !== "serve" || replicas === undefined) return { field: "replicaCount", cause: "otherKind" };
  const budgeted = { spec: { ...spec, replicas }, ...(account === undefined ? {} : { account }) };
  if (isBudgetSpent(budgeted) && changes.budget === undefined && replicaCount > replicaBounds(budgeted).max)
    return { field: "replicaCount", cause: "budgetSpent" };
  const isWithin = replicaCount >= replicas.min && replicaCount <= replicas.max;
  return isWithin ? null : { field: "replicaCount", cause: "outsideReplicas", replicas };
}
