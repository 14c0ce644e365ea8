/**
 * Jobs and nodes in the JSON forms of sacct, squeue, sinfo, scontrol and slurmrestd. The forms differ by version: states are words
 * (21.08, 22.05) or lists (23.02 on), and numbers are plain or `{set, infinite, number}`.
 */
import { genericGpus, gpuTypes, isCount, trackedGpus } from "./gpu-counts.ts";
import { hostNames } from "./host-list.ts";
import { arrayTaskOf } from "./job-ids.ts";
import { estimatedFields, type ReadRow } from "./job-fields.ts";
import { isAbsent, Unreadable, type JobRow, type NodeHardware, type NodeRow } from "./rows.ts";
import { isEnded, jobState, jobStateOfList, nodeReason, nodeState } from "./states.ts";
import { secondsText } from "./times.ts";

/** Throws `Unreadable` if the element is neither a job nor nodes, or has values that cannot be read. */
export function readElement(list: string, text: string): ReadRow {
  const value = parsed(text);
  if (list === "jobs" || (list === "items" && at(value, "job_id") !== undefined)) return jobOf(value);
  return list === "sinfo" || at(value, "nodes", "nodes") !== undefined ? sinfoRow(value) : nodeOf(value);
}

/** The message of an element of `errors`. */
export function errorText(text: string): string {
  const value = parsed(text);
  const parts = [textOf(value, "error"), textOf(value, "description"), textOf(value, "source")];
  const message = parts.filter((part) => part !== null && part !== "").join(": ");
  return message === "" ? "an error without a description" : message;
}

/** Numbers that Slurm's JSON library writes and JSON does not have, and texts, in which these words mean nothing. */
const textOrNoNumber = /"(?:[^"\\]|\\[^])*"|-?\b(?:NaN|Infinity|nan|inf)\b/g;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // A part of the record that is not read may have such a number.
  }
  try {
    return JSON.parse(text.replaceAll(textOrNoNumber, (found) => (found.startsWith('"') ? found : "null"))) as unknown;
  } catch (error) {
    throw new Unreadable(`the record is no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** The value of an object's own key; names such as `__proto__` in the input reach no prototype. */
function at(value: unknown, ...keys: readonly string[]): unknown {
  let found = value;
  for (const key of keys) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[key];
  }
  return found;
}

function textOf(value: unknown, ...keys: readonly string[]): string | null {
  const found = at(value, ...keys);
  return typeof found === "string" ? found : null;
}

/** Null: absent, unset or infinite. */
function numberOf(value: unknown, ...keys: readonly string[]): number | null {
  const found = at(value, ...keys);
  if (typeof found === "number") return Number.isFinite(found) ? found : null;
  if (typeof found === "string") return /^\d{1,15}$/.test(found) ? Number(found) : null;
  if (at(found, "set") !== true || at(found, "infinite") === true) return null;
  const number = at(found, "number");
  return typeof number === "number" && Number.isFinite(number) ? number : null;
}

function wordsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function jobOf(job: unknown): ReadRow {
  const rawId = numberOf(job, "job_id");
  if (rawId === null || !Number.isSafeInteger(rawId) || rawId < 1)
    throw new Unreadable("job_id: there is no id of a job");
  // sacct has `state.current` and groups; squeue, scontrol and slurmrestd have a flat record.
  const isAccounting = at(job, "job_state") === undefined;
  const words = wordsOf(isAccounting ? (at(job, "state", "current") ?? at(job, "state")) : at(job, "job_state"));
  const state = words.length === 1 ? jobState("state", words[0] ?? "") : jobStateOfList("state", words);
  const [submit, start, end] = isAccounting
    ? [timeOf(job, "time", "submission"), timeOf(job, "time", "start"), timeOf(job, "time", "end")]
    : [timeOf(job, "submit_time"), timeOf(job, "start_time"), flatEnd(job, state)];
  const estimated = estimatedFields(state, start, end);
  return {
    kind: "job",
    row: {
      ...(isAccounting ? accountingName(job, rawId) : flatName(job, rawId)),
      state,
      submit,
      start,
      end,
      gpus: isAccounting ? accountingGpus(job) : flatGpus(job),
      exit_code: exitCode(at(job, "exit_code"), state),
      ...(estimated.length === 0 ? {} : { estimated }),
      ...chargeOf(job, isAccounting),
    },
    problems: [],
  };
}

function chargeOf(job: unknown, isAccounting: boolean): Pick<JobRow, "charge"> {
  const account = textOf(job, "account");
  const minutes = isAccounting ? numberOf(job, "time", "limit") : numberOf(job, "time_limit");
  const [user, name] = [textOf(job, isAccounting ? "user" : "user_name"), textOf(job, "name")];
  if (account === null && minutes === null && user === null && name === null) return {};
  const present = (text: string | null): string | null => (text === "" ? null : text);
  const limitS = minutes === null ? null : minutes * 60;
  return { charge: { account: present(account), limitS, user: present(user), name: present(name) } };
}

function timeOf(job: unknown, ...keys: readonly string[]): string | null {
  return secondsText(numberOf(job, ...keys) ?? 0);
}

/** A job without a time limit has the end of a year's run until it ends; the text forms print none. */
function flatEnd(job: unknown, state: string): string | null {
  const isUnlimited = at(job, "time_limit") !== undefined && numberOf(job, "time_limit") === null;
  return isUnlimited && !isEnded(state) ? null : timeOf(job, "end_time");
}

interface Name {
  readonly id: string;
  readonly array_task: number | string | null;
}

interface NameParts {
  readonly array: number | null;
  readonly task: number | null;
  readonly tasks: string | null;
  readonly leader: number | null;
  readonly offset: number | null;
}

function accountingName(job: unknown, rawId: number): Name {
  return nameOf(rawId, {
    array: numberOf(job, "array", "job_id"),
    task: numberOf(job, "array", "task_id"),
    tasks: textOf(job, "array", "task"),
    leader: numberOf(job, "het", "job_id"),
    offset: numberOf(job, "het", "job_offset"),
  });
}

function flatName(job: unknown, rawId: number): Name {
  return nameOf(rawId, {
    array: numberOf(job, "array_job_id"),
    task: numberOf(job, "array_task_id"),
    tasks: textOf(job, "array_task_string"),
    leader: numberOf(job, "het_job_id"),
    offset: numberOf(job, "het_job_offset"),
  });
}

function nameOf(rawId: number, { array, task, tasks, leader, offset }: NameParts): Name {
  const set = tasks?.replaceAll(/[[\]]/g, "") ?? "";
  if (array !== null && array > 0) {
    if (set !== "") return { id: String(array), array_task: arrayTaskOf(set) };
    return { id: String(array), array_task: task };
  }
  if (leader !== null && leader > 0 && offset !== null) return { id: `${leader}+${offset}`, array_task: null };
  return { id: String(rawId), array_task: null };
}

/** GPUs in a list of `{type, name, count}`: the count without a type, or else the sum of the counts with a type. */
function accountingGpus(job: unknown): number | null {
  for (const kind of ["allocated", "requested"]) {
    const list = at(job, "tres", kind);
    if (!Array.isArray(list) || list.length === 0) continue;
    const entries = list.flatMap((each: unknown) => {
      const name = textOf(each, "name");
      const isGpu = textOf(each, "type") === "gres" && (name === "gpu" || name?.startsWith("gpu:") === true);
      return isGpu ? [{ name, count: numberOf(each, "count") }] : [];
    });
    // -1 and -2 are the numbers of Slurm for "infinite" and "not set" (INFINITE64, NO_VAL64 in slurm.h).
    const counted = entries.flatMap(({ name, count }) => (count !== null && isCount(count) ? [{ name, count }] : []));
    if (counted.length === 0 && entries.length > 0) return null;
    const total = counted.find(({ name }) => name === "gpu");
    return total?.count ?? counted.reduce((sum, { count }) => sum + count, 0);
  }
  return at(job, "tres") === undefined ? null : 0;
}

function flatGpus(job: unknown): number | null {
  const allocated = textOf(job, "tres_alloc_str");
  const requested = textOf(job, "tres_req_str");
  const [column, text] =
    allocated === null || allocated === "" ? ["tres_req_str", requested] : ["tres_alloc_str", allocated];
  const tracked = text === null || text === "" ? null : trackedGpus({ column, text, isCut: false });
  if (tracked !== null && tracked > 0) return tracked;
  const perJob = textOf(job, "tres_per_job");
  const total = perJob === null ? 0 : genericGpus({ column: "tres_per_job", text: perJob, isCut: false });
  if (total !== null && total > 0) return total;
  const perNode = textOf(job, "tres_per_node");
  const each = perNode === null ? 0 : genericGpus({ column: "tres_per_node", text: perNode, isCut: false });
  const nodes = numberOf(job, "node_count");
  if (each !== null && each > 0) return nodes === null ? null : each * nodes;
  return tracked ?? (perNode === null && requested === null && allocated === null ? null : 0);
}

function exitCode(value: unknown, state: string): string | null {
  const plain = typeof value === "number" || at(value, "number") !== undefined ? numberOf({ value }, "value") : null;
  // squeue up to 23.02 has the wait status: the code in the second byte, the signal in the first seven bits.
  if (plain !== null) return `${(plain >> 8) & 255}:${plain & 127}`;
  const words = wordsOf(at(value, "status"));
  if (words.length === 0 || words.includes("PENDING") || words.includes("INVALID")) return null;
  const code = numberOf(value, "return_code");
  const signal = numberOf(value, "signal", "id") ?? numberOf(value, "signal", "signal_id");
  if (code === null && signal === null) return null;
  // sacct 22.05 reports success for jobs whose text form has `FAILED 3:0`.
  if (state === "FAILED" && (code ?? 0) === 0 && (signal ?? 0) === 0) return null;
  return `${code ?? 0}:${signal ?? 0}`;
}

function nodeOf(node: unknown): ReadRow {
  const name = textOf(node, "name");
  if (name === null) throw new Unreadable("name: there is no name of a node");
  const gres = textOf(node, "gres");
  const tres = textOf(node, "tres");
  const count = gres === null ? null : genericGpus({ column: "gres", text: gres, isCut: false });
  const tracked = tres === null || (count ?? 0) > 0 ? null : trackedGpus({ column: "tres", text: tres, isCut: false });
  const words = [...wordsOf(at(node, "state")), ...wordsOf(at(node, "state_flags"))];
  const read = nodeRowsOf([name], words, { reason: textOf(node, "reason"), gpus: tracked ?? count });
  const hardware: NodeHardware = {
    cpus: numberOf(node, "cpus"),
    memoryMib: numberOf(node, "real_memory"),
    gpuTypes: gres === null ? [] : gpuTypes({ column: "gres", text: gres, isCut: false }),
    partitions: listOf(at(node, "partitions")),
    features: listOf(at(node, "active_features")),
  };
  return { kind: "nodes", rows: read.map((row) => ({ ...row, hardware })) };
}

/** A list, or before 23.02 the names in one text. */
const listOf = (value: unknown): readonly string[] =>
  wordsOf(value)
    .flatMap((word) => word.split(","))
    .filter((word) => word !== "");

/** An element of `sinfo --json` from 23.02 on: nodes that are alike. */
function sinfoRow(row: unknown): ReadRow {
  const list = at(row, "nodes", "nodes");
  const names = wordsOf(list).flatMap((each) => hostNames(each));
  if (list === undefined) throw new Unreadable("nodes: there is no name of a node");
  const gres = textOf(row, "gres", "total");
  const reason = textOf(row, "reason") ?? textOf(row, "reason", "description");
  const rows = nodeRowsOf(names, wordsOf(at(row, "node", "state")), {
    reason,
    gpus: gres === null ? null : genericGpus({ column: "gres.total", text: gres, isCut: false }),
  });
  return { kind: "nodes", rows };
}

function nodeRowsOf(
  names: readonly string[],
  words: readonly string[],
  { reason, gpus }: { readonly reason: string | null; readonly gpus: number | null },
): readonly NodeRow[] {
  const { state, flags } = nodeState("state", words.join("+"));
  const why = reason === null || isAbsent(reason) ? null : nodeReason(reason);
  return names.map((name): NodeRow => ({
    name,
    state,
    reason: why,
    gpus,
    ...(flags.length === 0 ? {} : { flags }),
  }));
}
