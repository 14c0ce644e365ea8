/** `headroom set`: assignments like `walltime=2h` as changes of a workload. Values are written as in a workload file. */
import { parse } from "yaml";
import { pathText, readDocument, workloadChanges } from "@headroom/protocol";
import type { WorkloadChangesBody, WorkloadSpec } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import { dependency } from "./run-document.ts";

/** Values that remove a value: no limit, no dependency, no earliest start. */
const isNone = (text: string): boolean => text === "" || text === "none";

interface Assignable {
  /** The field of a workload file that the value is read as; absent: the value is read by `changeOf` alone. */
  readonly field?: string;
  readonly mayBeNone?: true;
  readonly help: string;
  changeOf(value: { readonly text: string; readonly spec: WorkloadSpec }): Record<string, unknown>;
}

const whole = (text: string): number | string => (/^\d{1,9}$/.test(text) ? Number(text) : text);
const retry = (of: keyof WorkloadSpec["retries"], field: string, help: string): Assignable => ({
  field,
  help,
  changeOf: ({ spec }) => ({ retries: { [of]: spec.retries[of] } }),
});
const workers: Assignable = {
  help: "number of workers, or the maximum of an elastic gang",
  changeOf: ({ text }) => ({ workers: whole(text) }),
};

const assignables: Readonly<Record<string, Assignable>> = {
  name: { field: "name", help: "another name", changeOf: ({ spec }) => ({ name: spec.name }) },
  priority: {
    field: "priority",
    help: "low, normal, high or a whole number",
    changeOf: ({ spec }) => ({ priority: spec.priority }),
  },
  walltime: {
    field: "walltime",
    mayBeNone: true,
    help: "longest run time, like 12h; none: unlimited",
    changeOf: ({ spec }) => ({ walltimeMs: spec.walltimeMs }),
  },
  workers,
  "gang.workers": workers,
  minWorkers: {
    help: "minimum of an elastic gang; none: not elastic",
    changeOf: ({ text }) => ({ minWorkers: isNone(text) ? null : whole(text) }),
  },
  tasks: {
    help: "number of tasks of an array, which only grows",
    changeOf: ({ text }) => ({ taskCount: whole(text) }),
  },
  replicas: {
    help: "number of replicas of an endpoint, within its bounds",
    changeOf: ({ text }) => ({ replicaCount: whole(text) }),
  },
  hold: {
    help: "true or false",
    changeOf: ({ text }) => ({
      hold: text === "true" || text === "yes" ? true : text === "false" || text === "no" ? false : text,
    }),
  },
  after: {
    help: "dependencies in place of the present ones, like prepare,evaluate:any; none",
    changeOf: ({ text, spec }) => ({ after: isNone(text) ? null : (spec.after ?? null) }),
    field: "after",
    mayBeNone: true,
  },
  notBefore: {
    field: "notBefore",
    mayBeNone: true,
    help: "earliest start, like 2026-12-01T08:00Z; none",
    changeOf: ({ spec }) => ({ notBeforeMs: spec.notBeforeMs ?? null }),
  },
  notify: {
    field: "notify",
    mayBeNone: true,
    help: "channel, like team-chat or team-chat:start,end; none",
    changeOf: ({ spec }) => ({ notify: spec.notify ?? null }),
  },
  retries: retry("max", "retries.max", "number of retries after failures"),
  "retries.max": retry("max", "retries.max", "number of retries after failures"),
  "retries.backoff": retry("backoffMs", "retries.backoff", "wait before the first retry, like 10s"),
  "retries.maxBackoff": retry("backoffMaxMs", "retries.maxBackoff", "longest wait before a retry"),
};

/** Aliases of Slurm and Kubernetes. */
const meant: Readonly<Record<string, string>> = {
  time: "walltime",
  timelimit: "walltime",
  dependency: "after",
  begin: "notBefore",
  starttime: "notBefore",
  jobname: "name",
  nodes: "workers",
  scale: "replicas",
  array: "tasks",
  numnodes: "workers",
  requeue: "retries",
};

/** The changes that the assignments state. Throws a usage error that names the first invalid assignment. */
export function changesOf(assignments: readonly string[]): WorkloadChangesBody {
  const changes: Record<string, unknown> = {};
  for (const assignment of assignments) {
    const own = changeOf(assignment);
    for (const [field, value] of Object.entries(own)) {
      const before = changes[field];
      const merges = typeof value === "object" && value !== null && !Array.isArray(value);
      changes[field] = merges ? { ...(before as object | undefined), ...value } : value;
    }
  }
  const parsed = workloadChanges.safeParse(changes);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new CliError(`${pathText(issue?.path.map(String) ?? [])}: ${issue?.message ?? "is not valid"}`, exitCode.usage);
}

function changeOf(assignment: string): Record<string, unknown> {
  if (/^env\.[^=]+-$/.test(assignment)) return { env: { [assignment.slice(4, -1)]: null } };
  const at = assignment.indexOf("=");
  if (at <= 0) throw new CliError(`${assignment}: write FIELD=VALUE, like walltime=2h`, exitCode.usage);
  const name = assignment.slice(0, at);
  const text = assignment.slice(at + 1);
  if (name.startsWith("env.")) return { env: { [name.slice(4)]: text } };
  const known = Object.hasOwn(assignables, name) ? assignables[name] : undefined;
  if (known === undefined) throw unknownField(name);
  const isRead = known.field !== undefined && !(known.mayBeNone === true && isNone(text));
  return known.changeOf({ text, spec: isRead ? readAs(known.field ?? "", text) : emptySpec() });
}

function unknownField(name: string): CliError {
  const alias = meant[name.toLowerCase()];
  const all = Object.keys(assignables).filter((each) => !each.startsWith("gang."));
  const hint = alias === undefined ? `these change in place: ${all.join(", ")}, env.NAME` : `did you mean ${alias}?`;
  return new CliError(`${name} does not change in place; ${hint}. Other fields need a new workload.`, exitCode.usage);
}

const NO_VALUES = { kind: "train", name: "x", run: "x" } as const;
const emptySpec = (): WorkloadSpec => specOf({});

/** Reads the value by the rules of a workload file: a document that states only this field. */
function readAs(field: string, text: string): WorkloadSpec {
  const value: unknown =
    field === "after" ? text.split(",").map(dependency) : field === "name" ? text : (parse(text) as unknown);
  const [outer = "", inner] = field.split(".");
  return specOf(inner === undefined ? { [outer]: value } : { [outer]: { [inner]: value } });
}

function specOf(stated: Readonly<Record<string, unknown>>): WorkloadSpec {
  const reading = readDocument({ ...NO_VALUES, ...stated });
  if (reading.ok && reading.document.kind === "workload") return reading.document.spec;
  const [problem] = reading.ok ? [] : reading.problems;
  throw new CliError(
    problem === undefined ? "the value is not valid" : `${pathText(problem.path)}: ${problem.message}`,
    exitCode.usage,
  );
}
