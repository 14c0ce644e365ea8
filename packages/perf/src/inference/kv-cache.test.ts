import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { sequenceKvBytes, sequencesThatFit, servingMemory } from "./kv-cache.ts";
import { obstacles } from "./feasibility.ts";
import { buildReplica, weightBytesPerAccelerator } from "./replica.ts";
import { layout, replicaOf } from "./testing/replicas.ts";

describe("the cache of a token", () => {
  // Size of the cache in KB per token with 16-bit numbers, from DeepSeek-AI, "Insights into DeepSeek-V3" (ISCA 2025,
  // arXiv 2505.09343), table 1.
  it.each([
    ["deepseek-v3", 70.272],
    ["llama-3-405b", 516.096],
  ])("%s keeps %d KB", (name, kilobytes) => {
    expect(sequenceKvBytes(replicaOf(name, "B200", layout(1)), 1) / 1000).toBeCloseTo(kilobytes, 3);
  });

  it("is split over tensor ranks as far as there are KV heads, and not at all under latent attention", () => {
    const bytes = (name: string, tensor: number): number =>
      sequenceKvBytes(replicaOf(name, "B200", layout(tensor)), 1000);
    expect(bytes("llama-3-70b", 1) / bytes("llama-3-70b", 8)).toBeCloseTo(8, 9);
    expect(bytes("llama-3-70b", 8)).toBeCloseTo(bytes("llama-3-70b", 16), 9);
    expect(bytes("deepseek-v3", 8)).toBeCloseTo(bytes("deepseek-v3", 1), 9);
  });

  it("ends at the window in layers that have one", () => {
    const oss = replicaOf("gpt-oss-120b", "H100", layout(1), "mxfp4");
    const grown = sequenceKvBytes(oss, 20_000) - sequenceKvBytes(oss, 10_000);
    const all = sequenceKvBytes(oss, 128) / 128;
    expect(grown / 10_000 / all).toBeCloseTo(0.5, 2);
  });
});

describe("memory", () => {
  const names = ["llama-3-8b", "llama-3-70b", "gpt-oss-20b", "deepseek-v3", "qwen3-30b-a3b"];
  const anyReplica = fc
    .tuple(
      fc.constantFrom(...names),
      fc.constantFrom("A100", "H100", "H200", "B200", "RTX-PRO-6000"),
      fc.constantFrom(1, 2, 4, 8),
      fc.constantFrom("bf16" as const, "fp8" as const, "nvfp4" as const),
    )
    .map(([name, on, tensor, format]) => replicaOf(name, on, layout(tensor), format));

  it("adds up", () => {
    fc.assert(
      fc.property(anyReplica, (replica) => {
        const { totalBytes, ...parts } = servingMemory(replica);
        const sum = Object.values(parts).reduce((total, value) => total + value, 0);
        expect(sum / totalBytes).toBeCloseTo(1, 9);
      }),
    );
  });

  it("more of it never holds fewer sequences and never makes a plan impossible", () => {
    const request = { promptTokens: 2000, outputTokens: 500, prefixHitShare: 0 };
    fc.assert(
      fc.property(anyReplica, fc.double({ min: 1, max: 8, noNaN: true }), (replica, factor) => {
        const { accelerator } = replica;
        const larger = buildReplica({
          ...replica,
          accelerator: { ...accelerator, memoryGib: accelerator.memoryGib * factor },
        });
        expect(sequencesThatFit(larger, 1000)).toBeGreaterThanOrEqual(sequencesThatFit(replica, 1000));
        if (obstacles(replica, request).length === 0) expect(obstacles(larger, request)).toEqual([]);
      }),
    );
  });

  it("narrower weights leave more of it for the cache", () => {
    const of = (format: "bf16" | "fp8" | "nvfp4"): number =>
      servingMemory(replicaOf("llama-3-70b", "H200", layout(2), format)).kvCacheBytes;
    expect(of("bf16")).toBeLessThan(of("fp8"));
    expect(of("fp8")).toBeLessThan(of("nvfp4"));
  });

  it("of all experts is split over the accelerators, that of attention copied over attention-data ranks", () => {
    const tensor = weightBytesPerAccelerator(replicaOf("deepseek-v3", "H200", layout(8), "fp8"));
    const ranks = weightBytesPerAccelerator(
      replicaOf("deepseek-v3", "H200", layout(1, { attentionData: 8, expert: 8 }), "fp8"),
    );
    // The 671e9 parameters have one byte each and are divided over eight accelerators. Only the embedding tables have
    // two bytes per parameter.
    expect(tensor / 1e9).toBeCloseTo(84.1, 0);
    expect(ranks).toBeGreaterThan(tensor * 1.1);
  });
});
