/** The headers that sacct, squeue and sinfo print, and the fields that they stand for. */
import type { Field } from "./job-fields.ts";

export type TableKind = "jobs" | "nodes" | "steps";

/** Headers of jobs without case and punctuation: sacct prints field names, squeue titles. */
const jobHeaders: ReadonlyMap<string, Field> = new Map([
  ["jobid", "jobId"],
  ["jobidraw", "rawJobId"],
  ["arrayjobid", "arrayJobId"],
  ["arraytaskid", "arrayTask"],
  ["hetjobid", "hetJobId"],
  ["hetjoboffset", "hetOffset"],
  ["state", "state"],
  ["st", "state"],
  ["submit", "submit"],
  ["submittime", "submit"],
  ["start", "start"],
  ["starttime", "start"],
  ["end", "end"],
  ["endtime", "end"],
  ["exitcode", "exitCode"],
  ["account", "account"],
  ["user", "user"],
  ["jobname", "jobName"],
  ["timelimit", "timeLimit"],
  ["alloctres", "allocTres"],
  ["tresalloc", "allocTres"],
  ["reqtres", "reqTres"],
  ["allocgres", "allocGres"],
  ["tresperjob", "gpusPerJob"],
  ["trespernode", "gpusPerNode"],
  ["gres", "gpusPerNode"],
  ["trespertask", "gpusPerTask"],
  ["nodes", "nodeCount"],
  ["nnodes", "nodeCount"],
  ["ntasks", "taskCount"],
  ["tasks", "taskCount"],
]);

const nodeHeaders: ReadonlyMap<string, Field> = new Map([
  ["nodelist", "nodeName"],
  ["hostnames", "nodeName"],
  ["nodehost", "nodeName"],
  ["nodename", "nodeName"],
  ["state", "state"],
  ["statelong", "state"],
  ["statecompact", "state"],
  ["statecomplete", "state"],
  ["reason", "reason"],
  ["gres", "gres"],
]);

/** Headers whose presence, beside a name of nodes, shows that a line is the header of sinfo. */
const sinfoHeaders: ReadonlySet<string> = new Set([
  "statecomplete",
  "state",
  "reason",
  "gres",
  "partition",
  "avail",
  "timelimit",
  "nodesaiot",
  "cpus",
  "timestamp",
]);

/** Headers of columns whose values contain spaces. */
const spacedHeaders: ReadonlySet<string> = new Set([
  "name",
  "jobname",
  "comment",
  "admincomment",
  "systemcomment",
  "reason",
  "workdir",
  "command",
  "submitline",
]);

export interface Columns {
  readonly kind: TableKind;
  /** The field of each column; undefined: not read. */
  readonly fields: readonly (Field | undefined)[];
  readonly titles: readonly string[];
  /** Columns whose text may contain the delimiter or spaces. */
  readonly free: readonly number[];
  /** The only column whose values contain spaces, -1: none, -2: several. */
  readonly spaced: number;
}

/** Null: the titles are no header of a table that is read. */
export function columnsOf(titles: readonly string[]): Columns | null {
  const names = titles.map((title) => title.toLowerCase().replaceAll(/[^a-z0-9]/g, ""));
  const kind = kindOf(names);
  if (kind === null) return null;
  const headers = kind === "nodes" ? nodeHeaders : jobHeaders;
  const fields = names.map((name) => headers.get(name));
  const repeated = withoutRepeats(fields);
  const free = names.flatMap((_, index) => {
    const field = repeated[index];
    return field === undefined || field === "reason" || field === "jobName" ? [index] : [];
  });
  const spacedColumns = names.flatMap((name, index) => (spacedHeaders.has(name) ? [index] : []));
  return {
    kind,
    fields: repeated,
    titles,
    free,
    spaced: spacedColumns.length > 1 ? -2 : (spacedColumns[0] ?? -1),
  };
}

function kindOf(names: readonly string[]): TableKind | null {
  if (names.includes("stepid")) return "steps";
  if (names.includes("jobid") || names.includes("jobidraw")) return names.length > 1 ? "jobs" : null;
  const isNamed = names.some((name) => nodeHeaders.get(name) === "nodeName");
  return isNamed && names.some((name) => sinfoHeaders.has(name)) ? "nodes" : null;
}

/** `squeue -o "%i %A"` and `"%A %i"` print JOBID twice: with array and task, and as a number. The first of another field is read. */
function withoutRepeats(fields: readonly (Field | undefined)[]): readonly (Field | undefined)[] {
  return fields.map((field, index) => {
    if (field === undefined || fields.indexOf(field) === index) return field;
    return field === "jobId" && fields.indexOf(field, fields.indexOf(field) + 1) === index ? "otherJobId" : undefined;
  });
}
