/** Compares timelines of one window: in total, by team, by user and by size of the work. */
import { milliIn, wholeParts } from "@headroom/model";
import type { BookedWorkload, LedgerSample, TimelineLedger } from "./timeline-ledger.ts";

/**
 * Times are in ms. A wait lasts from the submission to the first start. Without a start it lasts to the end of the
 * window.
 */
export interface TimelineFigures {
  /** Workloads that waited to start when the window began, or were submitted in it. */
  readonly workloads: number;
  /** Number of these workloads that started within the window. */
  readonly started: number;
  readonly waitMeanMs: number;
  readonly waitP50Ms: number;
  readonly waitP95Ms: number;
  /**
   * Mean slowdown of workloads that ended in every timeline. The slowdown is the time from submission to end, divided
   * by the workload's shortest run in any timeline, and at least 1. `null`: no workload ended in every timeline.
   */
  readonly slowdown: number | null;
  readonly acceleratorHours: number;
  /** Accelerator time lost to evictions. */
  readonly lostAcceleratorHours: number;
  /** Number of attempts that were evicted, or lost workers, in favour of other work. */
  readonly evictions: number;
}

export interface TimelineSummary extends TimelineFigures {
  /** Accelerator time in use, divided by the accelerator time of the nodes that were up. */
  readonly utilisation: number;
  /** Number of workloads that ended within the window. */
  readonly endedCount: number;
  /** Time from the start of the window to the last end in it. */
  readonly makespanMs: number;
  readonly samples: readonly LedgerSample[];
}

export interface ComparedGroup {
  readonly name: string;
  readonly recorded: TimelineFigures;
  readonly control: TimelineFigures;
  readonly changed: TimelineFigures;
  /**
   * Comparison of mean waits, `changed` against `control`, over workloads in both timelines. Waits that differ by less
   * than a second or one percent count as equal.
   */
  readonly outcome: "wins" | "loses" | "same";
}

/** Mean waits of the same workloads, without and with the change. */
export interface SharedWaits {
  readonly workloads: number;
  readonly controlMeanMs: number;
  readonly changedMeanMs: number;
}

export interface ComparedTimelines {
  readonly recorded: TimelineSummary;
  readonly control: TimelineSummary;
  readonly changed: TimelineSummary;
  readonly teams: readonly ComparedGroup[];
  readonly users: readonly ComparedGroup[];
  readonly sizes: readonly ComparedGroup[];
  readonly shared: SharedWaits;
}

const timelineNames = ["recorded", "control", "changed"] as const;
type ByTimeline<T> = Readonly<Record<(typeof timelineNames)[number], T>>;

export interface ComparedWindow {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Shortest run time in ms for the bounded slowdown (Feitelson): a shorter run counts as this long. */
const SLOWDOWN_RUN_MIN_MS = 10_000;
const HOUR_MS = 3_600_000;

export function compareTimelines(ledgers: ByTimeline<TimelineLedger>, window: ComparedWindow): ComparedTimelines {
  const shortest = shortestRuns(ledgers);
  const figures = (of: (each: BookedWorkload) => boolean): ByTimeline<TimelineFigures> =>
    byTimeline((name) => figuresOf([...ledgers[name].workloads.values()].filter(of), shortest, window));
  const all = figures(() => true);
  const groups = (nameOf: (each: BookedWorkload) => string): readonly SharedGroup[] => {
    const names = new Set(timelineNames.flatMap((timeline) => [...ledgers[timeline].workloads.values()].map(nameOf)));
    return [...names].map((name) => {
      const isIn = (each: BookedWorkload): boolean => nameOf(each) === name;
      const shared = sharedWaits(ledgers, isIn, window);
      return { name, ...figures(isIn), outcome: outcomeOf(shared), shared };
    });
  };
  const summaries = byTimeline((name) => ({ ...all[name], ...wholeTimeline(ledgers[name], window) }));
  return {
    ...summaries,
    teams: byGain(groups(({ team }) => team)),
    users: byGain(groups(({ user }) => user)),
    sizes: groups(sizeOf)
      .toSorted((left, right) => sizeOrder(left.name) - sizeOrder(right.name))
      .map(withoutShared),
    shared: sharedWaits(ledgers, () => true, window),
  };
}

type SharedGroup = ComparedGroup & { readonly shared: SharedWaits };

const withoutShared = ({ shared: _shared, ...group }: SharedGroup): ComparedGroup => group;

/** A change can refuse work or omit runs of a schedule, so the outcome counts only work that both timelines contain. */
function sharedWaits(
  { control, changed }: ByTimeline<TimelineLedger>,
  isIn: (each: BookedWorkload) => boolean,
  { toMs }: ComparedWindow,
): SharedWaits {
  const pairs = [...control.workloads.values()].flatMap((each) => {
    const other = changed.workloads.get(each.key);
    return each.awaitsStart && isIn(each) && other?.awaitsStart === true ? [{ each, other }] : [];
  });
  return {
    workloads: pairs.length,
    controlMeanMs: Math.round(mean(pairs.map(({ each }) => waitOf(each, toMs))) ?? 0),
    changedMeanMs: Math.round(mean(pairs.map(({ other }) => waitOf(other, toMs))) ?? 0),
  };
}

function byTimeline<T>(of: (name: (typeof timelineNames)[number]) => T): ByTimeline<T> {
  return { recorded: of("recorded"), control: of("control"), changed: of("changed") };
}

/** Shortest time from first start to end by key of the workload, for workloads that ended in all timelines. */
function shortestRuns(ledgers: ByTimeline<TimelineLedger>): ReadonlyMap<string, number> {
  const shortest = new Map<string, number>();
  for (const [key, { startedAtMs, endedAtMs }] of ledgers.recorded.workloads) {
    if (startedAtMs === null || endedAtMs === null) continue;
    let runMs = endedAtMs - startedAtMs;
    let endsInAll = true;
    for (const ledger of [ledgers.control, ledgers.changed]) {
      const other = ledger.workloads.get(key);
      if (other === undefined || other.startedAtMs === null || other.endedAtMs === null) endsInAll = false;
      else runMs = Math.min(runMs, other.endedAtMs - other.startedAtMs);
    }
    if (endsInAll) shortest.set(key, Math.max(SLOWDOWN_RUN_MIN_MS, runMs));
  }
  return shortest;
}

function figuresOf(
  workloads: readonly BookedWorkload[],
  shortest: ReadonlyMap<string, number>,
  { toMs }: ComparedWindow,
): TimelineFigures {
  const waiting = workloads.filter(({ awaitsStart }) => awaitsStart);
  const waits = waiting.map((each) => waitOf(each, toMs)).toSorted((left, right) => left - right);
  const slowdowns = waiting.flatMap(({ key, submittedAtMs, endedAtMs }) => {
    const runMs = shortest.get(key);
    return runMs === undefined || endedAtMs === null ? [] : [Math.max(1, (endedAtMs - submittedAtMs) / runMs)];
  });
  return {
    workloads: waiting.length,
    started: waiting.filter(({ startedAtMs }) => startedAtMs !== null).length,
    waitMeanMs: Math.round(mean(waits) ?? 0),
    waitP50Ms: percentile(waits, 50),
    waitP95Ms: percentile(waits, 95),
    slowdown: rounded(mean(slowdowns), 100),
    acceleratorHours: hours(workloads.reduce((sum, { heldMilliMs }) => sum + heldMilliMs, 0)),
    lostAcceleratorHours: hours(workloads.reduce((sum, { lostMilliMs }) => sum + lostMilliMs, 0)),
    evictions: workloads.reduce((sum, { evictions }) => sum + evictions, 0),
  };
}

/** A workload that ended without a start, for example because it was cancelled, waited until its end. */
function waitOf({ submittedAtMs, startedAtMs, endedAtMs }: BookedWorkload, toMs: number): number {
  return Math.max(0, (startedAtMs ?? endedAtMs ?? toMs) - submittedAtMs);
}

function wholeTimeline(
  ledger: TimelineLedger,
  { fromMs }: ComparedWindow,
): Omit<TimelineSummary, keyof TimelineFigures> {
  const { heldMilliMs, usableMs } = ledger.totals;
  const ends = [...ledger.workloads.values()].flatMap(({ endedAtMs }) => endedAtMs ?? []);
  return {
    utilisation: usableMs === 0 ? 0 : rounded(heldMilliMs / 1000 / usableMs, 10_000),
    endedCount: ends.length,
    makespanMs: ends.reduce((last, atMs) => Math.max(last, atMs), fromMs) - fromMs,
    samples: ledger.samples,
  };
}

/**
 * Size class of work by the accelerators of the whole gang: `1`, `2`, `3-4`, `5-8`, and so on; below one accelerator it
 * is `under 1`.
 */
function sizeOf({ gang }: BookedWorkload): string {
  const milli = milliIn(wholeParts(gang));
  if (milli === 0) return "none";
  if (milli < 1000) return "under 1";
  const accelerators = Math.ceil(milli / 1000);
  let most = 1;
  while (most < accelerators) most *= 2;
  return most <= 2 ? String(most) : `${most / 2 + 1}-${most}`;
}

const sizeOrder = (name: string): number => (name === "none" ? -1 : name === "under 1" ? 0 : Number.parseInt(name, 10));

/** Differences of mean waits below this value can come from the replay itself. */
const SAME_WAIT_MS = 1000;
const SAME_WAIT_SHARE = 100;

function outcomeOf({ controlMeanMs, changedMeanMs }: SharedWaits): ComparedGroup["outcome"] {
  const gainMs = controlMeanMs - changedMeanMs;
  const noiseMs = Math.max(SAME_WAIT_MS, controlMeanMs / SAME_WAIT_SHARE);
  if (gainMs > noiseMs) return "wins";
  return gainMs < -noiseMs ? "loses" : "same";
}

/** Sorted by total gain of waiting time, the largest first. */
function byGain(groups: readonly SharedGroup[]): readonly ComparedGroup[] {
  const gain = ({ shared }: SharedGroup): number => (shared.controlMeanMs - shared.changedMeanMs) * shared.workloads;
  return groups
    .toSorted((left, right) => gain(right) - gain(left) || (left.name < right.name ? -1 : 1))
    .map(withoutShared);
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Nearest rank. */
function percentile(sorted: readonly number[], percent: number): number {
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? 0;
}

function rounded<T extends number | null>(value: T, scale: number): T {
  return (value === null ? null : Math.round(value * scale) / scale) as T;
}

const hours = (milliMs: number): number => Math.round(milliMs / 1000 / (HOUR_MS / 100)) / 100;
