/**
 * `changeWorkload`: new values for fields of a workload that waits or runs. The workload keeps its position in the
 * order of submission: raising a request of one's own loses nothing, as in Slurm (`scontrol update`) and Kueue. A field
 * that acts only before the start, or on which running work relies, is refused with the reason.
 */
import { changedSpec, declaredSpec, effectiveChanges, kindRules, minWorkersOf } from "@headroom/model";
import type {
  ChangeableField,
  ChangeRefusal,
  Command,
  Rejection,
  Workload,
  WorkloadChanges,
  WorkloadId,
  WorkloadSpec,
} from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { mapsSubmitters } from "../state/executors.ts";
import { activeAttempt } from "../cluster/entities.ts";
import type { World } from "../cluster/world.ts";
import { withdraw } from "../transitions/nominations.ts";
import { countRefusal, recordChangedScale } from "./scale-endpoint.ts";
import { recordRevision, rolloutRefusal } from "./rollouts.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";
import { resolveAfter } from "./dependencies.ts";
import { sizeAdmissionFailure } from "./submit.ts";

type ChangeWorkload = Command & { readonly kind: "changeWorkload" };

export function changeWorkload(batch: Batch, { workloadId, changes: wanted, actor }: ChangeWorkload): Decision {
  const checked = checkedChange(batch.world, workloadId, { changes: wanted, actor });
  if (checked.kind === "refused") return refused(checked.rejection);
  const { workload, changes } = checked;
  if (changes !== null) recordChange(batch, workload, { changes, actor });
  return done({ kind: "workloadChanged", workloadId, fields: fieldsOf(changes) });
}

/** The decision that `changeWorkload` would take for the submitter of the workload. It changes nothing. */
export function planChange(world: World, workloadId: WorkloadId, changes: WorkloadChanges): Decision {
  const checked = checkedChange(world, workloadId, { changes, actor: null });
  if (checked.kind === "refused") return refused(checked.rejection);
  return done({ kind: "workloadChanged", workloadId, fields: fieldsOf(checked.changes) });
}

const fieldsOf = (changes: WorkloadChanges | null): readonly ChangeableField[] =>
  Object.keys(changes ?? {}) as ChangeableField[];

type CheckedChange =
  | { readonly kind: "checked"; readonly workload: Workload; readonly changes: WorkloadChanges | null }
  | { readonly kind: "refused"; readonly rejection: Rejection };

/** `actor`: the user who changes the workload; `null`: its submitter. */
interface AttributedChanges {
  readonly changes: WorkloadChanges;
  readonly actor: string | null;
}

function checkedChange(world: World, workloadId: WorkloadId, wanted: AttributedChanges): CheckedChange {
  const workload = world.state.workloads.get(workloadId);
  if (workload === undefined) return { kind: "refused", rejection: { code: "unknownWorkload", workloadId } };
  const { endedAtMs, phase } = workload;
  if (endedAtMs !== null) return { kind: "refused", rejection: { code: "workloadEnded", workloadId, phase } };
  const changes = effectiveChanges(workload, wanted.changes);
  const failure = changes === null ? null : changeAdmissionFailure(world, workload, { changes, actor: wanted.actor });
  return failure === null ? { kind: "checked", workload, changes } : { kind: "refused", rejection: failure };
}

/** The reason why the changes of a workload that has not ended are refused, or `null` if they are accepted. */
export function changeAdmissionFailure(
  world: World,
  workload: Workload,
  { changes, actor }: AttributedChanges,
): Rejection | null {
  const { id: workloadId } = workload;
  const spec = declaredSpec(workload);
  const refusal = submitterRefusal(world, workload, { changes, actor }) ?? changeRefusal(world, workload, changes);
  if (refusal !== null) return { code: "cannotChange", workloadId, ...refusal };
  const wanted = changedSpec(spec, changes);
  if (changes.after !== undefined || changes.servedModel !== undefined) {
    const resolved = resolveAfter(world, wanted);
    if (resolved.kind === "refused") return resolved.rejection;
    const cycle = cycleThrough(world, workload, resolved.waitsFor);
    if (cycle !== null) return { code: "unknownDependency", name: cycle[1] ?? spec.name, cycle };
  }
  return changes.workers === undefined && changes.minWorkers === undefined ? null : sizeAdmissionFailure(world, wanted);
}

/** Fields that say what runs. */
const RUNS = ["run", "env", "dir"] as const;

/**
 * Work runs with the rights of its submitter where an executor has a rule for submitters, so nobody else decides what runs
 * (decision 71). The rule counts for the whole fleet, because a workload that waits can be placed anywhere.
 */
function submitterRefusal(
  { state }: World,
  workload: Workload,
  { changes, actor }: AttributedChanges,
): ChangeRefusal | null {
  if (actor === null || actor === workload.actor) return null;
  const field = RUNS.find((each) => changes[each] !== undefined);
  return field === undefined || !mapsSubmitters(state) ? null : { field, cause: "otherSubmitter" };
}

/** Fields that act only before the first task starts. */
const BEFORE_START = ["after", "notBeforeMs"] as const;

function changeRefusal(world: World, workload: Workload, changes: WorkloadChanges): ChangeRefusal | null {
  if (workload.stopRequested) return { field: fieldsOf(changes)[0] ?? "name", cause: "stopping" };
  const started = BEFORE_START.find((field) => changes[field] !== undefined && workload.nextTask > 0);
  if (started !== undefined) return { field: started, cause: "started" };
  return rolloutRefusal(workload, changes) ?? countRefusal(workload, changes) ?? sizeRefusal(world, workload, changes);
}

function sizeRefusal(world: World, { spec, activeAttempts }: Workload, changes: WorkloadChanges): ChangeRefusal | null {
  const field = changes.workers === undefined ? "minWorkers" : "workers";
  if (changes[field] === undefined) return null;
  if (spec.gang.taskGroups !== undefined) return { field, cause: "groups" };
  if (kindRules(spec).hasTasks && (changes.minWorkers ?? null) !== null) return { field: "minWorkers", cause: "batch" };
  const { gang } = changedSpec(spec, changes);
  if (minWorkersOf(gang) > gang.workers) return { field, cause: "emptyRange" };
  const isWhole = (workers: number): boolean =>
    (spec.fabric?.slices ?? []).every((slice) => workers % slice.workers === 0);
  if (!isWhole(gang.workers) || !isWhole(minWorkersOf(gang))) return { field, cause: "slices" };
  for (const id of activeAttempts) {
    const attempt = activeAttempt(world, id);
    if (attempt === undefined) continue;
    const workers = attempt.workers.length + (attempt.missing?.length ?? 0);
    if (minWorkersOf(spec.gang) === spec.gang.workers) return { field, cause: "fixedSize", workers };
    if (workers < minWorkersOf(gang) || workers > gang.workers) return { field, cause: "outsideRange", workers };
  }
  return null;
}

/** The names of workloads that would wait for each other, or `null`. New dependencies can form a cycle; submissions cannot. */
export function cycleThrough(
  { state }: World,
  workload: Workload,
  waitsFor: NonNullable<Workload["waitsFor"]>,
): readonly string[] | null {
  const from = new Map<WorkloadId, WorkloadId>();
  const reached: WorkloadId[] = [];
  const reach = (id: WorkloadId, by: WorkloadId): void => {
    if (from.has(id)) return;
    from.set(id, by);
    reached.push(id);
  };
  for (const wait of waitsFor) reach(wait.workloadId, workload.id);
  for (const id of reached) {
    if (id === workload.id) break;
    for (const wait of state.workloads.get(id)?.waitsFor ?? []) reach(wait.workloadId, id);
  }
  if (!from.has(workload.id)) return null;
  const nameOf = (id: WorkloadId): string => state.workloads.get(id)?.spec.name ?? id;
  const names = [workload.spec.name];
  for (let at = from.get(workload.id); at !== undefined && at !== workload.id; at = from.get(at))
    names.unshift(nameOf(at));
  return [workload.spec.name, ...names];
}

/** Changes for which a place that was nominated under the old spec is no longer valid. */
const MOVES_NOMINATION = ["workers", "minWorkers", "after", "notBeforeMs", "walltimeMs"] as const;

export function recordChange(
  batch: Batch,
  workload: Workload,
  change: { readonly changes: WorkloadChanges; readonly actor: string },
): void {
  const { replicaCount: _count, ...changes } = recordRevision(batch, workload, change);
  if (Object.keys(changes).length > 0) recordSpecChange(batch, workload, { ...change, changes });
  recordChangedScale(batch, workload, change);
}

function recordSpecChange(
  batch: Batch,
  { id: workloadId, spec }: Workload,
  { changes, actor }: { readonly changes: WorkloadChanges; readonly actor: string },
): void {
  const { world, nowMs: atMs } = batch;
  if (MOVES_NOMINATION.some((field) => changes[field] !== undefined))
    for (const nomination of Array.from(world.state.nominations.values()))
      if (nomination.workloadId === workloadId) withdraw(batch, nomination, "its request was changed");
  const { waitsFor, given } = resolvedAfter(world, changedSpec(spec, changes), changes);
  batch.emit({
    kind: "workloadChanged",
    version: 1,
    atMs,
    workloadId,
    actor,
    changes,
    ...(waitsFor.length === 0 ? {} : { waitsFor }),
    ...(given.length === 0 ? {} : { given }),
  });
}

function resolvedAfter(
  world: World,
  spec: WorkloadSpec,
  { after }: WorkloadChanges,
): { readonly waitsFor: NonNullable<Workload["waitsFor"]>; readonly given: NonNullable<Workload["given"]> } {
  const resolved = after === undefined ? null : resolveAfter(world, spec);
  return resolved?.kind === "resolved" ? resolved : { waitsFor: [], given: [] };
}
