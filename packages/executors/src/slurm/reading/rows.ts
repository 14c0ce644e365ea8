/**
 * Readers of the output of Slurm's commands. They do no I/O, guess nothing, and hold a bounded part of the text in memory. Start with
 * `slurm-reader.ts` (which format a text has); `table.ts`, `record-text.ts` and `json-answer.ts` read one family of formats each.
 */

/** One job, one task of an array, or the tasks of an array that are still pending, as Slurm lists them. */
export interface JobRow {
  /** Id of the job; for an array, of the whole array; for a component of a heterogeneous job, `11+1`. */
  readonly id: string;
  /** Index of the task in its array; the text `5-10%2` for tasks that Slurm lists together; null: not an array. */
  readonly array_task: number | string | null;
  readonly state: string;
  readonly submit: string | null;
  readonly start: string | null;
  readonly end: string | null;
  /** Allocated GPUs; of a job without an allocation, the requested ones; null: the text does not say. */
  readonly gpus: number | null;
  /** `code:signal`, as Slurm prints it. */
  readonly exit_code: string | null;
  /** Fields in which Slurm prints an expected time, because the job has not started or has not ended. */
  readonly estimated?: readonly ("start" | "end")[];
  /** Absent: the text has none of its fields. */
  readonly charge?: JobCharge;
}

/** `null`: the text does not say. */
export interface JobCharge {
  readonly account: string | null;
  /** Time limit in seconds; `null` also for a job without one. */
  readonly limitS: number | null;
  /** Name of the user, without its number. */
  readonly user: string | null;
  readonly name: string | null;
}

export interface NodeRow {
  readonly name: string;
  /** Words of the state in long form, joined by `+`, without the marks that sinfo appends. */
  readonly state: string | null;
  readonly reason: string | null;
  readonly gpus: number | null;
  /** Meaning of the marks after the state: `*` is `not_responding`. */
  readonly flags?: readonly string[];
  /** Only from `scontrol show node` and the JSON of nodes. */
  readonly hardware?: NodeHardware;
}

/** `null`: the text does not say. */
export interface NodeHardware {
  /** CPUs that Slurm schedules: cores, or their threads. */
  readonly cpus: number | null;
  readonly memoryMib: number | null;
  /** Types of GPUs with their numbers; `null` as the type: the configuration names none. */
  readonly gpuTypes: readonly { readonly type: string | null; readonly count: number }[];
  readonly partitions: readonly string[];
  readonly features: readonly string[];
}

export interface UnreadLine {
  /** Number of the line in the input, from 1. */
  readonly line: number;
  readonly reason: string;
  /** The start of the line. */
  readonly text: string;
}

export interface RowSink {
  job(row: JobRow): void;
  node(row: NodeRow): void;
  unread(line: UnreadLine): void;
  /** Counts a row that is a part of a job: `123.batch`. */
  step(): void;
}

/** A value of a row that cannot be read. The row is not read then. */
export class Unreadable extends Error {
  override readonly name = "Unreadable";
}

/** Shown part of a line that could not be read. */
const SHOWN_MAX = 200;

export function shownText(text: string): string {
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

/** A cell for a message. */
export function quoted(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}

/** Texts that Slurm prints in place of a value that does not exist. */
export function isAbsent(text: string): boolean {
  return absent.has(text.toLowerCase());
}

const absent: ReadonlySet<string> = new Set([
  "",
  "(null)",
  "n/a",
  "na",
  "none",
  "none assigned",
  "null",
  "unknown",
  "invalid",
]);
