/**
 * Records of `scontrol show job` and `scontrol show node`, in several lines or (with `-o`) in one. Users choose some values, such as the
 * name of a job, so a record in which a key that is read stands twice with different values is not read.
 */
import { jobRow, nodeRows, type Cell, type Field, type ReadRow } from "./job-fields.ts";
import { gpuTypes } from "./gpu-counts.ts";
import { isAbsent, Unreadable, type NodeHardware } from "./rows.ts";
import { utf8Text } from "./text.ts";
import type { Zone } from "./times.ts";

/** Keys of jobs. Before 23.02, `TRES` is what is allocated, or else requested. */
const jobKeys: ReadonlyMap<string, Field> = new Map([
  ["JobId", "jobId"],
  ["ArrayJobId", "arrayJobId"],
  ["ArrayTaskId", "arrayTask"],
  ["HetJobId", "hetJobId"],
  ["HetJobOffset", "hetOffset"],
  ["PackJobId", "hetJobId"],
  ["PackJobOffset", "hetOffset"],
  ["JobState", "state"],
  ["SubmitTime", "submit"],
  ["StartTime", "start"],
  ["EndTime", "end"],
  ["ExitCode", "exitCode"],
  ["AllocTRES", "allocTres"],
  ["TRES", "allocTres"],
  // `Tres`, `Name` and `NodeCnt` are those of jobcomp/filetxt.
  ["Tres", "allocTres"],
  ["Account", "account"],
  ["UserId", "user"],
  ["JobName", "jobName"],
  ["Name", "jobName"],
  ["TimeLimit", "timeLimit"],
  ["NodeCnt", "nodeCount"],
  ["ReqTRES", "reqTres"],
  ["TresPerJob", "gpusPerJob"],
  ["TresPerNode", "gpusPerNode"],
  ["TresPerTask", "gpusPerTask"],
  ["NumNodes", "nodeCount"],
  ["NumTasks", "taskCount"],
]);
const nodeKeys: ReadonlyMap<string, Field> = new Map([
  ["NodeName", "nodeName"],
  ["State", "state"],
  ["Gres", "gres"],
  ["CfgTRES", "cfgTres"],
]);

/** The first key of a record, and whether its records are read. */
const recordStart = /^(JobId|NodeName|StepId|PartitionName|ReservationName|FrontendName|BurstBuffer|LicenseName)=/;

export type RecordKind = "job" | "node" | "step" | "other";

export function recordKind(line: string): RecordKind | null {
  const key = recordStart.exec(line)?.[1];
  if (key === undefined) return null;
  return key === "JobId" ? "job" : key === "NodeName" ? "node" : key === "StepId" ? "step" : "other";
}

/** Reads the lines of a record. */
export function readRecord(kind: "job" | "node", lines: readonly string[], zone: Zone): ReadRow {
  const fields = fieldsOf(lines, kind === "job" ? jobKeys : nodeKeys);
  if (kind === "job") return jobRow(fields, zone);
  const reason = reasonOf(lines);
  if (reason !== null) fields.set("reason", { column: "Reason", text: utf8Text(reason), isCut: false });
  return withHardware(nodeRows(fields), lines, fields.get("gres"));
}

function withHardware(read: ReadRow, lines: readonly string[], gres: Cell | undefined): ReadRow {
  if (read.kind !== "nodes") return read;
  const text = lines.join("\n");
  const hardware: NodeHardware = {
    cpus: countOf(text, "CPUTot"),
    memoryMib: countOf(text, "RealMemory"),
    gpuTypes: gres === undefined ? [] : gpuTypes(gres),
    partitions: listOf(text, "Partitions"),
    features: listOf(text, "ActiveFeatures"),
  };
  return { kind: "nodes", rows: read.rows.map((row) => ({ ...row, hardware })) };
}

/** The first value of a key: a reason, which users write, stands at the end of the record. */
function valueOf(text: string, key: string): string | null {
  const value = new RegExp(`(?:^|\\s)${key}=(\\S*)`).exec(text)?.[1] ?? null;
  return value === null || isAbsent(value) ? null : utf8Text(value);
}

function countOf(text: string, key: string): number | null {
  const value = valueOf(text, key);
  return value !== null && /^\d{1,12}$/.test(value) ? Number(value) : null;
}

const listOf = (text: string, key: string): readonly string[] =>
  (valueOf(text, key) ?? "").split(",").filter((name) => name !== "");

function fieldsOf(lines: readonly string[], keys: ReadonlyMap<string, Field>): Map<Field, Cell> {
  const fields = new Map<Field, Cell>();
  for (const line of lines) {
    for (const [, column = "", value = ""] of line.matchAll(/(?:^|\s)([A-Z][A-Za-z]*)=(\S*)/g)) {
      const field = keys.get(column);
      if (field === undefined) continue;
      const before = fields.get(field);
      if (before !== undefined && before.text !== value) {
        throw new Unreadable(`${column} stands twice in the record, with ${before.text} and ${value}`);
      }
      fields.set(field, { column, text: utf8Text(value), isCut: false });
    }
  }
  return fields;
}

/** A drain reason goes to the end of the record, except a comment, and may have several lines. */
function reasonOf(lines: readonly string[]): string | null {
  const text = lines.join("\n");
  const start = /(?:^|\s)Reason=/.exec(text);
  if (start === null) return null;
  const rest = text.slice(start.index + start[0].length);
  const end = /\s+(?:Comment|Extra|ResumeAfterTime|InstanceId|InstanceType)=/.exec(rest);
  return (end === null ? rest : rest.slice(0, end.index)).trim();
}
