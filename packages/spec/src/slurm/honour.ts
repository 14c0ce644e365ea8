/** Applies one option to the job. The table has a function for each option that `options.ts` says is honoured. */
import { readBegin, type LocalClock } from "./begin-times.ts";
import { readConstraint, readGpus, readGres, type SlurmGpus } from "./gres.ts";
import type { SlurmExport, SlurmJob } from "./job.ts";
import {
  readArray,
  readCount,
  readDependencies,
  readNodes,
  readSignal,
  readSlurmMemory,
  readTimeLimit,
} from "./slurm-values.ts";
import { readMailTypes } from "./mail-types.ts";
import type { Reading } from "../notation/reading.ts";

export interface HonourContext {
  readonly clock: LocalClock;
  readonly isAcceleratorType: (name: string) => boolean;
  /** Notification channel that stands for the mail of Slurm; absent: the user names none. */
  readonly mailChannel?: string | undefined;
}

/** Parts of an option that are not honoured. `isInvalid`: `sbatch` refuses the value, too. */
export interface NotHonoured {
  readonly reason: string;
  readonly isInvalid: boolean;
  /** True: the rest of the value is honoured. */
  readonly isPart: boolean;
}

type Honour = (value: string, job: SlurmJob, context: HonourContext) => readonly NotHonoured[];

const HONOURED: readonly NotHonoured[] = [];
const invalid = (reason: string): readonly NotHonoured[] => [{ reason, isInvalid: true, isPart: false }];
const ignored = (reason: string): readonly NotHonoured[] => [{ reason, isInvalid: false, isPart: false }];
const parts = (reasons: readonly string[]): readonly NotHonoured[] =>
  reasons.map((reason) => ({ reason, isInvalid: false, isPart: true }));

/** Reads the value and sets it. */
function setting<Value>(
  reader: (text: string) => Reading<Value>,
  set: (job: SlurmJob, value: Value) => readonly NotHonoured[] | undefined,
): Honour {
  return (text, job) => {
    const reading = reader(text);
    return reading.ok ? (set(job, reading.value) ?? HONOURED) : invalid(reading.message);
  };
}

type CountField = "ntasks" | "ntasksPerNode" | "ntasksPerGpu" | "cpusPerTask" | "cpusPerGpu" | "minCpus";
const count = (field: CountField): Honour =>
  setting(readCount, (job, value) => {
    job[field] = value;
    return undefined;
  });

const memory = (per: "node" | "cpu" | "gpu"): Honour =>
  setting(readSlurmMemory, (job, mib) => {
    if (mib === 0) return ignored("asks for all memory of the node, which Headroom does not know; state an amount");
    job.memoryMib = { per, mib };
    return undefined;
  });

const gpus = (field: "gpusPerNode" | "gpusPerJob" | "gpusPerTask"): Honour =>
  setting(readGpus, (job, value: SlurmGpus) => {
    job[field] = value;
    return undefined;
  });

const file =
  (field: "output" | "error" | "input"): Honour =>
  (text, job) => {
    job.files[field] = text;
    return HONOURED;
  };

const instant =
  (field: "notBeforeMs" | "deadlineMs"): Honour =>
  (text, job, { clock }) => {
    const reading = readBegin(text, clock);
    if (!reading.ok) return invalid(reading.message);
    job[field] = Math.max(0, reading.value);
    return HONOURED;
  };

export const honours: Readonly<Record<string, Honour>> = {
  account: (text, job) => {
    if (!/^[A-Za-z0-9][A-Za-z0-9._/-]{0,399}$/.test(text)) return ignored("is no name of a team");
    job.account = text;
    return HONOURED;
  },
  array: setting(readArray, (job, array) => void (job.array = array)),
  begin: instant("notBeforeMs"),
  chdir: (text, job) => {
    job.dir = text;
    return HONOURED;
  },
  constraint: (text, job, { isAcceleratorType }) => {
    const reading = readConstraint(text, isAcceleratorType);
    if (!reading.ok) return ignored(reading.message);
    job.types = reading.value.types;
    if (reading.value.kind === "labels") job.labels = reading.value.labels;
    return HONOURED;
  },
  "cpus-per-gpu": count("cpusPerGpu"),
  "cpus-per-task": count("cpusPerTask"),
  deadline: instant("deadlineMs"),
  dependency: (text, job) => {
    if (text === "singleton")
      return ignored("names are unique in a team, so a second job of the name gets another one");
    const reading = readDependencies(text);
    if (!reading.ok) return text.includes("?") ? ignored(reading.message) : invalid(reading.message);
    job.after = reading.value.after;
    return job.after.length === 0 ? ignored(reading.value.ignored.join("; ")) : parts(reading.value.ignored);
  },
  error: file("error"),
  exclusive: (text, job) => {
    if (/^(?:user|mcs|topo)$/.test(text)) return ignored(`nodes are exclusive to one workload, not by ${text}`);
    if (text !== "") return invalid("takes user, mcs or no value");
    job.isExclusive = true;
    return HONOURED;
  },
  export: (text, job) => {
    job.exported = exportOf(text);
    return HONOURED;
  },
  gpus: gpus("gpusPerJob"),
  "gpus-per-node": gpus("gpusPerNode"),
  "gpus-per-task": gpus("gpusPerTask"),
  gres: setting(readGres, (job, { gpus: found, share, ignored: reasons }) => {
    if (found !== null) job.gpusPerNode = found;
    if (share !== null) job.share = share;
    return found === null && share === null && reasons.length > 0 ? ignored(reasons.join("; ")) : parts(reasons);
  }),
  hold: (_, job) => {
    job.isHeld = true;
    return HONOURED;
  },
  input: file("input"),
  "job-name": (text, job) => {
    if (nameOf(text) === null) return ignored("has no letter or digit that a name could keep");
    job.name = text;
    return HONOURED;
  },
  "kill-on-invalid-dep": (text) => {
    if (text === "yes") return HONOURED;
    return text === "no" ? ignored("a job whose dependency cannot be met is cancelled") : invalid("must be yes or no");
  },
  "mail-type": (text, job, { mailChannel }) => {
    const reading = readMailTypes(text);
    if (!reading.ok) return invalid(reading.message);
    const { occasions, ignored: reasons } = reading.value;
    if (mailChannel === undefined)
      return ignored("needs a channel: headroom run --notify CHANNEL, or HEADROOM_MAIL_CHANNEL");
    if (occasions.length === 0) return text.toUpperCase() === "NONE" ? HONOURED : ignored(reasons.join("; "));
    job.notify = `${mailChannel}:${occasions.join(",")}`;
    return parts(reasons);
  },
  mem: memory("node"),
  "mem-per-cpu": memory("cpu"),
  "mem-per-gpu": memory("gpu"),
  mincpus: count("minCpus"),
  nice: (text, job) => {
    if (text !== "" && !/^-?\d{1,10}$/.test(text))
      return invalid(`must be a whole number, got ${JSON.stringify(text)}`);
    job.nice = Math.max(-1_000_000, Math.min(1_000_000, text === "" ? 100 : Number(text)));
    return HONOURED;
  },
  nodes: setting(readNodes, (job, { min }) => void (job.nodes = min)),
  ntasks: count("ntasks"),
  "ntasks-per-gpu": count("ntasksPerGpu"),
  "ntasks-per-node": count("ntasksPerNode"),
  "open-mode": (text, job) => {
    if (!/^(?:append|truncate|a|t)$/.test(text)) return invalid("must be append or truncate");
    job.files.appends = text.startsWith("a");
    return HONOURED;
  },
  output: file("output"),
  requeue: () => HONOURED,
  signal: setting(readSignal, (job, signal) => void (job.signal = signal)),
  time: setting(readTimeLimit, (job, timeLimitMs) => void (job.timeLimitMs = timeLimitMs)),
};

/** `ALL`, `NONE`, `NIL`, or names and assignments, with `ALL` among them or not. */
function exportOf(text: string): SlurmExport {
  const items = text.split(",").filter((item) => item !== "");
  const names: string[] = [];
  const values: Record<string, string> = {};
  for (const item of items) {
    const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)(?:=(.*))?$/s.exec(item) ?? [];
    if (name === undefined || /^(?:ALL|NONE|NIL)$/i.test(item)) continue;
    if (value === undefined) names.push(name);
    else values[name] = value;
  }
  return { mode: items.some((item) => /^ALL$/i.test(item)) ? "all" : "named", names, values };
}

/** The job name as the name of a workload; `null`: nothing of it is left. */
export function nameOf(text: string): string | null {
  const name = text
    .replaceAll(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 90)
    .replace(/-+$/, "");
  return name === "" ? null : name;
}
