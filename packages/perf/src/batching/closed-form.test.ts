import { describe, expect, it } from "vitest";

import { fittedInference as k } from "../constants-inference.ts";
import { closedLoop, meanContext, type RequestShape } from "../inference/batching.ts";
import type { BuiltReplica } from "../inference/replica.ts";
import { layout, replicaOf } from "../inference/testing/replicas.ts";
import { replicaCosts, replicaLimits } from "./replica-costs.ts";
import { runClosedLoop } from "./runs.ts";

const placeTurns = 10;

/**
 * Runs requests on the kernel, ten for each place in the batch. Their lengths vary by 10% around the mean, as benchmark
 * clients draw them.
 */
function simulated(
  replica: BuiltReplica,
  request: RequestShape,
  concurrency: number,
): { readonly tpotMs: number; readonly ttftMs: number; readonly tokensPerS: number } {
  const requests = Array.from({ length: concurrency * placeTurns }, (_, index) => {
    // Multiples of the golden ratio, modulo 1, spread the lengths evenly without randomness.
    const share = 1.1 - 0.2 * ((index * 0.618034) % 1);
    return {
      promptTokens: Math.round(request.promptTokens * share),
      outputTokens: Math.max(2, Math.round(request.outputTokens * (2 - share))),
    };
  });
  const context = meanContext(request);
  const options = {
    limits: replicaLimits(replica, context),
    costs: replicaCosts(replica, k, context),
    isScheduledAhead: true,
  };
  const times = runClosedLoop(options, requests, concurrency);
  let tpotMs = 0;
  let ttftMs = 0;
  for (const [id, { outputTokens }] of requests.entries()) {
    tpotMs += ((times.endMs[id] ?? 0) - (times.firstTokenMs[id] ?? 0)) / (outputTokens - 1) / requests.length;
    ttftMs += ((times.firstTokenMs[id] ?? 0) - (times.arrivalMs[id] ?? 0)) / requests.length;
  }
  const seconds = Math.max(...times.endMs) / 1000;
  return { tpotMs, ttftMs, tokensPerS: times.totals.outputTokens / seconds };
}

describe("the closed form of a closed loop", () => {
  const cases = [
    ["llama-3-8b", "H100", layout(1), 16],
    ["llama-3-8b", "H100", layout(1), 64],
    ["llama-3-70b", "H200", layout(4), 8],
    ["llama-3-70b", "H200", layout(4), 48],
    ["qwen3-235b-a22b", "B200", layout(8), 32],
  ] as const;

  it.each(cases)(
    "%s on %s says what the batching kernel does: %o, %i in flight",
    (model, accelerator, shape, concurrency) => {
      const replica = replicaOf(model, accelerator, shape, "fp8");
      for (const request of [
        { promptTokens: 1024, outputTokens: 256, prefixHitShare: 0 },
        { promptTokens: 4096, outputTokens: 128, prefixHitShare: 0 },
      ]) {
        const kernel = simulated(replica, request, concurrency);
        const formula = closedLoop(replica, request, concurrency, k);
        expect(formula.outputTokensPerS / kernel.tokensPerS).toBeGreaterThan(0.88);
        expect(formula.outputTokensPerS / kernel.tokensPerS).toBeLessThan(1.1);
        expect(formula.tpotMs / kernel.tpotMs).toBeGreaterThan(0.95);
        expect(formula.tpotMs / kernel.tpotMs).toBeLessThan(1.25);
        // The formula adds a constant for the measured overhead of real front ends, which the kernel does not have. The
        // constant's share of the time is largest for short prompts.
        expect(formula.ttftMs / kernel.ttftMs).toBeGreaterThan(0.6);
        expect(formula.ttftMs / kernel.ttftMs).toBeLessThan(2.3);
      }
    },
  );
});
