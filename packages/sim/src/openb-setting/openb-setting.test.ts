import { presets } from "@headroom/model";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { uniformFleet } from "../run/fleet-spec.ts";
import { acceleratorMilliOf, type TraceJob } from "../trace/trace.ts";
import { drawDemand } from "./drawn-demand.ts";
import { SettingRun, type SettingOptions, type SettingResult } from "./openb-setting.ts";

function job(accelerators: number, change: Partial<TraceJob> = {}): TraceJob {
  const needs = { coresMilli: 0, memoryMib: 0, acceleratorTypes: [] };
  return { id: "p", submittedAtMs: 0, durationMs: 0, accelerators, ...needs, ...change };
}

const base: SettingOptions = {
  population: [job(1)],
  fleet: uniformFleet({ nodeCount: 2, acceleratorsPerNode: 4 }),
  policy: presets.get("fifo-skip")!,
  demandMilli: 1300,
  seed: 1,
};

function run(change: Partial<SettingOptions>): SettingResult {
  const setting = new SettingRun({ ...base, ...change });
  while (!setting.advance(3));
  expect(setting.progress).toBe(1);
  return setting.result();
}

describe("drawn demand", () => {
  const jobs = fc.array(
    fc.oneof(
      fc.nat({ max: 8 }).map((accelerators) => job(accelerators)),
      fc.integer({ min: 1, max: 999 }).map((shareMilli) => job(1, { shareMilli })),
    ),
    { minLength: 1, maxLength: 10 },
  );

  it("asks for the target, and for no more than without the last one drawn; the same for the same seed", () => {
    fc.assert(
      fc.property(jobs, fc.integer({ min: 1, max: 50_000 }), fc.nat(), (population, askedMilli, seed) => {
        const drawn = drawDemand(population, { askedMilli, seed });
        expect(drawDemand(population, { askedMilli, seed })).toEqual(drawn);
        const asked = drawn.reduce((sum, each) => sum + acceleratorMilliOf(each), 0);
        const largest = Math.max(...population.map(acceleratorMilliOf));
        if (largest === 0) expect(drawn).toEqual([]);
        else expect(asked >= askedMilli && asked < askedMilli + largest).toBe(true);
      }),
    );
  });

  it("draws every job about as often as any other", () => {
    const population = Array.from({ length: 8 }, (_, index) => job(1, { id: `p${index}` }));
    const drawn = drawDemand(population, { askedMilli: 8_000_000, seed: 3 });
    for (const { id } of population) {
      const count = drawn.filter((each) => each.id === id).length;
      // 1,000 jobs are expected, and the standard deviation is 30; the tolerance is five standard deviations.
      expect(Math.abs(count - 1000)).toBeLessThan(150);
    }
  });
});

describe("the setting of the openb lists", () => {
  it("fills the fleet, drops the rest and counts at every mark", () => {
    const { marks, ...counts } = run({});
    expect(counts).toEqual({ submittedCount: 11, droppedCount: 3 });
    expect(marks).toEqual([
      { askedMilli: 500, allocatedMilli: 500 },
      { askedMilli: 900, allocatedMilli: 1000 },
      { askedMilli: 1000, allocatedMilli: 1000 },
      { askedMilli: 1300, allocatedMilli: 1000 },
    ]);
  });

  it("leaves what is dropped behind: what fits later is taken", () => {
    // A job of three accelerators fits once into each node of four; later jobs of one accelerator fill the rest.
    const { marks } = run({ population: [job(3), job(1)], demandMilli: 4000 });
    expect(marks.at(-1)).toEqual({ askedMilli: 4000, allocatedMilli: 1000 });
  });

  it("drops what no node could hold, and counts cores and shares", () => {
    expect(run({ population: [job(5)] })).toMatchObject({ droppedCount: 3, submittedCount: 3 });
    const narrow = base.fleet.nodes.map((node) => ({ ...node, coresMilli: 3000 }));
    const { marks } = run({ population: [job(1, { coresMilli: 1000 })], fleet: { ...base.fleet, nodes: narrow } });
    expect(marks.at(-1)?.allocatedMilli).toBe(750);
    const shares = run({ population: [job(1, { shareMilli: 600 })], demandMilli: 900 });
    expect(shares.marks.at(-1)).toEqual({ askedMilli: 900, allocatedMilli: 600 });
  });
});
