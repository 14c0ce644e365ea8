import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { fittedInference as k } from "../constants-inference.ts";
import type { AcceleratorCalibration } from "../catalogue/calibration.ts";
import { calibratedAccelerator } from "./calibrated.ts";
import { expertsTouched, stepTime } from "./forward.ts";
import type { StepWork } from "./forward.ts";
import { buildReplica } from "./replica.ts";
import type { BuiltReplica } from "./replica.ts";
import { layout, replicaOf } from "./testing/replicas.ts";

const replicas: readonly BuiltReplica[] = [
  replicaOf("llama-3-8b", "RTX-4090", layout(1), "fp8"),
  replicaOf("llama-3-70b", "H100", layout(8)),
  replicaOf("llama-3-70b", "A100", layout(4, { pipeline: 2 })),
  replicaOf("gpt-oss-120b", "B200", layout(1), "mxfp4"),
  replicaOf("deepseek-v3", "H200", layout(8), "fp8"),
  replicaOf("deepseek-v3", "GB200", layout(1, { attentionData: 32, expert: 32 }), "nvfp4"),
  replicaOf("glm-5", "B200", layout(8), "fp8"),
  replicaOf("qwen3.5-397b-a17b", "B200", layout(8), "fp8"),
];

const anyReplica = fc.constantFrom(...replicas);
const anyWork: fc.Arbitrary<StepWork> = fc.record({
  decodeSequences: fc.integer({ min: 0, max: 4096 }),
  decodeContext: fc.integer({ min: 1, max: 200_000 }),
  promptTokens: fc.integer({ min: 0, max: 65_536 }),
  promptContext: fc.integer({ min: 1, max: 100_000 }),
  promptsEnding: fc.integer({ min: 0, max: 64 }),
});

function withAccelerator(replica: BuiltReplica, change: Partial<BuiltReplica["accelerator"]>): BuiltReplica {
  return buildReplica({ ...replica, accelerator: { ...replica.accelerator, ...change } });
}

const prompts: StepWork = {
  decodeSequences: 0,
  decodeContext: 0,
  promptTokens: 8192,
  promptContext: 4096,
  promptsEnding: 1,
};

describe("moving activations between kernels", () => {
  it("is not divided by tensor parallelism, which divides the matrices", () => {
    const linear = (tensor: number): number =>
      stepTime(replicaOf("llama-3-70b", "B200", layout(tensor), "fp8"), prompts, k).linearMs;
    expect(linear(8)).toBeGreaterThan(1.1 * (linear(1) / 8));
    expect(linear(8)).toBeLessThan(linear(4));
  });

  it("takes longer where every rank gathers every token than with whole experts", () => {
    const experts = (expert: number): number =>
      stepTime(replicaOf("deepseek-v3", "B200", layout(8, { expert }), "fp8"), prompts, k).expertMs;
    expect(experts(8)).toBeLessThan(experts(1));
  });
});

describe("the time of a step", () => {
  it("is the sum of its parts, none of them negative", () => {
    fc.assert(
      fc.property(anyReplica, anyWork, (replica, work) => {
        const { totalMs, ...parts } = stepTime(replica, work, k);
        const values = Object.values(parts);
        expect(values.every((value) => value >= 0)).toBe(true);
        expect(values.reduce((sum, value) => sum + value, 0)).toBeCloseTo(totalMs, 9);
      }),
    );
  });

  it("never grows with more bandwidth, faster matrices or a faster link", () => {
    fc.assert(
      fc.property(anyReplica, anyWork, fc.double({ min: 1, max: 20, noNaN: true }), (replica, work, factor) => {
        const { memoryGbPerS, denseTflops, bestMatmulTflops, scaleUp, scaleOutGbPerS } = replica.accelerator;
        const before = stepTime(replica, work, k).totalMs;
        const times = (rates: object): Readonly<Record<string, number>> =>
          Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, Number(rate) * factor]));
        const changes: Partial<BuiltReplica["accelerator"]>[] = [
          { memoryGbPerS: memoryGbPerS * factor },
          { denseTflops: times(denseTflops), bestMatmulTflops: times(bestMatmulTflops ?? {}) },
          { bestMatmulTflops: times(bestMatmulTflops ?? {}) },
          { scaleUp: { ...scaleUp, gbPerS: scaleUp.gbPerS * factor }, scaleOutGbPerS: scaleOutGbPerS * factor },
        ];
        for (const change of changes) {
          expect(stepTime(withAccelerator(replica, change), work, k).totalMs).toBeLessThanOrEqual(before + 1e-9);
        }
      }),
    );
  });

  it("grows with every kind of work", () => {
    fc.assert(
      fc.property(anyReplica, anyWork, fc.integer({ min: 1, max: 1000 }), (replica, work, more) => {
        const before = stepTime(replica, work, k).totalMs;
        for (const name of ["decodeSequences", "decodeContext", "promptTokens", "promptContext"] as const) {
          const after = stepTime(replica, { ...work, [name]: work[name] + more }, k).totalMs;
          expect(after).toBeGreaterThanOrEqual(before - 1e-9);
        }
      }),
    );
  });

  it("of one sequence on a large model is at least the time that its weights take to stream", () => {
    const replica = replicaOf("llama-3-70b", "H100", layout(4));
    const work = { decodeSequences: 1, decodeContext: 1, promptTokens: 0, promptContext: 0, promptsEnding: 0 };
    const weightsMs = (70.55e9 * 2) / 4 / 3350e6;
    const { totalMs } = stepTime(replica, work, k);
    expect(totalMs).toBeGreaterThan(weightsMs);
    expect(totalMs).toBeLessThan(2 * weightsMs);
  });
});

describe("a measured accelerator", () => {
  const replica = replicaOf("llama-3-8b", "H200", layout(1));
  const work = { decodeSequences: 64, decodeContext: 2000, promptTokens: 2000, promptContext: 1000, promptsEnding: 1 };
  const at = (calibration: Partial<AcceleratorCalibration>): number => {
    const measured = { accelerator: "H200", matmulEfficiency: {}, ...calibration };
    const accelerator = calibratedAccelerator(replica.accelerator, measured);
    return stepTime(buildReplica({ ...replica, accelerator }), work, k).totalMs;
  };

  it("is the catalogue's where nothing was measured, and slower where less was", () => {
    const before = stepTime(replica, work, k).totalMs;
    expect(at({})).toBeCloseTo(before, 9);
    expect(at({ matmulEfficiency: { bf16: 0.4 } })).toBeGreaterThan(before);
    expect(at({ memoryEfficiency: 0.6 })).toBeGreaterThan(before);
    expect(at({ matmulEfficiency: { bf16: 0.95 }, memoryEfficiency: 0.95 })).toBeLessThan(before);
  });
});

describe("experts touched", () => {
  it("are those of one token for one, and all of them for many", () => {
    expect(expertsTouched(256, 8, 1)).toBeCloseTo(8, 9);
    expect(expertsTouched(256, 8, 10_000)).toBeCloseTo(256, 6);
  });

  // Each of 32 tokens uses 8 of 256 experts, so an expert gets no token with the probability (1 - 1/32)^32 = 0.362.
  it("follow the chance that an expert is missed", () => {
    expect(expertsTouched(256, 8, 32)).toBeCloseTo(256 * (1 - (31 / 32) ** 32), 9);
  });
});
