import { describe, expect, it } from "vitest";
import { tabulated, usualLimits } from "@headroom/perf";
import { ReplicaCapacity, type Traffic } from "../capacity.ts";
import { cheapestMix, type ReplicaOffer } from "./cheapest-mix.ts";

const objectives = { ttftMs: 2000, tpotMs: 100 };

/** `slowness`: time of a step in times of the fast type. */
function offer(
  name: string,
  pricePerHour: number,
  slowness: number,
  bounds: { readonly held?: number; readonly max?: number } = {},
): ReplicaOffer {
  const costs = {
    tokensMs: tabulated(1024, (tokens) => slowness * (10 + tokens * 0.1)),
    contextMs: slowness * 4e-5,
    pairMs: slowness * 2e-6,
    sampledMs: slowness * 0.01,
  };
  const limits = { ...usualLimits, stepTokensMax: 1024, blockCount: 30_000 };
  return { name, pricePerHour, capacity: new ReplicaCapacity(costs, limits, objectives), held: 0, max: 16, ...bounds };
}

const traffic = (requestsPerS: number, promptTokens: number): Traffic => ({
  requestsPerS,
  promptTokensPerS: requestsPerS * promptTokens,
  promptTokens,
  outputTokens: 50,
});

describe("the cheapest mix of accelerator types", () => {
  const fast = offer("fast", 4, 1);
  const slow = offer("slow", 1, 4);

  it("takes a cheap replica for what is left over by the fast ones", () => {
    const found = cheapestMix([fast, offer("slow", 1.2, 4)], [traffic(8, 1000)], objectives);
    expect(found?.mix.counts).toEqual([1, 1]);
    expect(found?.reason).toContain("1 x fast + 1 x slow at 5.20/h");
    expect(found?.reason).toContain("the cheapest of one type is");
  });

  it("serves prompts that a type is too slow for on another", () => {
    const found = cheapestMix([fast, slow], [traffic(2, 300), traffic(1, 8000)], objectives);
    expect(found?.mix.counts[0]).toBeGreaterThanOrEqual(1);
    expect(cheapestMix([slow], [traffic(2, 300), traffic(1, 8000)], objectives)).toBeUndefined();
  });

  it("keeps what is held and exceeds no bound", () => {
    const found = cheapestMix(
      [offer("fast", 4, 1, { held: 1 }), offer("slow", 1, 4, { max: 2 })],
      [traffic(12, 1000)],
      objectives,
    );
    expect(found?.mix.counts[0]).toBeGreaterThanOrEqual(1);
    expect(found?.mix.counts[1]).toBeLessThanOrEqual(2);
    expect(cheapestMix([offer("slow", 1, 4, { max: 1 })], [traffic(40, 1000)], objectives)).toBeUndefined();
  });
});
