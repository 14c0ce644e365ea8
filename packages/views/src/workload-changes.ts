/** Changes of a workload in place: the request as the engine's changes, and each field before and after, as text. */
import { changedSpec, effectiveChanges, presentValue, CHANGEABLE_FIELDS } from "@headroom/model";
import type { AfterSpec, ChangeableField, Workload, WorkloadChanges } from "@headroom/model";
import { refuse, submittedSpec, writeInstant } from "@headroom/protocol";
import type { FieldChange, ProblemError, WorkloadChangesBody } from "@headroom/protocol";
import { durationText } from "./plain-text.ts";
import { specResource } from "./wire-forms.ts";

/** The requested changes with complete values: fields of `retries` that are left out stay as they are. */
export function engineChanges({ spec }: Pick<Workload, "spec">, body: WorkloadChangesBody): WorkloadChanges {
  const { retries, after, ...plain } = body;
  return JSON.parse(
    JSON.stringify({
      ...plain,
      ...(retries === undefined ? {} : { retries: { ...spec.retries, ...retries } }),
      ...(after === undefined ? {} : { after: after ?? [] }),
    }),
  ) as WorkloadChanges;
}

/**
 * The refusal of changes whose spec would break a rule between fields, or `null`. Rules that the present spec breaks,
 * because it was accepted before they existed, are not reported.
 */
export function changesRefusal({ spec }: Pick<Workload, "spec">, changes: WorkloadChanges): ProblemError | null {
  // The engine refuses fields of another kind of workload with a sentence of its own.
  const { taskCount, replicas, scale, rollout, overflow, budget, run, dir, ready, servedModel, ...common } = changes;
  const own = {
    ...common,
    ...(spec.kind === "batch" && taskCount !== undefined ? { taskCount } : {}),
    ...(spec.kind === "serve" && replicas !== undefined ? { replicas } : {}),
    ...(spec.kind === "serve" && scale !== undefined ? { scale } : {}),
    ...(spec.kind === "serve" ? definedOnly({ rollout, overflow, budget, run, dir, ready, servedModel }) : {}),
  };
  const before = new Set(specIssues(specResource(spec)).map(({ message }) => message));
  const errors = specIssues(specResource(changedSpec(spec, own))).filter(({ message }) => !before.has(message));
  if (errors.length === 0) return null;
  const detail = errors.map(({ pointer, message }) => `${pointer}: ${message}`).join("; ");
  return refuse("invalidRequest", `The changes do not fit the workload. ${detail}.`, { errors });
}

const definedOnly = (fields: {
  readonly [Field in keyof WorkloadChanges]?: WorkloadChanges[Field] | undefined;
}): WorkloadChanges => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const specIssues = (spec: unknown): readonly { readonly pointer: string; readonly message: string }[] =>
  (submittedSpec.safeParse(spec).error?.issues ?? []).map(({ path, message }) => ({
    pointer: `/${path.join("/")}`,
    message,
  }));

/** Every field that changes, before and after. Values of environment variables stay out: they may be secrets. */
export function fieldChanges(
  workload: Pick<Workload, "spec" | "held" | "scale">,
  wanted: WorkloadChanges,
): FieldChange[] {
  const { spec } = workload;
  const changes = effectiveChanges(workload, wanted) ?? {};
  return CHANGEABLE_FIELDS.filter((field) => changes[field] !== undefined).flatMap((field) => {
    if (field === "env") return envChanges(spec.env, changes.env ?? {});
    const before = presentValue(workload, field);
    return [{ field: nameOf(field), before: valueText(field, before), after: valueText(field, changes[field]) }];
  });
}

const envChanges = (env: Workload["spec"]["env"], changes: NonNullable<WorkloadChanges["env"]>): FieldChange[] =>
  Object.entries(changes).map(([name, value]) => ({
    field: `env.${name}`,
    before: Object.hasOwn(env, name) ? "set" : null,
    after: value === null ? null : "set",
  }));

/** The name of a field in workload files and `headroom set`. */
const nameOf = (field: ChangeableField): string => names[field] ?? field.replace(/Ms$/, "");

const names: { readonly [Field in ChangeableField]?: string } = { taskCount: "tasks", replicaCount: "replicas" };

function valueText(field: ChangeableField, value: unknown): string | null {
  if (value === null || value === undefined) return field === "walltimeMs" ? "unlimited" : null;
  if (field === "walltimeMs") return durationText(value as number);
  if (field === "notBeforeMs") return writeInstant(value as number);
  if (field === "replicas") {
    const { min, max } = value as { readonly min: number; readonly max: number };
    return `${min} to ${max}`;
  }
  if (field === "after") return (value as readonly AfterSpec[]).map(afterText).join(", ") || null;
  if (field === "retries") {
    const { max, backoffMs, backoffMaxMs } = value as Workload["spec"]["retries"];
    return `${max}, after ${durationText(backoffMs)} to ${durationText(backoffMaxMs)}`;
  }
  if (field === "notify") {
    const { to, on } = value as NonNullable<Workload["spec"]["notify"]>;
    return `${to.join(", ")} (${on.join(", ")})`;
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

const afterText = (each: AfterSpec): string =>
  "artifact" in each
    ? `${each.workload === undefined ? "" : `${each.workload} `}artifact ${each.artifact}`
    : `${each.workload}:${each.on}`;

/** `priority 100, walltime 2h`, for sentences about the recorded event. */
export function changesText(changes: object): string {
  const known = changes as WorkloadChanges;
  const parts = CHANGEABLE_FIELDS.filter((field) => known[field] !== undefined).flatMap((field) =>
    field === "env"
      ? Object.entries(known.env ?? {}).map(([name, value]) => `env.${name} ${value === null ? "removed" : "set"}`)
      : [`${nameOf(field)} ${valueText(field, known[field]) ?? "none"}`],
  );
  return parts.join(", ");
}
