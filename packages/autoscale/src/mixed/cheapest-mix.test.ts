import { describe, expect, it } from "vitest";
import { tabulated, usualLimits } from "@headroom/perf";
import { ReplicaCapacity } from "../capacity.ts";
import { mixesByPrice, mixText, type ClassTraffic, type ReplicaMix, type ReplicaOffer } from "./cheapest-mix.ts";

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
  const capacityFor: ReplicaOffer["capacityFor"] = (within) => new ReplicaCapacity(costs, limits, within);
  return { name, pricePerHour, capacityFor, held: 0, max: 16, ...bounds };
}

const traffic = (requestsPerS: number, promptTokens: number): ClassTraffic => ({
  requestsPerS,
  promptTokensPerS: requestsPerS * promptTokens,
  promptTokens,
  outputTokens: 50,
  objectives,
});

const cheapestOf = (offers: readonly ReplicaOffer[], classes: readonly ClassTraffic[]): ReplicaMix | undefined =>
  mixesByPrice(offers, classes, 1)[0];

describe("the cheapest mix of accelerator types", () => {
  const fast = offer("fast", 4, 1);
  const slow = offer("slow", 1, 4);

  it("takes a cheap replica for what is left over by the fast ones", () => {
    const offers = [fast, offer("slow", 1.2, 4)];
    const found = cheapestOf(offers, [traffic(8, 1000)]);
    expect(found).toMatchObject({ counts: [1, 1], pricePerHour: 5.2 });
    expect(found === undefined ? "" : mixText(offers, found)).toBe("1 x fast + 1 x slow");
  });

  it("serves prompts that a type is too slow for on another", () => {
    const found = cheapestOf([fast, slow], [traffic(2, 300), traffic(1, 8000)]);
    expect(found?.counts[0]).toBeGreaterThanOrEqual(1);
    expect(cheapestOf([slow], [traffic(2, 300), traffic(1, 8000)])).toBeUndefined();
  });

  it("keeps what is held and exceeds no bound", () => {
    const found = cheapestOf([offer("fast", 4, 1, { held: 1 }), offer("slow", 1, 4, { max: 2 })], [traffic(12, 1000)]);
    expect(found?.counts[0]).toBeGreaterThanOrEqual(1);
    expect(found?.counts[1]).toBeLessThanOrEqual(2);
    expect(cheapestOf([offer("slow", 1, 4, { max: 1 })], [traffic(40, 1000)])).toBeUndefined();
  });
});
