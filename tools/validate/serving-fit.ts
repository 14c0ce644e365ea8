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

/** How the engine was started: four whole numbers, chosen among the usual ones. */
export interface EngineSetup {
  readonly tensor: number;
  /** Engines behind one front end, each with a batch and a cache of its own. */
  readonly engines: number;
  readonly sequencesMax: number;
  readonly stepTokensMax: number;
}

/** Corrections of the performance model's prediction: five numbers. */
export interface Corrections {
  readonly memoryRate: number;
  readonly computeRate: number;
  /** Added to every step. */
  readonly stepMs: number;
  readonly cacheSize: number;
  /** Added to the time to the first token: front end, transport. */
  readonly frontEndMs: number;
}

export interface FittedRun {
  readonly setup: EngineSetup;
  readonly corrections: Corrections;
  readonly loss: number;
}

/** Times of a simulated run, ms, by request. */
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

/** The engine as the performance model predicts it from datasheets, corrected. */
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
 * The run simulated from its arrivals and lengths. Several engines take requests as vLLM's front end gives them: to the one
 * with the least of four times its waiting and its running ones. Undefined where a request fits into no cache.
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

/** Below this, ms, differences of times to the first token count for little. */
const ttftGrainMs = 50;

/** Mean distance of the first `count` requests, as logarithms: of the time to the first token once, of the time per token twice. */
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

/** A correction of 30% (3 ms of a step, of the front end) costs as much as a distance of 1% in every request. */
const spread = 0.3;
const spreadOfStandIns = 1.5;
const priorWeight = 0.01;
const unusable = 1e9;

/** Values that engines start with unless told otherwise; any other costs as much as a correction of 30%. */
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

/** Sequences that ran at once at most, by what the first `count` requests show of themselves. */
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
 * Fits nine constants to the first `count` requests: four of the setup, five corrections. Only what these requests met is
 * compared; of the others the simulation knows arrival and lengths. Corrections are drawn towards the performance model's
 * prediction. First the setup at the usual tokens of a step, then those, then the corrections of the best three.
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

/** The prediction from datasheets alone, with the fitted setup: what the corrections correct. */
export function uncorrected(run: MeasuredRun, setup: EngineSetup): SimulatedTimes | undefined {
  return simulate(run, setup, neutral);
}
