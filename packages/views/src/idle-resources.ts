/**
 * Idle and oversized resources, found from reports of attempts and executors: accelerators that were never or not
 * recently busy, accelerator memory far above its peak use, stalled progress, and walltimes far above similar runs.
 * Attempts without reports are not judged.
 */
import { acceleratorsIn, partsOf } from "@headroom/model";
import type { Attempt, AttemptId, AttemptUtilization, EndedAttempt, Workload, WorkloadId } from "@headroom/model";
import { clockOf } from "@headroom/engine";
import type { Engine } from "@headroom/engine";

interface IdleFinding {
  readonly workloadId: WorkloadId;
  /**
   * Idle accelerator time in accelerators times ms, from reports; `null`: the finding does not measure accelerator
   * time.
   */
  readonly wastedAcceleratorMs: number | null;
}

export type Waste =
  /** At most `mostBusyCount` accelerators of the attempt were busy at once. */
  | (IdleFinding & {
      readonly kind: "unusedAccelerators";
      readonly attemptId: AttemptId;
      readonly heldCount: number;
      readonly mostBusyCount: number;
      readonly forMs: number;
    })
  | (IdleFinding & {
      readonly kind: "idle";
      readonly attemptId: AttemptId;
      readonly heldCount: number;
      readonly forMs: number;
    })
  | (IdleFinding & {
      readonly kind: "memoryTooLarge";
      readonly attemptId: AttemptId;
      readonly peakMib: number;
      readonly capacityMib: number;
    })
  /** No report for at least `SILENT_MIN_MS`, after at least one progress report. */
  | (IdleFinding & {
      readonly kind: "noProgress";
      readonly attemptId: AttemptId;
      readonly heldCount: number;
      readonly forMs: number;
    })
  | (IdleFinding & {
      readonly kind: "walltimeTooLong";
      readonly walltimeMs: number;
      readonly longestMs: number;
      readonly runCount: number;
    });

/** Reports of an attempt from the telemetry store. The journal itself holds only progress estimates and idle times. */
export interface AttemptTelemetry {
  /** Time of the newest progress report; `null`: the attempt reported no progress. */
  readonly progressAtMs: number | null;
  readonly utilization: AttemptUtilization | null;
}

/** Telemetry of an attempt; `null`: the store has none. */
export type TelemetryOf = (id: AttemptId) => AttemptTelemetry | null;

const MINUTE_MS = 60_000;
/** An attempt loads data and compiles during its first minutes, with accelerators idle. */
const WARM_UP_MS = 10 * MINUTE_MS;
const IDLE_MIN_MS = 30 * MINUTE_MS;
/** An evaluation or a checkpoint between two progress reports can take this long. */
const SILENT_MIN_MS = 60 * MINUTE_MS;
/** With a peak of at most a quarter of the memory, a card of half the size would suffice with room to spare. */
const MEMORY_FACTOR = 4;
const WALLTIME_FACTOR = 4;
const RUNS_MIN = 5;

/** All findings, those with most idle accelerator time first. `only`: restricts the search to one workload. */
export function findWaste(
  engine: Engine,
  only: WorkloadId | null = null,
  telemetryOf: TelemetryOf = () => null,
): readonly Waste[] {
  const { state } = engine;
  const nowMs = clockOf(engine);
  const found: Waste[] = [];
  for (const attempt of state.attempts.values()) {
    const workload = state.workloads.get(attempt.workloadId);
    if (workload === undefined || (only !== null && workload.id !== only)) continue;
    found.push(...wasteOf(attempt, workload, telemetryOf(attempt.id), nowMs));
  }
  const asking = [...state.workloads.values()].filter(
    ({ id, endedAtMs, spec }) => endedAtMs === null && spec.walltimeMs !== null && (only === null || id === only),
  );
  if (asking.length > 0) found.push(...tooLongWalltimes(asking, [...state.workloads.values()]));
  return found.toSorted(
    (left, right) =>
      (right.wastedAcceleratorMs ?? -1) - (left.wastedAcceleratorMs ?? -1) ||
      ordinalOf(state.workloads, left) - ordinalOf(state.workloads, right),
  );
}

const ordinalOf = (workloads: ReadonlyMap<WorkloadId, Workload>, { workloadId }: Waste): number =>
  workloads.get(workloadId)?.ordinal ?? 0;

function wasteOf(
  attempt: Attempt,
  workload: Workload,
  telemetry: AttemptTelemetry | null,
  nowMs: number,
): readonly Waste[] {
  const { id: attemptId, startedAtMs, stop, workers, idleSinceMs } = attempt;
  const utilization = telemetry?.utilization ?? attempt.utilization;
  if (startedAtMs === null || stop !== null) return [];
  const heldCount = acceleratorsIn(partsOf(workload.spec.gang, workers));
  const common = { workloadId: workload.id, attemptId };
  const found: Waste[] = [];
  if (utilization !== undefined) {
    const { atMs, busyAtMs, accelerators, mostBusyAccelerators, peakMemoryMib, capacityMib } = utilization;
    const reportedMs = atMs - startedAtMs;
    const idleMs = atMs - busyAtMs;
    const unused = accelerators - mostBusyAccelerators;
    if (idleMs >= IDLE_MIN_MS)
      found.push({ kind: "idle", ...common, heldCount, forMs: idleMs, wastedAcceleratorMs: heldCount * idleMs });
    else if (reportedMs >= WARM_UP_MS && unused > 0 && mostBusyAccelerators > 0)
      found.push({
        kind: "unusedAccelerators",
        ...common,
        heldCount,
        mostBusyCount: mostBusyAccelerators,
        forMs: reportedMs,
        wastedAcceleratorMs: unused * reportedMs,
      });
    const isLarge = peakMemoryMib !== null && capacityMib !== null && peakMemoryMib * MEMORY_FACTOR <= capacityMib;
    if (isLarge && reportedMs >= IDLE_MIN_MS)
      found.push({ kind: "memoryTooLarge", ...common, peakMib: peakMemoryMib, capacityMib, wastedAcceleratorMs: null });
  }
  if (utilization === undefined && idleSinceMs !== undefined && nowMs - idleSinceMs >= IDLE_MIN_MS) {
    const forMs = nowMs - idleSinceMs;
    found.push({ kind: "idle", ...common, heldCount, forMs, wastedAcceleratorMs: heldCount * forMs });
  }
  const silentMs = silentFor(attempt, workload, telemetry, nowMs);
  if (silentMs >= SILENT_MIN_MS && found.length === 0)
    found.push({
      kind: "noProgress",
      ...common,
      heldCount,
      forMs: silentMs,
      wastedAcceleratorMs: heldCount * silentMs,
    });
  return found;
}

/** Milliseconds since the attempt's last report; 0: it has reported no progress. */
function silentFor(
  { id }: Attempt,
  { checkpoint }: Workload,
  telemetry: AttemptTelemetry | null,
  nowMs: number,
): number {
  if (telemetry === null || telemetry.progressAtMs === null) return 0;
  const lastReportMs = Math.max(telemetry.progressAtMs, checkpoint?.attemptId === id ? checkpoint.atMs : 0);
  return nowMs - Math.max(lastReportMs, telemetry.utilization?.busyAtMs ?? 0);
}

/** Key of similar workloads: same team, same kind, same name apart from digits (`sweep-17` and `sweep-18`). */
const familyOf = ({ spec: { team, kind, name } }: Workload): string =>
  `${team} ${kind} ${name.replace(/[0-9]+/g, "#")}`;

function tooLongWalltimes(asking: readonly Workload[], all: readonly Workload[]): readonly Waste[] {
  const wanted = new Set(asking.map(familyOf));
  const runs = new Map<string, { count: number; longestMs: number }>();
  for (const workload of all) {
    const family = familyOf(workload);
    if (!wanted.has(family)) continue;
    for (const ended of workload.endedAttempts) {
      const ranMs = runOf(ended);
      if (ranMs === null) continue;
      const known = runs.get(family) ?? { count: 0, longestMs: 0 };
      runs.set(family, { count: known.count + 1, longestMs: Math.max(known.longestMs, ranMs) });
    }
  }
  return asking.flatMap((workload): Waste[] => {
    const { count, longestMs } = runs.get(familyOf(workload)) ?? { count: 0, longestMs: 0 };
    const { walltimeMs } = workload.spec;
    if (walltimeMs === null || count < RUNS_MIN || longestMs * WALLTIME_FACTOR > walltimeMs) return [];
    const facts = { walltimeMs, longestMs, runCount: count, wastedAcceleratorMs: null };
    return [{ kind: "walltimeTooLong", workloadId: workload.id, ...facts }];
  });
}

/** Run time of an attempt that ended by itself with success, in ms; `null`: any other attempt. */
function runOf({ outcome, startedAtMs, endedAtMs }: EndedAttempt): number | null {
  return outcome === "succeeded" && startedAtMs !== null ? endedAtMs - startedAtMs : null;
}
