/** The router with engines of continuous batching: samples of the figures that the benchmarks measure in full. */
import { describe, expect, it } from "vitest";
import { sharedData } from "../../../tools/shared-data.ts";
import { cacheHitShare, readTrace, type TraceRequest } from "../bench/mooncake.ts";
import { serve, type EngineSetting, type Outcome } from "../bench/serving-model.ts";
import type { LatencyCoefficients, Router, RoutingPolicy } from "./contract.ts";
import { seededDraw } from "./draw.ts";
import { defaultCoefficients, defaultLimits } from "./replica-state.ts";
import { createRouter } from "./router.ts";

const traceFile = sharedData("traces/mooncake/conversation_trace.jsonl");

function scaled(factor: number): LatencyCoefficients {
  const { stepMs, stepMsPerSequence, stepMsPerKvToken, prefillMsPerToken, requestMs } = defaultCoefficients;
  return {
    stepMs: stepMs * factor,
    stepMsPerSequence: stepMsPerSequence * factor,
    stepMsPerKvToken: stepMsPerKvToken * factor,
    prefillMsPerToken: prefillMsPerToken * factor,
    requestMs,
  };
}

function pool(policy: RoutingPolicy, engines: readonly EngineSetting[], told?: LatencyCoefficients): Router {
  const router = createRouter({ policy, draw: seededDraw(1) });
  for (const { id, coefficients, limits } of engines) {
    router.addReplica({ id, latency: told ?? coefficients, limits, roundTripMs: 1 });
  }
  return router;
}

function engine(id: string, factor: number, cacheTokens = 1): EngineSetting {
  const limits = { ...defaultLimits, maxBatchedTokens: 2048, kvCapacityTokens: Math.max(cacheTokens, 400_000) };
  return { id, coefficients: scaled(factor), limits, cacheTokens, roundTripMs: 1 };
}

function exponential(draw: () => number, mean: number): number {
  return -Math.log((draw() + 1) / 0x1_0000_0001) * mean;
}

/** Conversations of users. Each prompt repeats the previous ones and is longer. */
function conversations(count: number, ratePerSecond: number): TraceRequest[] {
  const draw = seededDraw(5);
  const requests: TraceRequest[] = [];
  for (let user = 0; user < count; user += 1) {
    let atMs = exponential(draw, (1000 * count * 4) / ratePerSecond);
    let length = 2;
    for (let rounds = 1 + (draw() % 7); rounds > 0; rounds -= 1) {
      length += 1 + (draw() % 4);
      // The first block is a system prompt that all conversations share.
      const hashes = Float64Array.from({ length }, (_, at) => (at === 0 ? 1 : user * 1000 + at + 2));
      const prefix = { hashes, endTokens: Float64Array.from(hashes, (_, at) => (at + 1) * 512), count: length };
      requests.push({ atMs, promptTokens: length * 512, outputTokens: 2 + (draw() % 300), prefix });
      atMs += 5000 + exponential(draw, 20_000);
    }
  }
  return requests.toSorted((left, right) => left.atMs - right.atMs);
}

function hitsOf(trace: readonly TraceRequest[], policy: RoutingPolicy, replicas: number, cacheBlocks: number) {
  const engines = Array.from({ length: replicas }, (_, index) => engine(`r${index}`, 1, cacheBlocks * 512));
  const arrivals = trace.map(({ atMs, outputTokens, promptTokens, prefix }) => ({
    atMs,
    outputTokens,
    request: { promptTokens, prefix },
  }));
  const outcome = serve(pool(policy, engines), engines, arrivals);
  const blocks = trace.reduce((sum, { prefix }) => sum + prefix.count, 0);
  const hits = outcome.served.reduce((sum, { cachedTokens }) => sum + Math.ceil(cachedTokens / 512), 0);
  const oracle = cacheHitShare(trace, cacheBlocks * replicas);
  return {
    ofOracle: hits / blocks / oracle,
    requests: maxToMean(outcome, () => 1),
    tokens: maxToMean(outcome, computed),
  };
}

function computed({ arrival, cachedTokens }: Outcome["served"][number]): number {
  return arrival.request.promptTokens - cachedTokens + arrival.outputTokens;
}

function maxToMean({ served, busyMs }: Outcome, weigh: (each: Outcome["served"][number]) => number): number {
  const loads = new Map([...busyMs.keys()].map((id) => [id, 0]));
  for (const each of served) loads.set(each.replicaId, (loads.get(each.replicaId) ?? 0) + weigh(each));
  const values = [...loads.values()];
  return Math.max(...values) / (values.reduce((sum, each) => sum + each, 0) / values.length);
}

describe("prefix routing", () => {
  it("finds 95% of the oracle's hits on multi-round traffic, with the load spread evenly", () => {
    const found = hitsOf(conversations(1500, 8), "prefix", 8, 4000);
    expect(found.ofOracle).toBeGreaterThan(0.95);
    expect(found.requests).toBeLessThan(1.25);
    expect(found.tokens).toBeLessThan(1.25);
    // Routing by load alone misses most of these hits with the same traffic.
    expect(hitsOf(conversations(1500, 8), "least-work", 8, 4000).ofOracle).toBeLessThan(0.6);
  });

  it.skipIf(traceFile === null)("reproduces the published cache hits of Mooncake's conversation trace", () => {
    const trace = readTrace(traceFile!);
    expect(Math.abs(cacheHitShare(trace, 1e9) / 0.3664 - 1)).toBeLessThan(0.01);
    expect(Math.abs(cacheHitShare(trace, 5859) / 0.1355 - 1)).toBeLessThan(0.01);
  });

  it.skipIf(traceFile === null)("finds 95% of the oracle's hits on a part of that trace", () => {
    const found = hitsOf(readTrace(traceFile!).slice(0, 4000), "prefix", 4, 5859);
    expect(found.ofOracle).toBeGreaterThan(0.95);
    expect(found.requests).toBeLessThan(1.25);
    expect(found.tokens).toBeLessThan(1.25);
  });
});

describe("predicted-latency routing over two accelerators, one 2.5 times as fast", () => {
  const slo = { ttftMs: 1000, tpotMs: 40 };
  const engines = [0, 1, 2, 3].flatMap((index) => [engine(`fast${index}`, 1), engine(`slow${index}`, 2.5)]);
  const run = (policy: RoutingPolicy, ratePerSecond: number, told?: LatencyCoefficients) => {
    const draw = seededDraw(3);
    let atMs = 0;
    const arrivals = Array.from({ length: 1500 }, () => {
      atMs += exponential(draw, 1000 / ratePerSecond);
      const promptTokens = Math.ceil(20 + exponential(draw, 1200));
      return { atMs, outputTokens: Math.ceil(2 + exponential(draw, 210)), request: { promptTokens, slo } };
    });
    const router = pool(policy, engines, told);
    const { served } = serve(router, engines, arrivals);
    const met = served.filter(({ ttftMs, tpotMs }) => ttftMs <= slo.ttftMs && tpotMs <= slo.tpotMs);
    return { share: met.length / served.length, router };
  };
  const highest = 40;

  it("meets the SLO for 20% more traffic than least-requests routing", () => {
    expect(run("least-requests", highest).share).toBeGreaterThan(0.95);
    expect(run("least-requests", highest * 1.2).share).toBeLessThan(0.95);
    expect(run("predicted-latency", highest * 1.2).share).toBeGreaterThan(0.95);
  });

  it("does so too where it has to learn that the replicas are unlike", () => {
    const { share, router } = run("predicted-latency", highest * 1.2, scaled(1.7));
    expect(share).toBeGreaterThan(0.95);
    const prefill = (id: string): number => router.coefficients(id)?.prefillMsPerToken ?? 0;
    expect(prefill("slow0") / prefill("fast0")).toBeGreaterThan(1.8);
    expect(prefill("slow0") / prefill("fast0")).toBeLessThan(3.3);
  });

  it("predicts the first token's time and the time per token of unloaded replicas within 10%", () => {
    const router = pool("predicted-latency", engines);
    const [report] = router.explain({ promptTokens: 1000, expectedOutputTokens: 2 }, 0);
    // Expected: 1 ms of network, 2 ms of fixed cost, 8 ms for a step, and 0.03 ms for each of 1,000 tokens.
    expect(Math.abs((report?.predictedTtftMs ?? 0) / 41 - 1)).toBeLessThan(0.1);
    expect(Math.abs((report?.predictedTpotMs ?? 0) / 8.1 - 1)).toBeLessThan(0.1);
  });
});
