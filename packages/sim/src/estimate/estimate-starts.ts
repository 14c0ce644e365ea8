/**
 * Start estimates with ranges: forward runs of the engine on forks of the live state, one for each scenario. Scenarios
 * differ in the unknown facts: remaining run times and future submissions. Pure: a function of the state, the seed and
 * the options; the live engine is only read.
 */
import { draw, invariant } from "@headroom/model";
import type { Workload, WorkloadId } from "@headroom/model";
import { forkEngine, waitingTaskCount } from "@headroom/engine";
import type { Engine, ReadonlyState } from "@headroom/engine";
import { EarliestStarts, NEVER_AS_THINGS_ARE } from "@headroom/explain";
import { mayBePassed, replayedArrivals, type ArrivalReplay } from "./arrivals.ts";
import type { RangeCalibration, WaitRange } from "./calibration.ts";
import { DurationModel, type DurationRules, usualDurationRules } from "./durations.ts";
import { forwardStarts, type ForwardArrival, type ForwardStart, type ForwardStarts } from "./forward-run.ts";
import { drawnDurationMs, workHistory, type WorkHistory } from "./history.ts";
import { progressDurationMs } from "./progress-durations.ts";
import { workWithComingNodes } from "../playout/coming-nodes.ts";

export interface EstimateOptions {
  readonly nowMs: number;
  readonly seed: number;
  /** Horizon in ms; a later start is reported as beyond the horizon. */
  readonly horizonMs: number;
  /**
   * Number of workloads and tasks to simulate, counted over all scenarios. A long queue therefore gets fewer scenarios
   * with coarser steps.
   */
  readonly effort: number;
  /**
   * Maximum number of steps (see `ForwardOptions.stepsMax`), counted over all scenarios; it bounds the response time.
   * If even the minimum number of scenarios exceeds it, each scenario is cut at its share, and the answer states how
   * far the scenarios went.
   */
  readonly stepsMax: number;
  /** Calibration of the ranges; `null`: ranges are not calibrated. */
  readonly calibration: RangeCalibration | null;
  readonly durationRules: DurationRules;
  /**
   * For a fork: the state of its original engine, because a fork does not contain ended work. Absent: the engine is not
   * a fork.
   */
  readonly past?: ReadonlyState;
}

export const usualEstimateOptions: Omit<EstimateOptions, "nowMs" | "calibration"> = {
  seed: 1,
  horizonMs: 28 * 24 * 3_600_000,
  effort: 100_000,
  stepsMax: 128_000,
  durationRules: usualDurationRules,
};

/** Bounds of the number of scenarios. Fewer cannot estimate a tenth of the distribution, and more change little. */
const scenarioBounds = { min: 8, max: 64 } as const;

/**
 * Width of a batch, as a share of the time since the present. It is far below the width of any range: a start a day
 * away has a resolution of twenty minutes, or of an hour with a very long queue.
 */
const grain = 1 / 64;
const coarseGrain = 1 / 24;

/** Instants in ms. `null`: beyond the horizon (or after `playedUntilMs` if set), or never under present conditions. */
export interface StartEstimate {
  readonly workloadId: WorkloadId;
  readonly p10AtMs: number | null;
  readonly p50AtMs: number | null;
  readonly p90AtMs: number | null;
  /** End of the simulated period of the scenarios, if they were cut before this start; absent: the horizon. */
  readonly playedUntilMs?: number;
  readonly because: EstimateGrounds;
}

/** Number of events before the start, in the median of the scenarios with a start. */
export interface EstimateGrounds {
  /** Number of attempts that end before the start: attempts that run now and attempts that start in the meantime. */
  readonly endsBefore: number;
  readonly startsBefore: number;
  /**
   * Number of scenarios with a start within the horizon (or before `playedUntilMs`), and of all scenarios. For work
   * that never starts no scenario is simulated.
   */
  readonly startedCount: number;
  readonly scenarioCount: number;
  /** Whether the scenarios contain further submissions, because later work has passed such work before. */
  readonly arrivalsReplayed: boolean;
  /** Data from which the run times of running work were learned; absent: nothing was simulated. */
  readonly history?: RunHistory;
}

/** Counts of the data from which a forecast takes its run times. */
export interface RunHistory {
  /** Number of running attempts at the beginning. */
  readonly runningCount: number;
  /** Number of running attempts that report steps done and in total. */
  readonly byProgressCount: number;
  /** Number of the other running attempts whose family and size have no ended run. */
  readonly unknownCount: number;
  /** Number of attempts in `unknownCount` that have a walltime. */
  readonly byWalltimeCount: number;
  /** Number of ended runs of the families and sizes of running work, each run counted once. */
  readonly similarRunCount: number;
}

/**
 * Estimates for all workloads that wait with all or some of their tasks, in the order of submission. For an array with
 * started tasks, the estimate is for its next task. Work that can never start gets no instant, and no scenario is
 * simulated to its end for this work.
 */
export function estimateStarts(engine: Engine, options: EstimateOptions): readonly StartEstimate[] {
  const { state } = engine;
  const history = workHistory(state, options.past);
  const earliest = new EarliestStarts(engine, options.nowMs);
  const ordered = workWithComingNodes(state);
  const waiting = history.workloads.flatMap((workload): readonly WaitingEstimate[] => {
    if (!earliest.waits(workload)) return [];
    const earliestMs = earliest.of(workload);
    // The fleet of now could not hold the work; that of the scenarios has the nodes that were ordered for it.
    const isOrdered = earliestMs >= NEVER_AS_THINGS_ARE && ordered.has(workload.id);
    return [{ workloadId: workload.id, earliestMs: isOrdered ? options.nowMs : earliestMs }];
  });
  const starting = waiting.filter(({ earliestMs }) => earliestMs < NEVER_AS_THINGS_ARE);
  const targets = new Set(starting.map(({ workloadId }) => workloadId));
  const liveCount = state.attempts.size + history.workloads.reduce((sum, each) => sum + startsNeeded(each), 0);
  const scenarioCount = Math.max(
    scenarioBounds.min,
    Math.min(scenarioBounds.max, Math.floor(options.effort / liveCount)),
  );
  const isCoarse = scenarioCount * liveCount > options.effort;
  const arrivalsReplayed = mayBePassed(history, targets);
  if (targets.size === 0) return waiting.map(({ workloadId }) => neverStarting(workloadId));
  const model = new DurationModel(history.records, options.durationRules, history.imported);
  const futures = playFutures({ engine, options, history, model, targets, scenarioCount, isCoarse, arrivalsReplayed });
  const grounds = { arrivalsReplayed, history: runHistory(engine.state, history, { model, nowMs: options.nowMs }) };
  return waiting.map((each) =>
    targets.has(each.workloadId)
      ? estimateIn(futures, each, { ...options, ...grounds })
      : neverStarting(each.workloadId),
  );
}

function runHistory(
  { attempts, workloads }: ReadonlyState,
  { indexOf }: WorkHistory,
  { model, nowMs }: { readonly model: DurationModel; readonly nowMs: number },
): RunHistory {
  const known = new Set<number>();
  const counts = { runningCount: 0, byProgressCount: 0, unknownCount: 0, byWalltimeCount: 0 };
  for (const attempt of attempts.values()) {
    const workload = workloads.get(attempt.workloadId);
    const record = indexOf.get(attempt.workloadId);
    if (workload === undefined || record === undefined) continue;
    counts.runningCount++;
    if (progressDurationMs(workload, attempt, { nowMs, uniform: 0.5 }) !== null) counts.byProgressCount++;
    else if (model.similarRunCount([record]) > 0) known.add(record);
    else {
      counts.unknownCount++;
      if (workload.spec.walltimeMs !== null) counts.byWalltimeCount++;
    }
  }
  return { ...counts, similarRunCount: model.similarRunCount(known) };
}

interface WaitingEstimate {
  readonly workloadId: WorkloadId;
  /** Earliest start, computed by `EarliestStarts`. */
  readonly earliestMs: number;
}

function estimateIn(
  futures: readonly ForwardStarts[],
  { workloadId, earliestMs }: WaitingEstimate,
  options: EstimateOptions & Required<Pick<EstimateGrounds, "arrivalsReplayed" | "history">>,
): StartEstimate {
  const untilMs = playedUntilMs(futures, workloadId);
  const starts = futures
    .flatMap((future) => future.starts.get(workloadId) ?? [])
    .filter(({ atMs }) => atMs <= untilMs)
    .toSorted((left, right) => left.atMs - right.atMs);
  const middle = starts[starts.length >> 1];
  const because = {
    endsBefore: middle?.endsBefore ?? 0,
    startsBefore: middle?.startsBefore ?? 0,
    startedCount: starts.length,
    scenarioCount: futures.length,
    arrivalsReplayed: options.arrivalsReplayed,
    history: options.history,
  };
  return {
    workloadId,
    ...instants(rangeOf(starts, futures.length, { ...options, earliestMs }), options),
    ...(untilMs < Number.POSITIVE_INFINITY && { playedUntilMs: untilMs }),
    because,
  };
}

function neverStarting(workloadId: WorkloadId): StartEstimate {
  const because = { endsBefore: 0, startsBefore: 0, startedCount: 0, scenarioCount: 0, arrivalsReplayed: false };
  return { workloadId, p10AtMs: null, p50AtMs: null, p90AtMs: null, because };
}

/** Number of starts that the workload still needs: one for itself, or one for each of its tasks. */
function startsNeeded(workload: Workload): number {
  const { phase } = workload;
  return phase === "pending" || phase === "running" ? waitingTaskCount(workload) : 0;
}

/**
 * The instant up to which starts are known in every scenario. The first scenario that was cut without a start of this
 * workload sets this limit. Later starts in other scenarios are ignored, because they would bias the sample.
 */
function playedUntilMs(futures: readonly ForwardStarts[], workloadId: WorkloadId): number {
  return futures.reduce(
    (untilMs, { starts, playedUntilMs: cutMs }) => (starts.has(workloadId) ? untilMs : Math.min(untilMs, cutMs)),
    Number.POSITIVE_INFINITY,
  );
}

interface Play {
  readonly engine: Engine;
  readonly options: EstimateOptions;
  readonly history: WorkHistory;
  readonly model: DurationModel;
  readonly targets: ReadonlySet<WorkloadId>;
  /** The maximum number of scenarios. If the steps are used up, fewer scenarios run, but at least the minimum. */
  readonly scenarioCount: number;
  readonly isCoarse: boolean;
  readonly arrivalsReplayed: boolean;
}

function playFutures({ scenarioCount, ...play }: Play): readonly ForwardStarts[] {
  const { stepsMax } = play.options;
  const futures: ForwardStarts[] = [];
  let stepCount = 0;
  while (futures.length < scenarioCount && (futures.length < scenarioBounds.min || stepCount < stepsMax)) {
    const future = playFuture(play, futures.length);
    stepCount += future.stepCount;
    futures.push(future);
  }
  return futures;
}

function playFuture(play: Omit<Play, "scenarioCount">, index: number): ForwardStarts {
  const { engine, options, history, model, targets, isCoarse, arrivalsReplayed } = play;
  const { nowMs, horizonMs, seed, stepsMax } = options;
  const scenarioSeed = seed * scenarioBounds.max + index;
  const future = forkEngine(engine);
  const durations = model.scenario(scenarioSeed);
  return forwardStarts({
    engine: future,
    nowMs,
    horizonMs,
    grain: isCoarse ? coarseGrain : grain,
    stepsMax: Math.floor(stepsMax / scenarioBounds.min),
    targets,
    scenario: {
      durationMs: (id, elapsedMs, running) => {
        const known = history.indexOf.get(id);
        const workload = known === undefined ? future.state.workloads.get(id) : history.workloads[known];
        invariant(workload !== undefined, `workload ${id} runs and is not in the state`);
        if (running !== null) {
          const uniform = draw(scenarioSeed, running.placedSequence, "progress") / 2 ** 32;
          const byProgressMs = progressDurationMs(workload, running, { nowMs, uniform });
          if (byProgressMs !== null) return byProgressMs;
        }
        return drawnDurationMs(durations, history, workload, elapsedMs);
      },
      transferUniform: (sequence) => draw(scenarioSeed, sequence, "transfer") / 2 ** 32,
      arrivals: arrivalsReplayed ? arrivalsOf(history, { nowMs, seed: scenarioSeed }) : [].values(),
    },
  });
}

function* arrivalsOf(history: WorkHistory, replay: ArrivalReplay): Generator<ForwardArrival> {
  for (const { atMs, record } of replayedArrivals(history, replay)) {
    const { id, actor, spec } = history.workloads[record]!;
    yield { atMs, actor, spec, like: id };
  }
}

function rangeOf(
  starts: readonly ForwardStart[],
  scenarioCount: number,
  { nowMs, calibration, earliestMs }: EstimateOptions & Pick<WaitingEstimate, "earliestMs">,
): WaitRange {
  const waitMs = (index: number): number => (starts[index]?.atMs ?? Number.POSITIVE_INFINITY) - nowMs;
  // The k-th smallest of n draws lies on average at k/(n + 1) of the distribution (Weibull's plotting position). The
  // usual interpolation from the smallest to the largest draw would cover too little of the distribution when n is
  // small.
  const quantile = (tenths: number): number => {
    const place = Math.min(scenarioCount - 1, Math.max(0, (tenths * (scenarioCount + 1)) / 10 - 1));
    const low = Math.floor(place);
    const share = place - low;
    return share === 0 ? waitMs(low) : waitMs(low) * (1 - share) + waitMs(low + 1) * share;
  };
  const range = { p10Ms: quantile(1), p50Ms: quantile(5), p90Ms: quantile(9) };
  if (calibration === null) return range;
  // The certain part of the wait. Only the time after this part is uncertain.
  const certainMs = Math.max(0, Math.min(earliestMs, starts[0]?.atMs ?? earliestMs) - nowMs);
  const { p10Ms, p50Ms, p90Ms } = range;
  const rest = { p10Ms: p10Ms - certainMs, p50Ms: p50Ms - certainMs, p90Ms: p90Ms - certainMs };
  const calibrated = calibration.range(rest);
  return {
    p10Ms: calibrated.p10Ms + certainMs,
    p50Ms: calibrated.p50Ms + certainMs,
    p90Ms: calibrated.p90Ms + certainMs,
  };
}

function instants(
  { p10Ms, p50Ms, p90Ms }: WaitRange,
  { nowMs, horizonMs }: EstimateOptions,
): Pick<StartEstimate, "p10AtMs" | "p50AtMs" | "p90AtMs"> {
  const at = (waitMs: number): number | null => (waitMs > horizonMs ? null : nowMs + Math.round(waitMs));
  return { p10AtMs: at(p10Ms), p50AtMs: at(p50Ms), p90AtMs: at(p90Ms) };
}
