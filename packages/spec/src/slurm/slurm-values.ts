/** Values of Slurm's options: time limits, amounts of memory, counts, arrays and dependencies. */
import { read, refuse, shown, type Reading } from "../notation/reading.ts";

const MINUTE_MS = 60_000;
const MIB_PER_UNIT: Readonly<Record<string, number>> = { "": 1, K: 1 / 1024, M: 1, G: 1024, T: 1024 * 1024 };

const timeHelp =
  'must be "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours", "days-hours:minutes" or "days-hours:minutes:seconds"';

/** A time limit in ms, rounded up to whole minutes as Slurm does; `null`: unlimited. */
export function readTimeLimit(text: string): Reading<number | null> {
  if (/^(?:unlimited|infinite|-1)$/i.test(text)) return read(null);
  const found = /^(?:(\d{1,9})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?$/.exec(text);
  if (found === null) return refuse(`${timeHelp}, got ${shown(text)}`);
  const [, days, ...rest] = found;
  const [first = 0, second, third] = rest.map((part) => (part === undefined ? undefined : Number(part)));
  const seconds =
    days !== undefined
      ? Number(days) * 86_400 + first * 3_600 + (second ?? 0) * 60 + (third ?? 0)
      : third !== undefined
        ? first * 3_600 + (second ?? 0) * 60 + third
        : first * 60 + (second ?? 0);
  return read(seconds === 0 ? null : Math.ceil(seconds / 60) * MINUTE_MS);
}

/** Memory in MiB. Slurm counts in powers of two, without a unit in MiB, and rounds kilobytes up. */
export function readSlurmMemory(text: string): Reading<number> {
  const found = /^(\d{1,12})([KMGT]?)B?$/i.exec(text);
  const unit = MIB_PER_UNIT[(found?.[2] ?? "").toUpperCase()];
  if (found === null || unit === undefined || /^\d+B$/i.test(text))
    return refuse(`must be a whole number with K, M, G or T, like 16G, got ${shown(text)}`);
  return read(Math.ceil(Number(found[1]) * unit));
}

export function readCount(text: string, min = 1): Reading<number> {
  if (/^\d{1,9}$/.test(text) && Number(text) >= min) return read(Number(text));
  return refuse(`must be a whole number from ${min} on, got ${shown(text)}`);
}

/** The minimum of a number of nodes: `4`, `2-8`, `1k`. Later versions of Slurm also read lists such as `2,4-8:2`. */
export function readNodes(text: string): Reading<{ readonly min: number; readonly isRange: boolean }> {
  const counts = text.split(",").map((part) => /^(\d{1,7})(k?)(?:-(\d{1,7})(k?)(?::\d{1,7})?)?$/i.exec(part));
  const mins: number[] = [];
  for (const found of counts) {
    const [, low, lowUnit, high, highUnit] = found ?? [];
    const min = Number(low) * (lowUnit === "" ? 1 : 1024);
    const max = high === undefined ? min : Number(high) * (highUnit === "" ? 1 : 1024);
    if (low === undefined || min < 1) return refuse(`must be a number of nodes like 4 or 2-8, got ${shown(text)}`);
    if (max < min) return refuse(`has a maximum below its minimum, got ${shown(text)}`);
    mins.push(min);
  }
  return read({ min: Math.min(...mins), isRange: text.includes("-") || text.includes(",") });
}

export interface SlurmArray {
  /** Indexes in ascending order without repetition. */
  readonly indexes: readonly number[];
  /** Maximum number of tasks at once; `null`: no maximum. */
  readonly atOnce: number | null;
}

/** Slurm's default `MaxArraySize` is 1,001; sites raise it up to 4,000,001. */
const ARRAY_TASKS_MAX = 1_000_000;
const ARRAY_INDEX_MAX = 4_000_000;

export function readArray(text: string): Reading<SlurmArray> {
  const help = `must be indexes like 0-99, 1,3,5-7 or 0-15:4, and %N for tasks at once, got ${shown(text)}`;
  const [list = "", atOnce, ...more] = text.split("%");
  if (more.length > 0 || (atOnce !== undefined && !/^\d{1,7}$/.test(atOnce))) return refuse(help);
  const indexes = new Set<number>();
  for (const part of list.replace(/^\[(.*)\]$/, "$1").split(",")) {
    const [, low, high, step] = /^(\d{1,7})(?:-(\d{1,7})(?::(\d{1,7}))?)?$/.exec(part) ?? [];
    if (low === undefined || Number(high ?? low) < Number(low) || step === "0") return refuse(help);
    if (Number(high ?? low) > ARRAY_INDEX_MAX)
      return refuse(`has an index above ${ARRAY_INDEX_MAX}, got ${shown(text)}`);
    for (let index = Number(low); index <= Number(high ?? low); index += Number(step ?? 1)) {
      indexes.add(index);
      if (indexes.size > ARRAY_TASKS_MAX) return refuse(`has more than ${ARRAY_TASKS_MAX} tasks`);
    }
  }
  const most = Number(atOnce ?? 0);
  return read({ indexes: [...indexes].toSorted((left, right) => left - right), atOnce: most === 0 ? null : most });
}

export interface SlurmDependency {
  readonly workload: string;
  readonly on: "ok" | "failed" | "any";
}

const dependencyEnds: Readonly<Record<string, SlurmDependency["on"]>> = {
  afterok: "ok",
  afternotok: "failed",
  afterany: "any",
};
const otherDependencies: Readonly<Record<string, string>> = {
  after: "Headroom waits for ends, not for starts",
  aftercorr: "Headroom waits for whole arrays, not for single tasks",
  singleton: "names are unique in a team, so a second job of the name gets another one",
  expand: "Headroom does not join allocations",
  afterburstbuffer: "Headroom has no burst buffers",
};

/** The dependencies, and the parts that are not honoured with their reasons. */
export interface SlurmDependencies {
  readonly after: readonly SlurmDependency[];
  readonly ignored: readonly string[];
}

export function readDependencies(text: string): Reading<SlurmDependencies> {
  if (text.includes("?")) return refuse("Headroom waits for all dependencies; alternatives (?) are not supported");
  const after: SlurmDependency[] = [];
  const ignored: string[] = [];
  for (const part of text.split(",")) {
    const [kind = "", ...ids] = part.split(":");
    const on = dependencyEnds[kind.toLowerCase()];
    const reason = otherDependencies[kind.toLowerCase()];
    if (reason !== undefined) ignored.push(`${part}: ${reason}`);
    else if (on === undefined)
      return refuse(`must be like afterok:ID, afterany:ID or afternotok:ID, got ${shown(text)}`);
    else if (ids.length === 0) return refuse(`names no job, got ${shown(text)}`);
    else {
      for (const id of ids) {
        // `ID_INDEX` is one task of an array, and `ID+MINUTES` adds a delay; Headroom waits for whole workloads.
        const [, workload, rest] = /^([A-Za-z0-9][A-Za-z0-9.-]*)(?:(?:_\S*|\+\S*))?$/.exec(id) ?? [];
        if (workload === undefined || rest !== undefined) return refuse(`names no job: ${shown(id)}`);
        after.push({ workload, on });
      }
    }
  }
  return read({ after, ignored });
}

export interface SlurmSignal {
  /** Name of the signal without `SIG`, or its number. */
  readonly signal: string;
  /** Time before the end of the walltime, ms. */
  readonly beforeEndMs: number;
  /** True: only the script gets the signal, otherwise only what `srun` started. */
  readonly toScript: boolean;
}

const SIGNALS =
  /^(?:SIG)?(HUP|INT|QUIT|KILL|TERM|USR1|USR2|URG|CONT|STOP|TSTP|TTIN|TTOU|ALRM|ABRT|PIPE|XCPU|\d{1,2})$/i;

export function readSignal(text: string): Reading<SlurmSignal> {
  const [, flags = "", name = "", time] = /^(?:([RB]{1,2}):)?([A-Za-z0-9]+)(?:@(\d{1,5}))?$/i.exec(text) ?? [];
  const signal = SIGNALS.exec(name)?.[1]?.toUpperCase();
  if (signal === undefined) return refuse(`must be like B:USR1@90, got ${shown(text)}`);
  return read({ signal, beforeEndMs: Number(time ?? 60) * 1_000, toScript: flags.toUpperCase().includes("B") });
}
