/**
 * The traffic at which the SLO is met on a mix of two accelerators, one 2.5 times as fast as the other: `npm run bench
 * slo`. For each policy, bisection finds the highest arrival rate at which 95% of the requests meet their SLO. Every
 * policy gets the same arrivals.
 */
import { createRouter, defaultCoefficients, defaultLimits, seededDraw } from "../src/index.ts";
import type { LatencyCoefficients, RoutingPolicy, Slo } from "../src/index.ts";
import { serve, type Arrival, type EngineSetting } from "./serving-model.ts";

const TARGET_SHARE = 0.95;
const REQUESTS = 4000;
/** Number of requests at the beginning that are not counted, because the pool is still filling up. */
const WARM_UP = 500;
const SPEED_RATIO = 2.5;

interface Mix {
  readonly name: string;
  readonly fastCount: number;
  readonly slowCount: number;
  readonly slo: Slo;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly maxSequences: number;
}

const chat = { promptTokens: 1200, outputTokens: 210 };
const mixes: readonly Mix[] = [
  {
    name: "chat, half fast",
    fastCount: 4,
    slowCount: 4,
    slo: { ttftMs: 1000, tpotMs: 40 },
    ...chat,
    maxSequences: 128,
  },
  { name: "chat, few fast", fastCount: 2, slowCount: 6, slo: { ttftMs: 1000, tpotMs: 40 }, ...chat, maxSequences: 128 },
  { name: "chat, TTFT only", fastCount: 4, slowCount: 4, slo: { ttftMs: 500 }, ...chat, maxSequences: 64 },
  {
    name: "long prompts",
    fastCount: 4,
    slowCount: 4,
    slo: { ttftMs: 2000, tpotMs: 60 },
    promptTokens: 6000,
    outputTokens: 150,
    maxSequences: 128,
  },
  {
    name: "long outputs",
    fastCount: 4,
    slowCount: 4,
    slo: { ttftMs: 1000, tpotMs: 50 },
    promptTokens: 400,
    outputTokens: 600,
    maxSequences: 256,
  },
];

/** The slow accelerator: an 8B model on a card with a memory bandwidth of 1 TB/s. */
const slow: LatencyCoefficients = {
  ...defaultCoefficients,
  stepMs: 18,
  stepMsPerSequence: 0.15,
  stepMsPerKvToken: 0.00013,
  prefillMsPerToken: 0.12,
};
const fast: LatencyCoefficients = {
  ...slow,
  stepMs: slow.stepMs / SPEED_RATIO,
  stepMsPerSequence: slow.stepMsPerSequence / SPEED_RATIO,
  stepMsPerKvToken: slow.stepMsPerKvToken / SPEED_RATIO,
  prefillMsPerToken: slow.prefillMsPerToken / SPEED_RATIO,
};

/**
 * The speeds that the router knows at the start: the true coefficients, or equal ones for all replicas, which it has to
 * correct.
 */
type Knowledge = "true coefficients" | "equal coefficients";

function shareMet(mix: Mix, policy: RoutingPolicy, knowledge: Knowledge, arrivals: readonly Arrival[]): number {
  const router = createRouter({ policy, draw: seededDraw(1) });
  const limits = { ...defaultLimits, maxSequences: mix.maxSequences, maxBatchedTokens: 2048 };
  const settings: EngineSetting[] = [];
  for (let index = 0; index < mix.fastCount + mix.slowCount; index += 1) {
    const coefficients = index < mix.fastCount ? fast : slow;
    settings.push({ id: `r${index}`, coefficients, limits, cacheTokens: 1, roundTripMs: 1 });
    const latency = knowledge === "true coefficients" ? coefficients : slow;
    router.addReplica({ id: `r${index}`, latency, limits, roundTripMs: 1 });
  }
  const { served } = serve(router, settings, arrivals);
  const firstMs = arrivals[WARM_UP]?.atMs ?? 0;
  const scored = served.filter(({ arrival }) => arrival.atMs >= firstMs);
  const met = scored.filter(
    ({ ttftMs, tpotMs }) => ttftMs <= (mix.slo.ttftMs ?? Infinity) && tpotMs <= (mix.slo.tpotMs ?? Infinity),
  );
  return met.length / scored.length;
}

/** Poisson arrivals. Lengths are exponentially distributed around the means, with a minimum. */
function arrivalsOf(mix: Mix, ratePerSecond: number, seed: number): Arrival[] {
  const draw = seededDraw(seed);
  const exponential = (mean: number): number => -Math.log((draw() + 1) / 0x1_0000_0001) * mean;
  let atMs = 0;
  return Array.from({ length: REQUESTS }, () => {
    atMs += exponential(1000 / ratePerSecond);
    const promptTokens = Math.ceil(20 + exponential(mix.promptTokens - 20));
    const outputTokens = Math.ceil(2 + exponential(mix.outputTokens - 2));
    return { atMs, outputTokens, request: { promptTokens, slo: mix.slo } };
  });
}

function highestRate(mix: Mix, policy: RoutingPolicy, knowledge: Knowledge): number {
  const isMet = (rate: number): boolean =>
    [11, 12].every((seed) => shareMet(mix, policy, knowledge, arrivalsOf(mix, rate, seed)) >= TARGET_SHARE);
  let low = 0.25;
  while (isMet(low * 2)) low *= 2;
  let high = low * 2;
  while (high / low > 1.01) {
    const middle = Math.sqrt(low * high);
    if (isMet(middle)) low = middle;
    else high = middle;
  }
  return low;
}

const [only = ""] = process.argv.slice(2);
for (const mix of mixes.filter(({ name }) => name.includes(only))) {
  const base = highestRate(mix, "least-requests", "true coefficients");
  const others: readonly (readonly [RoutingPolicy, Knowledge])[] = [
    ["predicted-latency", "true coefficients"],
    ["predicted-latency", "equal coefficients"],
    ["least-work", "true coefficients"],
    ["power-of-two", "true coefficients"],
  ];
  const line: Record<string, unknown> = { mix: mix.name, leastRequests: round(base) };
  for (const [policy, knowledge] of others) {
    const rate = highestRate(mix, policy, knowledge);
    line[`${policy}, ${knowledge}`] = { requestsPerSecond: round(rate), ratio: round(rate / base) };
  }
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
