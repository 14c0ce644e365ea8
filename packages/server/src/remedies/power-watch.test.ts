import { describe, expect, it } from "vitest";
import { PowerWatch } from "./power-watch.ts";

const draw = (drawWatts: number, isAboveCap = drawWatts > 1_000) => ({
  domain: { of: "power", level: "rack", path: ["dc1", "r1"], watts: 1_000 } as const,
  drawWatts,
  isAboveCap,
});

describe("a domain above its cap", () => {
  it("is a finding after a minute, since it was first seen", () => {
    const watch = new PowerWatch();
    expect(watch.look([draw(1_200)], 1_000)).toEqual([]);
    expect(watch.look([draw(1_300)], 61_000)).toMatchObject([
      {
        id: "power:power:rack:dc1/r1",
        kind: "power",
        sinceMs: 1_000,
        reason: "rack r1 draws more than its cap on power",
        change: { kind: "advice", about: "power of rack r1 at site dc1" },
      },
    ]);
  });

  it("begins again after it was within its cap, and is none while nominations wait for work that ends", () => {
    const watch = new PowerWatch();
    watch.look([draw(1_200)], 0);
    watch.look([draw(1_200, false)], 50_000);
    expect(watch.look([draw(1_200)], 70_000)).toEqual([]);
    expect(watch.look([draw(1_200)], 130_000)).toMatchObject([{ sinceMs: 70_000 }]);
    expect(watch.look([], 131_000)).toEqual([]);
  });
});
