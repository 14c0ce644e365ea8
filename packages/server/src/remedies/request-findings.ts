/**
 * Work whose earlier runs used far less memory, cores or accelerators than it requests. Runs count if they are alike (same team and
 * name, same number of workers, a request of similar size), succeeded, and were measured to their end in every worker.
 */
import type { ReadonlyState } from "@headroom/engine";
import { ground, shortReason } from "@headroom/health";
import type { Finding } from "@headroom/health";
import type { ProposalGround, Workload, WorkloadSpec } from "@headroom/model";
import { coresText, memoryText, plural } from "@headroom/views";

type Requested = Pick<WorkloadSpec["gang"], "memoryMib" | "coresMilli" | "accelerators">;

/** Use of one run. Amounts are those of its largest worker. */
export interface MeasuredRun {
  readonly key: string;
  readonly workers: number;
  /** For each worker. */
  readonly requested: Requested;
  readonly peakMemoryMib: number;
  /** Cores in use on average over the run, in thousandths. */
  readonly coresMilli: number;
  /** The most accelerators of the run that were busy at a time; `null`: it reported none. */
  readonly mostBusyAccelerators: number | null;
}

/** With fewer runs, chance decides about the largest one. */
const RUNS_MIN = 5;
const FINDINGS_MAX = 50;
const QUANTILE = 0.99;
/** Room above the measured peak of memory. */
const MEMORY_ROOM = 1.25;
/** Room above the measured mean of cores: work has phases with more. */
const CORES_ROOM = 2;
/** A request is found if it is at least this many times what is advised. */
const FACTOR = 2;
const MEMORY_STEP_MIB = 1_024;
const CORES_STEP_MILLI = 1_000;
const GIB_MIB = 1_024;

export const runKey = ({ team, name }: Pick<WorkloadSpec, "team" | "name">): string => JSON.stringify([team, name]);

/** One finding for each name of a team with work that has not ended, that of its newest workload. */
export function requestFindings({ workloads }: ReadonlyState, runs: Iterable<MeasuredRun>): readonly Finding[] {
  const byKey = Map.groupBy(runs, ({ key }) => key);
  const newest = new Map<string, Workload>();
  if (byKey.size > 0)
    for (const workload of workloads.values())
      if (workload.endedAtMs === null && byKey.has(runKey(workload.spec))) newest.set(runKey(workload.spec), workload);
  return [...newest]
    .flatMap(([key, workload]) => findingOf(workload, byKey.get(key) ?? []) ?? [])
    .toSorted((left, right) => (left.id < right.id ? -1 : 1))
    .slice(0, FINDINGS_MAX);
}

function findingOf({ id, spec, submittedAtMs }: Workload, all: readonly MeasuredRun[]): Finding | null {
  const { gang, name, team } = spec;
  const runs = all.filter(({ workers, requested }) => workers === gang.workers && isSimilar(requested, gang));
  if (gang.taskGroups !== undefined || spec.kind === "serve" || runs.length < RUNS_MIN) return null;
  const parts = [memoryAdvice(spec, runs), coresAdvice(spec, runs), acceleratorAdvice(spec, runs)].filter(
    (part) => part !== null,
  );
  if (parts.length === 0) return null;
  return {
    id: `request:${id}:${parts.map(({ text }) => text).join()}`,
    kind: "request",
    sinceMs: submittedAtMs,
    change: {
      kind: "advice",
      about: shortReason(`request of ${name} (${id})`),
      text: shortReason(`request ${parts.map(({ text }) => text).join(", ")} for each worker`),
    },
    team,
    reason: shortReason(`${plural(runs.length, "measured run")} of ${name} used far less than it requests`),
    ground: [...parts.flatMap((part) => part.ground), ground("measured runs", runs.length)],
  };
}

/** Whether no amount is more than FACTOR times the other one: work of another size may share the name. */
const isSimilar = (one: Requested, other: Requested): boolean =>
  (["memoryMib", "coresMilli", "accelerators"] as const).every(
    (amount) => one[amount] <= FACTOR * other[amount] && other[amount] <= FACTOR * one[amount],
  );

interface Part {
  readonly text: string;
  readonly ground: readonly ProposalGround[];
}

function memoryAdvice({ gang: { memoryMib } }: WorkloadSpec, runs: readonly MeasuredRun[]): Part | null {
  const peak = quantile(runs.map((run) => run.peakMemoryMib));
  const advised = stepsUp(peak * MEMORY_ROOM, MEMORY_STEP_MIB);
  if (memoryMib < FACTOR * advised) return null;
  return {
    text: `${memoryText(advised)} of memory`,
    ground: [
      ground("memory requested", memoryMib / GIB_MIB, "GiB"),
      ground("99th percentile of the peaks", peak / GIB_MIB, "GiB"),
    ],
  };
}

function coresAdvice({ gang: { coresMilli } }: WorkloadSpec, runs: readonly MeasuredRun[]): Part | null {
  const mean = quantile(runs.map((run) => run.coresMilli));
  const advised = stepsUp(mean * CORES_ROOM, CORES_STEP_MILLI);
  if (coresMilli < FACTOR * advised) return null;
  return {
    text: coresText(advised),
    ground: [
      ground("cores requested", coresMilli / 1000),
      ground("99th percentile of the mean cores of a run", mean / 1000),
    ],
  };
}

/** Only for one worker: which accelerators of several workers were busy is not known. */
function acceleratorAdvice({ gang }: WorkloadSpec, runs: readonly MeasuredRun[]): Part | null {
  const busy = runs.map((run) => run.mostBusyAccelerators);
  if (gang.workers > 1 || gang.accelerators < 2 || busy.includes(null)) return null;
  const most = Math.max(1, ...busy.map(Number));
  if (gang.accelerators < FACTOR * most) return null;
  return {
    text: plural(most, "accelerator"),
    ground: [ground("accelerators requested", gang.accelerators), ground("most accelerators busy at a time", most)],
  };
}

/** Nearest rank: of up to 100 runs, the largest. */
function quantile(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.ceil(QUANTILE * sorted.length) - 1] ?? 0;
}

const stepsUp = (amount: number, step: number): number => Math.max(1, Math.ceil(amount / step)) * step;
