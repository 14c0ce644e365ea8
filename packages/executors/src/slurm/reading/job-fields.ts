/** Builds jobs and nodes from the fields of a table's row or of a record of scontrol. */
import { genericGpus, trackedGpus, type ResourceText } from "./gpu-counts.ts";
import { hostNames } from "./host-list.ts";
import { arrayTaskOf, jobName, type JobName } from "./job-ids.ts";
import { isAbsent, quoted, Unreadable, type JobRow, type NodeRow } from "./rows.ts";
import { isEnded, isPending, jobState, nodeReason, nodeState } from "./states.ts";
import { readTime, type ReadTime, type Zone } from "./times.ts";

export type Field =
  | "jobId"
  | "rawJobId"
  | "otherJobId"
  | "arrayJobId"
  | "arrayTask"
  | "hetJobId"
  | "hetOffset"
  | "state"
  | "submit"
  | "start"
  | "end"
  | "exitCode"
  | "account"
  | "user"
  | "jobName"
  | "timeLimit"
  | "allocTres"
  | "reqTres"
  | "allocGres"
  | "gpusPerJob"
  | "gpusPerNode"
  | "gpusPerTask"
  | "nodeCount"
  | "taskCount"
  | "nodeName"
  | "reason"
  | "gres"
  | "cfgTres";

/** The text of a field, with the column's name for messages. */
export type Cell = ResourceText;
export type Fields = ReadonlyMap<Field, Cell>;

export type ReadRow =
  | { readonly kind: "job"; readonly row: JobRow; readonly problems: readonly string[] }
  | { readonly kind: "nodes"; readonly rows: readonly NodeRow[] }
  | { readonly kind: "step" };

/** Throws `Unreadable` if a field that is present cannot be read. */
export function jobRow(fields: Fields, zone: Zone): ReadRow {
  const name = nameOf(fields);
  if (name.kind === "step") return name;
  const stateCell = fields.get("state");
  if (stateCell === undefined) throw new Unreadable("there is no state of the job");
  const state = jobState(stateCell.column, stateCell.text);
  const problems: string[] = [];
  const time = (field: "submit" | "start" | "end"): string | null => {
    const cell = fields.get(field);
    const read: ReadTime = cell === undefined ? { iso: null } : readTime(cell.column, cell.text, zone);
    if (read.problem !== undefined) problems.push(read.problem);
    return read.iso;
  };
  const [submit, start, end] = [time("submit"), time("start"), time("end")];
  const estimated = estimatedFields(state, start, end);
  const row: JobRow = {
    id: name.id,
    array_task: name.arrayTask,
    state,
    submit,
    start,
    end,
    gpus: jobGpus(fields),
    exit_code: exitCode(fields.get("exitCode")),
    ...(estimated.length === 0 ? {} : { estimated }),
    ...chargeOf(fields),
  };
  return { kind: "job", row, problems };
}

function chargeOf(fields: Fields): Pick<JobRow, "charge"> {
  const limit = fields.get("timeLimit");
  const text = (field: Field): string | null => {
    const cell = fields.get(field);
    return cell === undefined || cell.isCut || isAbsent(cell.text) ? null : cell.text;
  };
  // Records have the number of the user too: `alice(1001)`.
  const user = text("user")?.replace(/\(\d+\)$/, "") ?? null;
  const [account, name] = [text("account"), text("jobName")];
  if (limit === undefined && account === null && user === null && name === null) return {};
  return { charge: { account, limitS: limit === undefined ? null : secondsOfLimit(limit.text), user, name } };
}

/** `days-hours:minutes:seconds` and its shorter forms; `null` for other texts, such as `UNLIMITED`. */
function secondsOfLimit(text: string): number | null {
  const match = /^(?:(\d{1,5})-)?(?:(?:(\d{1,5}):)?(\d{1,5}):)(\d\d)$/.exec(text);
  if (match === null) return null;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(1).map((part) => Number(part ?? 0));
  return days * 86_400 + hours * 3_600 + minutes * 60 + seconds;
}

export function estimatedFields(state: string, start: string | null, end: string | null): readonly ("start" | "end")[] {
  return [
    ...(start !== null && isPending(state) ? (["start"] as const) : []),
    ...(end !== null && !isEnded(state) ? (["end"] as const) : []),
  ];
}

function nameOf(fields: Fields): JobName {
  const other = fields.get("otherJobId");
  const isFuller = other !== undefined && /[_+]/.test(other.text);
  const shown = isFuller ? other : (fields.get("jobId") ?? fields.get("rawJobId"));
  if (shown === undefined) throw new Unreadable("there is no id of a job");
  const name = jobName(shown.column, shown.text, shown.isCut);
  if (name.kind === "step" || name.arrayTask !== null || name.id.includes("+")) return name;
  const text = (field: Field): string | null => {
    const cell = fields.get(field);
    return cell === undefined || isAbsent(cell.text) || cell.isCut ? null : cell.text.replaceAll(/[[\]]/g, "");
  };
  const task = text("arrayTask");
  if (task !== null && /^[\d,:%.-]+$/.test(task)) {
    return { kind: "job", id: text("arrayJobId") ?? name.id, arrayTask: arrayTaskOf(task) };
  }
  const [leader, offset] = [text("hetJobId"), text("hetOffset")];
  if (leader !== null && offset !== null && leader !== "0") return { ...name, id: `${leader}+${offset}` };
  return name;
}

function exitCode(cell: Cell | undefined): string | null {
  if (cell === undefined || isAbsent(cell.text)) return null;
  if (/^\d{1,3}:\d{1,3}$/.test(cell.text)) return cell.text;
  throw new Unreadable(`${cell.column}: expected code:signal, got ${quoted(cell.text)}`);
}

function jobGpus(fields: Fields): number | null {
  let tracked: number | null | undefined;
  for (const field of ["allocTres", "reqTres"] as const) {
    const cell = fields.get(field);
    if (cell === undefined) continue;
    if (isAbsent(cell.text)) {
      tracked ??= 0;
      continue;
    }
    tracked = trackedGpus(cell);
    break;
  }
  if (tracked !== undefined && tracked !== 0) return tracked;
  // A cluster that does not track gres/gpu still has the requests for GPUs.
  const requested = requestedGpus(fields);
  if (requested !== undefined && requested !== 0) return requested;
  return tracked ?? requested ?? null;
}

/** GPUs by the texts of requests; undefined: the row has none of them; null: the count does not follow from them. */
function requestedGpus(fields: Fields): number | null | undefined {
  const total = fields.get("allocGres") ?? fields.get("gpusPerJob");
  if (total !== undefined && !isAbsent(total.text)) return genericGpus(total);
  const perNode = multiplied(fields, "gpusPerNode", "nodeCount");
  if (perNode !== undefined && perNode !== 0) return perNode;
  const perTask = multiplied(fields, "gpusPerTask", "taskCount");
  if (perTask !== undefined && perTask !== 0) return perTask;
  return perNode ?? perTask ?? (total === undefined ? undefined : 0);
}

function multiplied(fields: Fields, each: Field, count: Field): number | null | undefined {
  const cell = fields.get(each);
  if (cell === undefined) return undefined;
  const gpus = genericGpus(cell);
  if (gpus === null || gpus === 0) return gpus;
  const factor = /^(\d{1,6})(?:-\d{1,6})?$/.exec(fields.get(count)?.text ?? "");
  return factor === null ? null : gpus * Number(factor[1]);
}

/** One node for each name in the row. Throws `Unreadable` if a field that is present cannot be read. */
export function nodeRows(fields: Fields): ReadRow {
  const name = fields.get("nodeName");
  if (name === undefined) throw new Unreadable("there is no name of a node: print NODELIST, such as sinfo -N");
  if (name.isCut) throw new Unreadable(`${name.column}: ${quoted(name.text)} may be cut off; print the column wider`);
  const state = fields.get("state");
  const { state: word, flags } = state === undefined ? { state: null, flags: [] } : nodeState(state.column, state.text);
  const reason = fields.get("reason");
  const gpus = nodeGpus(fields);
  // A partition without nodes has a row with the state n/a and without names.
  const names = isAbsent(name.text) && word === null ? [] : hostNames(name.text);
  const rows = names.map((each) => ({
    name: each,
    state: word,
    reason: reason === undefined ? null : nodeReason(reason.text),
    gpus,
    ...(flags.length === 0 ? {} : { flags }),
  }));
  if (rows.length === 0 && word !== null) throw new Unreadable("there is no name of a node");
  return { kind: "nodes", rows };
}

function nodeGpus(fields: Fields): number | null {
  const gres = fields.get("gres");
  const cfgTres = fields.get("cfgTres");
  const count = gres === undefined ? null : genericGpus(gres);
  if (count !== null && count !== 0) return count;
  return (cfgTres === undefined || isAbsent(cfgTres.text) ? null : trackedGpus(cfgTres)) ?? count;
}
