import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { fittedInference as k } from "../constants-inference.ts";
import {
  batchLimit,
  closedLoop,
  closedRun,
  decodeStep,
  firstTokenSteps,
  meanContext,
  neighbourPromptsMs,
  promptLatencyMs,
  promptMs,
  staticBatch,
} from "./batching.ts";
import { disaggregatedLoop } from "./disaggregation.ts";
import { layout, replicaOf } from "./testing/replicas.ts";

const request = { promptTokens: 8192, outputTokens: 1024, prefixHitShare: 0 };
const h200 = replicaOf("llama-3-70b", "H200", layout(1), "fp8");

describe("a closed loop", () => {
  it("takes no more sequences than fit, and lets the others wait", () => {
    const limit = batchLimit(h200, request);
    const full = closedLoop(h200, request, 128, k);
    expect(limit).toBeGreaterThan(30);
    expect(limit).toBeLessThan(64);
    expect(full.batch).toBe(limit);
    expect(full.waiting).toBe(128 - limit);
    expect(full.firstToken.admissionMs).toBeGreaterThan(10_000);
    expect(closedLoop(h200, request, 256, k).tpotMs).toBe(full.tpotMs);
  });

  it("has a time per token and a time to the first token that are the sums of their parts", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), (concurrency) => {
        const state = closedLoop(h200, request, concurrency, k);
        const { frontEndMs, admissionMs, queueMs, promptMs: own, totalMs } = state.firstToken;
        expect(state.stepMs + state.promptsMs).toBeCloseTo(state.tpotMs, 9);
        expect(frontEndMs + admissionMs + queueMs + own).toBeCloseTo(totalMs, 9);
      }),
    );
  });

  it("gives more tokens and later ones with more in flight, until the cache is full", () => {
    const states = [1, 2, 4, 8, 16, 32].map((concurrency) => closedLoop(h200, request, concurrency, k));
    for (const [index, state] of states.entries()) {
      const before = states[index - 1];
      if (before === undefined) continue;
      expect(state.outputTokensPerS).toBeGreaterThan(before.outputTokensPerS);
      expect(state.tpotMs).toBeGreaterThan(before.tpotMs);
    }
  });

  it("spares the prompts' time as far as their prefix is found", () => {
    const hit = { ...request, prefixHitShare: 0.9 };
    expect(promptMs(h200, hit, k)).toBeLessThan(0.2 * promptMs(h200, request, k));
    expect(closedLoop(h200, hit, 32, k).tpotMs).toBeLessThan(closedLoop(h200, request, 32, k).tpotMs);
    expect(promptMs(h200, { ...request, prefixHitShare: 1 }, k)).toBe(0);
  });

  it("waits for more prompts where requests start together", () => {
    const queueMs = (firstWave: number): number =>
      closedRun(h200, request, { concurrency: 24, firstWave }, k).firstToken.queueMs;
    expect(queueMs(0.5)).toBeGreaterThan(queueMs(0.1));
    expect(queueMs(0.1)).toBeGreaterThan(queueMs(0));
  });

  it("waits longer if decoding stops for prompts, because requests that end together start together", () => {
    const stopping = { ...h200, engine: { ...h200.engine, isPromptMixed: false } };
    const queueMs = (replica: typeof h200, outputTokens: number): number =>
      closedLoop(replica, { ...request, outputTokens }, 24, k).firstToken.queueMs;
    expect(queueMs(stopping, 256)).toBeGreaterThan(2 * queueMs(h200, 256));
    expect(queueMs(stopping, 256)).toBeGreaterThan(2 * queueMs(stopping, 8192));
  });

  it("takes longer to the first token on a server that relays tokens, and as long for every later one", () => {
    const relayed = { ...h200, engine: { ...h200.engine, isRelayed: true } };
    const [own, through] = [h200, relayed].map((replica) => closedLoop(replica, request, 8, k));
    expect(through?.ttftMs).toBeGreaterThan(own?.ttftMs ?? Infinity);
    expect(through?.tpotMs).toBe(own?.tpotMs);
  });

  it("has prompts of neighbours beside its own, the more the shorter the outputs", () => {
    const neighbours = (inFlight: number, outputTokens: number): number =>
      neighbourPromptsMs(h200, { ...request, outputTokens }, inFlight, k);
    expect(neighbours(1, 128)).toBe(0);
    expect(neighbours(0.5, 128)).toBe(0);
    expect(neighbours(8, 128)).toBeGreaterThan(neighbours(8, 1024));
    expect(neighbours(16, 1024)).toBeGreaterThan(neighbours(8, 1024));
    const most = k.neighbourPrompts * promptLatencyMs(h200, request, 0, k);
    expect(neighbours(24, 16) / most).toBeCloseTo(23 / 24, 4);
    expect(closedLoop(h200, { ...request, outputTokens: 64 }, 16, k).firstToken.queueMs).toBeGreaterThan(
      closedLoop(h200, request, 16, k).firstToken.queueMs,
    );
  });

  it("starts with a wave whose prompts also wait for the decoding of those that started", () => {
    const queueMs = (firstWave: number): number =>
      closedRun(h200, request, { concurrency: 24, firstWave }, k).firstToken.queueMs;
    const steps = firstTokenSteps(h200, k) * decodeStep(h200, 24, meanContext(request), k).totalMs;
    expect(queueMs(1) - steps).toBeGreaterThan((23 * promptMs(h200, request, k)) / 2);
  });

  it("one request alone waits for nobody's prompts", () => {
    const alone = closedLoop(h200, request, 1, k);
    expect(alone.promptsMs).toBe(0);
    expect(alone.tpotMs).toBe(decodeStep(h200, 1, meanContext(request), k).totalMs);
  });
});

describe("quantisation", () => {
  it("makes a small batch faster in the order of the bytes", () => {
    const tpot = (format: "bf16" | "fp8" | "nvfp4"): number =>
      closedLoop(replicaOf("llama-3-70b", "B200", layout(2), format), request, 4, k).tpotMs;
    expect(tpot("bf16")).toBeGreaterThan(tpot("fp8"));
    expect(tpot("fp8")).toBeGreaterThan(tpot("nvfp4"));
  });

  it("of the cache alone doubles what fits, and speeds long contexts up", () => {
    const wide = replicaOf("llama-3-8b", "H100", layout(1));
    const narrow = { ...wide, formats: { ...wide.formats, kv: "fp8" as const } };
    const long = { promptTokens: 100_000, outputTokens: 500, prefixHitShare: 0 };
    expect(batchLimit(narrow, long) / batchLimit(wide, long)).toBeCloseTo(2, 6);
    expect(staticBatch(narrow, long, 2, k).tpotMs).toBeLessThan(0.9 * staticBatch(wide, long, 2, k).tpotMs);
  });
});

describe("disaggregation", () => {
  const worker = replicaOf("deepseek-v3", "B200", layout(8), "fp8");
  const group = (prefillCount: number, decodeCount: number): Parameters<typeof disaggregatedLoop>[0] => ({
    prefill: worker,
    prefillCount,
    decode: worker,
    decodeCount,
  });

  it("more requests than prefill keeps up with wait, and the time per token stays", () => {
    const busy = disaggregatedLoop(group(1, 8), request, 2000, k);
    const busier = disaggregatedLoop(group(1, 8), request, 4000, k);
    expect(busier.tpotMs).toBeCloseTo(busy.tpotMs, 6);
    expect(busier.outputTokensPerS).toBeCloseTo(busy.outputTokensPerS, 3);
    const promptsPerS = 1000 / promptMs(worker, request, k);
    expect(busy.outputTokensPerS / request.outputTokens).toBeCloseTo(promptsPerS, 2);
  });

  it("more prefill workers have fewer prompts beside a request's own", () => {
    const [one, four] = [1, 4].map((count) => disaggregatedLoop(group(count, 8), request, 32, k).firstToken.queueMs);
    expect(four).toBeLessThan(one ?? 0);
  });

  it("a second prefill worker takes that limit away", () => {
    const one = disaggregatedLoop(group(1, 2), request, 500, k);
    const two = disaggregatedLoop(group(2, 2), request, 500, k);
    expect(two.outputTokensPerS).toBeGreaterThan(1.2 * one.outputTokensPerS);
  });

  it("keeps no more in both stages than are in flight", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 8 }), (concurrency, decodeCount) => {
        const state = disaggregatedLoop(group(2, decodeCount), request, concurrency, k);
        expect(state.waiting).toBeGreaterThanOrEqual(0);
        if (state.batch > 1) expect(state.batch * decodeCount).toBeLessThanOrEqual(concurrency + 1e-6);
      }),
    );
  });
});
