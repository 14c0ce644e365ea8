/**
 * Changes of a submitted workload in place: the fields that may change while it waits or runs, the spec with the
 * changes, and the difference between two specs. Decisions, `apply/` and the API read this one list of fields.
 */
import { canonicalJson } from "../base/canonical.ts";
import type { EndpointBudget } from "./endpoint-budget.ts";
import { declaredSpec } from "./rollout.ts";
import type { RevisionChanges, RolloutSpec } from "./rollout.ts";
import type {
  AfterSpec,
  GangSpec,
  NotifySpec,
  OverflowSpec,
  ReadinessSpec,
  ReplicaRange,
  RetrySpec,
  ScaleTargets,
  Workload,
  WorkloadSpec,
} from "./workload.ts";

/** New values by field; a field that is absent does not change. */
export interface WorkloadChanges {
  readonly name?: string;
  readonly priority?: number;
  /** `null`: unlimited. */
  readonly walltimeMs?: number | null;
  readonly retries?: RetrySpec;
  /** Variables of the next attempts; `null` removes a variable, and variables that are not named stay. */
  readonly env?: Readonly<Record<string, string | null>>;
  readonly hold?: boolean;
  /** Replaces all dependencies. */
  readonly after?: readonly AfterSpec[];
  /** `null`: at any time. */
  readonly notBeforeMs?: number | null;
  /** Number of workers, or the maximum of an elastic gang. */
  readonly workers?: number;
  /** `null`: the gang is not elastic. */
  readonly minWorkers?: number | null;
  /** `null`: no notifications. */
  readonly notify?: NotifySpec | null;
  /** Number of tasks of an array. It only grows. */
  readonly taskCount?: number;
  /** Bounds of the number of replicas of an endpoint. */
  readonly replicas?: ReplicaRange;
  /** Targets by which the number of replicas follows traffic; `null`: commands alone change it. */
  readonly scale?: ScaleTargets | null;
  /** Steps of rollouts of an endpoint; `null`: replicas are replaced one after another. */
  readonly rollout?: RolloutSpec | null;
  /** Where requests of an endpoint go while its replicas are saturated; `null`: nowhere. */
  readonly overflow?: OverflowSpec | null;
  /** Money of an endpoint; `null`: it has no budget of its own. */
  readonly budget?: EndpointBudget | null;
  /** Command of an endpoint. This field, `dir`, `ready`, `servedModel` and `env` make a revision: a rollout changes them. */
  readonly run?: string;
  readonly dir?: string | null;
  readonly ready?: ReadinessSpec;
  /** `null`: the name of the workload. */
  readonly servedModel?: string | null;
  /** Number of replicas of an endpoint. It is no part of the spec, and an event of its own records it. */
  readonly replicaCount?: number;
}

export type ChangeableField = keyof WorkloadChanges;

/** The fields in the order in which they are shown. The type makes the list complete. */
const FIELDS: Readonly<Record<ChangeableField, true>> = {
  name: true,
  priority: true,
  walltimeMs: true,
  workers: true,
  minWorkers: true,
  hold: true,
  after: true,
  notBeforeMs: true,
  retries: true,
  env: true,
  notify: true,
  taskCount: true,
  replicas: true,
  scale: true,
  rollout: true,
  overflow: true,
  budget: true,
  run: true,
  dir: true,
  ready: true,
  servedModel: true,
  replicaCount: true,
};

export const CHANGEABLE_FIELDS: readonly ChangeableField[] = Object.keys(FIELDS) as ChangeableField[];

/** The current value of a changeable field; `null`: it has none. */
export function changeableValue(spec: WorkloadSpec, field: ChangeableField): unknown {
  switch (field) {
    case "workers":
      return spec.gang.workers;
    case "minWorkers":
      return spec.gang.minWorkers ?? null;
    case "hold":
      return spec.hold === true;
    case "after":
      return spec.after ?? [];
    case "taskCount":
      return spec.kind === "batch" ? spec.taskCount : null;
    case "replicas":
      return spec.kind === "serve" ? spec.replicas : null;
    case "scale":
      return spec.kind === "serve" ? (spec.scale ?? null) : null;
    case "replicaCount":
      return null;
    case "rollout":
    case "overflow":
    case "budget":
    case "ready":
    case "servedModel":
      return spec.kind === "serve" ? (spec[field] ?? null) : null;
    default:
      return spec[field] ?? null;
  }
}

/** The spec with these changes. A pure function of both, because `apply/` folds the recorded changes with it. */
export function changedSpec(spec: WorkloadSpec, changes: WorkloadChanges): WorkloadSpec {
  const { hold, after, notBeforeMs, env, workers, minWorkers, ...values } = changes;
  const { notify, scale, rollout, overflow, budget, servedModel, ...others } = values;
  const { replicaCount: _count, ...plain } = others;
  const changed: Record<string, unknown> = { ...spec, ...plain };
  if (env !== undefined) changed["env"] = changedEnv(spec.env, env);
  if (hold !== undefined) setOrDelete(changed, "hold", hold ? true : null);
  if (after !== undefined) setOrDelete(changed, "after", after.length === 0 ? null : after);
  if (notify !== undefined) setOrDelete(changed, "notify", notify);
  if (scale !== undefined) setOrDelete(changed, "scale", scale);
  if (rollout !== undefined) setOrDelete(changed, "rollout", rollout);
  if (overflow !== undefined) setOrDelete(changed, "overflow", overflow);
  if (budget !== undefined) setOrDelete(changed, "budget", budget);
  if (servedModel !== undefined) setOrDelete(changed, "servedModel", servedModel);
  if (notBeforeMs !== undefined) setOrDelete(changed, "notBeforeMs", notBeforeMs);
  if (workers !== undefined || minWorkers !== undefined) changed["gang"] = changedGang(spec.gang, changes);
  return changed as unknown as WorkloadSpec;
}

function setOrDelete(record: Record<string, unknown>, field: string, value: unknown): void {
  if (value === null) delete record[field];
  else record[field] = value;
}

function changedEnv(env: WorkloadSpec["env"], changes: NonNullable<WorkloadChanges["env"]>): WorkloadSpec["env"] {
  const kept = Object.entries(env).filter(([name]) => !Object.hasOwn(changes, name) || changes[name] !== null);
  const own = Object.entries(changes).filter((entry): entry is [string, string] => entry[1] !== null);
  return Object.fromEntries([...kept, ...own]);
}

/** A curve of throughput has one value for each size, so it is dropped when the largest size changes. */
function changedGang(gang: GangSpec, { workers = gang.workers, minWorkers }: WorkloadChanges): GangSpec {
  const { throughputMilli, minWorkers: before, ...rest } = gang;
  const least = minWorkers === undefined ? before : (minWorkers ?? undefined);
  return {
    ...rest,
    workers,
    ...(least === undefined ? {} : { minWorkers: least }),
    ...(throughputMilli === undefined || workers !== gang.workers ? {} : { throughputMilli }),
  };
}

/** The changes that have an effect on the workload, or `null` if none has. Fields of the state are compared with it. */
export function effectiveChanges(
  workload: Pick<Workload, "spec" | "held" | "scale" | "rollout">,
  changes: WorkloadChanges,
): WorkloadChanges | null {
  const spec = declaredSpec(workload);
  const kept: Record<string, unknown> = {};
  for (const field of CHANGEABLE_FIELDS) {
    const wanted = field === "env" ? changedVariables(spec.env, changes.env) : changes[field];
    if (wanted === undefined) continue;
    const known = presentValue(workload, field);
    if (field === "env" || canonicalJson(known) !== canonicalJson(wanted)) kept[field] = wanted;
  }
  return Object.keys(kept).length === 0 ? null : kept;
}

/** The value of a field now. Holds and the number of replicas are in the state, not in the spec. */
export function presentValue(
  { spec, held, scale, rollout }: Pick<Workload, "spec" | "held" | "scale" | "rollout">,
  field: ChangeableField,
): unknown {
  if (field === "hold") return held === true;
  if (field === "replicaCount") return scale?.replicas ?? null;
  return changeableValue(declaredSpec({ spec, ...(rollout === undefined ? {} : { rollout }) }), field);
}

function changedVariables(env: WorkloadSpec["env"], changes: WorkloadChanges["env"] = {}): WorkloadChanges["env"] {
  const own = Object.entries(changes).filter(
    ([name, value]) => (Object.hasOwn(env, name) ? env[name] : null) !== value,
  );
  return own.length === 0 ? undefined : Object.fromEntries(own);
}

export interface SpecDifference {
  readonly changes: WorkloadChanges;
  /** Differing fields that cannot change in place. */
  readonly fixed: readonly string[];
}

/** The difference between a workload's spec and the spec of a document for the same workload. */
export function specDifference(known: WorkloadSpec, wanted: WorkloadSpec): SpecDifference {
  const changes: Record<string, unknown> = {};
  for (const field of CHANGEABLE_FIELDS) {
    if (field === "replicaCount" || (known.kind !== "serve" && REVISION_ONLY.has(field))) continue;
    const value = field === "env" ? envDifference(known.env, wanted.env) : changeableValue(wanted, field);
    if (canonicalJson(value) !== canonicalJson(field === "env" ? {} : changeableValue(known, field)))
      changes[field] = value;
  }
  return { changes, fixed: fixedDifferences(known, wanted) };
}

function envDifference(known: WorkloadSpec["env"], wanted: WorkloadSpec["env"]): NonNullable<WorkloadChanges["env"]> {
  const removed = Object.keys(known).filter((name) => !Object.hasOwn(wanted, name));
  const own = Object.entries(wanted).filter(([name, value]) => !Object.hasOwn(known, name) || known[name] !== value);
  return Object.fromEntries([...removed.map((name) => [name, null] as const), ...own]);
}

/** Fields that change in place in an endpoint alone, by a rollout. */
const REVISION_ONLY: ReadonlySet<string> = new Set([
  "run",
  "dir",
  "ready",
  "servedModel",
  "rollout",
  "overflow",
  "budget",
]);

/** The changes of a revision among changes of an endpoint; `null`: there are none. */
export function revisionChangesIn(spec: WorkloadSpec, changes: WorkloadChanges): RevisionChanges | null {
  if (spec.kind !== "serve") return null;
  const { run, dir, ready, servedModel, env } = changes;
  const own = {
    ...(run === undefined ? {} : { run }),
    ...(dir === undefined ? {} : { dir }),
    ...(ready === undefined ? {} : { ready }),
    ...(servedModel === undefined ? {} : { servedModel }),
    ...(env === undefined ? {} : { env: changedEnv(spec.env, env) }),
  };
  return Object.keys(own).length === 0 ? null : own;
}

/** The changes without those of a revision. */
export function plainChangesIn(spec: WorkloadSpec, changes: WorkloadChanges): WorkloadChanges {
  if (spec.kind !== "serve") return changes;
  const { run: _run, dir: _dir, ready: _ready, servedModel: _model, env: _env, ...plain } = changes;
  return plain;
}

/** Fields of the gang that changes in place cover, and the curve, which is derived at the submission. */
const COVERED_IN_GANG: ReadonlySet<string> = new Set(["workers", "minWorkers", "throughputMilli"]);

function fixedDifferences(known: WorkloadSpec, wanted: WorkloadSpec): readonly string[] {
  const covered = (field: string): boolean =>
    field === "gang" || (Object.hasOwn(FIELDS, field) && (known.kind === "serve" || !REVISION_ONLY.has(field)));
  return [
    ...differingKeys(known, wanted).filter((field) => !covered(field)),
    ...differingKeys(known.gang, wanted.gang)
      .filter((field) => !COVERED_IN_GANG.has(field))
      .map((field) => `gang.${field}`),
  ];
}

function differingKeys(known: object, wanted: object): readonly string[] {
  const left = known as Readonly<Record<string, unknown>>;
  const right = wanted as Readonly<Record<string, unknown>>;
  const text = (value: unknown): string => canonicalJson(value ?? null);
  return [...new Set([...Object.keys(left), ...Object.keys(right)])]
    .filter((key) => text(left[key]) !== text(right[key]))
    .toSorted();
}
