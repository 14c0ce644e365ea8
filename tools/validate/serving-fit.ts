import {
  buildReplica,
  currentEngine,
  fittedInference,
  replicaCosts,
  replicaLimits,
  servingFormats,
  TimedEngine,
  usualLimits,
} from "../../packages/perf/src/index.ts";
import type { BatchingLimits, BatchingObserver, StepCosts } from "../../packages/perf/src/index.ts";
import type { MeasuredRequest, MeasuredRun } from "./serving-runs.ts";
import { minimise } from "./simplex.ts";

/** Start options of the engine. They are four whole numbers, and the fit chooses them from usual values. */
export interface EngineSetup {
  readonly tensor: number;
  /** Number of engines behind one front end. Each engine has its own batch and cache. */
  readonly engines: number;
  readonly sequencesMax: number;
  readonly stepTokensMax: number;
}

/** Corrections of the performance model: five numbers, which are fitted. */
export interface Corrections {
  readonly memoryRate: number;
  readonly computeRate: number;
  /** Time in ms that is added to every step. */
  readonly stepMs: number;
  readonly cacheSize: number;
  /** Time in ms that is added to the time to the first token, for front end and transport. */
  readonly frontEndMs: number;
}

export interface FittedRun {
  readonly setup: EngineSetup;
  readonly corrections: Corrections;
  readonly loss: number;
}

/** Times of the requests of a simulated run in ms, by the index of the request. */
export interface SimulatedTimes {
  readonly firstTokenMs: Float64Array;
  readonly endMs: Float64Array;
}

interface EngineModel {
  readonly costs: StepCosts;
  readonly limits: BatchingLimits;
}

const neutral: Corrections = { memoryRate: 1, computeRate: 1, stepMs: 0, cacheSize: 1, frontEndMs: 0 };

function correctionsOf([memory = 0, compute = 0, step = 0, cache = 0, front = 0]: readonly number[]): Corrections {
  return {
    memoryRate: Math.exp(memory),
    computeRate: Math.exp(compute),
    stepMs: 10 * step,
    cacheSize: Math.exp(cache),
    frontEndMs: 10 * front,
  };
}

/** The model of the engine: predicted from datasheets, then corrected. */
function engineModel(run: MeasuredRun, setup: EngineSetup, by: Corrections): EngineModel {
  const { accelerator } = run;
  const rates = Object.entries(accelerator.denseTflops).map(([name, peak]) => {
    const best = accelerator.bestMatmulTflops?.[name as keyof typeof accelerator.denseTflops];
    return [name, (best ?? 0.78 * peak) * by.computeRate] as const;
  });
  const engine = { ...currentEngine, stepTokensMax: setup.stepTokensMax, sequencesMax: setup.sequencesMax };
  const replica = buildReplica({
    model: run.model,
    accelerator: {
      ...accelerator,
      memoryGbPerS: accelerator.memoryGbPerS * by.memoryRate,
      bestMatmulTflops: Object.fromEntries(rates),
    },
    formats: servingFormats("bf16"),
    layout: { tensor: setup.tensor, pipeline: 1, attentionData: 1, expert: 1 },
    engine,
  });
  const usual = meanTokens(run.requests);
  const costs = replicaCosts(replica, fittedInference, usual);
  const { blockCount } = replicaLimits(replica, usual);
  return {
    costs: { ...costs, tokensMs: costs.tokensMs.map((ms) => Math.max(0.05, ms + by.stepMs)) },
    limits: { ...usualLimits, ...engine, blockCount: Math.floor(blockCount * by.cacheSize) },
  };
}

function meanTokens(requests: readonly MeasuredRequest[]): number {
  return requests.reduce((sum, one) => sum + one.promptTokens + one.outputTokens / 2, 0) / requests.length;
}

/**
 * Simulates a run from the arrivals and lengths of its requests. Each request is sent to the engine with the lowest
 * load, as in vLLM's front end: the load is four times the number of waiting requests plus the number of running
 * requests. Returns `undefined` if a request is too large for the cache of every engine.
 */
export function simulate(run: MeasuredRun, setup: EngineSetup, by: Corrections): SimulatedTimes | undefined {
  const { costs, limits } = engineModel(run, setup, by);
  const longest = Math.max(...run.requests.map((one) => one.promptTokens + one.outputTokens));
  if (limits.blockCount * limits.blockTokens <= longest) return undefined;
  const engines = Array.from(
    { length: setup.engines },
    () => new TimedEngine({ limits, costs, isScheduledAhead: true }),
  );
  const firstTokenMs = new Float64Array(run.requests.length);
  const endMs = new Float64Array(run.requests.length);
  const observer: BatchingObserver = {
    started: () => undefined,
    firstToken: (id, atMs) => {
      firstTokenMs[id] = atMs + by.frontEndMs;
    },
    finished: (id, atMs) => {
      endMs[id] = atMs + by.frontEndMs;
    },
  };
  const load = ({ kernel }: TimedEngine): number => 4 * kernel.waitingCount + kernel.runningCount;
  for (const [id, { promptTokens, outputTokens, arrivalMs }] of run.requests.entries()) {
    for (const engine of engines) engine.advanceTo(arrivalMs, observer);
    const least = engines.reduce((best, one) => (load(one) < load(best) ? one : best));
    least.add({ id, promptTokens, outputTokens, priority: 0, pages: [], loadedTokens: 0 }, arrivalMs);
  }
  for (const engine of engines) engine.advanceTo(Infinity, observer);
  return { firstTokenMs, endMs };
}

/**
 * Number of ms that is added to measured and simulated times to the first token before they are compared. Smaller
 * differences therefore have little weight.
 */
const ttftGrainMs = 50;

/**
 * Mean error of the first `count` requests, in natural logarithms. The error of the time per token has twice the weight
 * of the error of the time to the first token.
 */
function distance(run: MeasuredRun, times: SimulatedTimes, count: number): number {
  let sum = 0;
  for (const [id, one] of run.requests.slice(0, count).entries()) {
    const firstMs = times.firstTokenMs[id] ?? 0;
    const ttft = Math.max(0, firstMs - one.arrivalMs) + ttftGrainMs;
    sum += Math.abs(Math.log(ttft / (one.firstTokenMs - one.arrivalMs + ttftGrainMs)));
    if (one.outputTokens < 2 || one.endMs <= one.firstTokenMs) continue;
    sum += 2 * Math.abs(Math.log(Math.max(1e-3, (times.endMs[id] ?? 0) - firstMs) / (one.endMs - one.firstTokenMs)));
  }
  return sum / count;
}

/**
 * Size of a correction (30%, or 3 ms for a step or the front end) whose penalty is as large as an error of 1% in every
 * request.
 */
const spread = 0.3;
const spreadOfStandIns = 1.5;
const priorWeight = 0.01;
const unusable = 1e9;

/**
 * Values of start options that are the defaults of engines. Any other value has the same penalty as a correction of
 * 30%.
 */
const usualSequences = [128, 256, 1024];
const usualStepTokens = [2048, 8192];

function lossOf(run: MeasuredRun, setup: EngineSetup, count: number): (at: readonly number[]) => number {
  const width = run.isKnown ? spread : spreadOfStandIns;
  const unusual =
    Number(!usualSequences.includes(setup.sequencesMax)) + Number(!usualStepTokens.includes(setup.stepTokensMax));
  return (at) => {
    if (at.some((value) => Math.abs(value) > 5)) return unusable;
    const times = simulate(run, setup, correctionsOf(at));
    if (times === undefined) return unusable;
    return distance(run, times, count) + priorWeight * at.reduce((sum, value) => sum + (value / width) ** 2, unusual);
  };
}

/** The largest number of requests among the first `count` that ran at the same time. */
function concurrencySeen(run: MeasuredRun, count: number): number {
  const seen = run.requests.slice(0, count);
  const at = seen.map(({ startMs }) => seen.filter((one) => one.startMs <= startMs && one.endMs > startMs).length);
  return Math.max(...at);
}

const axes = 5;
const screeningRounds = 45;
const lastRounds = 250;
const finalists = 3;

interface Candidate {
  readonly setup: EngineSetup;
  readonly at: readonly number[];
  readonly value: number;
}

function screened(run: MeasuredRun, count: number, starts: readonly Omit<Candidate, "value">[]): Candidate[] {
  return starts
    .map(({ setup, at }) => {
      const step = at.map(() => 0.1);
      return { setup, ...minimise(lossOf(run, setup, count), at, step, screeningRounds) };
    })
    .filter(({ value }) => value < unusable)
    .toSorted((a, b) => a.value - b.value);
}

/**
 * Fits nine constants to the first `count` requests: four start options and five corrections. Only the times of these
 * requests are compared; from all later requests, the simulation uses only arrivals and lengths. The fit has three
 * stages. It first chooses the other start options at the default number of tokens per step, then the number of tokens
 * per step, and then the corrections for the three best candidates.
 */
export function fitRun(run: MeasuredRun, count: number): FittedRun {
  const seen = concurrencySeen(run, count);
  const uncorrectedAt = Array.from({ length: axes }, () => 0);
  const setups = [1, 2, 4, 8].flatMap((tensor) =>
    [1, 2].flatMap((engines) =>
      [...new Set([Math.ceil(seen / engines), 128, 256])]
        .filter((sequencesMax) => sequencesMax * engines >= seen)
        .map((sequencesMax) => ({
          setup: { tensor, engines, sequencesMax, stepTokensMax: usualLimits.stepTokensMax },
          at: uncorrectedAt,
        })),
    ),
  );
  const bySetup = screened(run, count, setups).slice(0, finalists);
  const byTokens = screened(
    run,
    count,
    bySetup.flatMap(({ setup, at }) =>
      [512, 1024, 4096, 8192, 16_384]
        .filter((stepTokensMax) => stepTokensMax >= setup.sequencesMax)
        .map((stepTokensMax) => ({ setup: { ...setup, stepTokensMax }, at })),
    ),
  );
  const best = [...bySetup, ...byTokens].toSorted((a, b) => a.value - b.value).slice(0, finalists);
  const ended = best.map(({ setup, at }) => ({
    setup,
    ...minimise(lossOf(run, setup, count), at, [0.05, 0.05, 0.05, 0.05, 0.05], lastRounds),
  }));
  const chosen = ended.toSorted((a, b) => a.value - b.value)[0];
  if (chosen === undefined) throw new Error(`${run.name}: no setup holds the longest request`);
  return { setup: chosen.setup, corrections: correctionsOf(chosen.at), loss: chosen.value };
}

/** The prediction from datasheets with the fitted start options and no corrections. */
export function uncorrected(run: MeasuredRun, setup: EngineSetup): SimulatedTimes | undefined {
  return simulate(run, setup, neutral);
}
