import { describe, expect, it } from "vitest";
import { compareFabric } from "./testing/fabric-worlds.ts";

describe("the fabric of a live fleet", () => {
  it("places gangs like simulate --fleet with the same labels", async () => {
    for (const seed of [1, 2, 3]) {
      const { placed, different } = await compareFabric(seed, 12);
      expect({ seed, different }).toEqual({ seed, different: [] });
      expect(placed).toBeGreaterThan(0);
    }
  });
});
