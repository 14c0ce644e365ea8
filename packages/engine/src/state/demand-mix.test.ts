import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WorkloadSpec } from "@headroom/model";
import { spec } from "../../test/lab/make.ts";
import { DemandMix } from "./demand-mix.ts";

const gang = fc.record({
  workers: fc.integer({ min: 1, max: 40 }),
  accelerators: fc.nat(4),
  coresMilli: fc.constantFrom(0, 1000, 8000),
  memoryMib: fc.constantFrom(0, 1024),
});
const submissions = fc.array(
  gang.map((made): WorkloadSpec => spec("w", { gang: made })),
  { maxLength: 400 },
);

function counted(specs: readonly WorkloadSpec[], mix: DemandMix = new DemandMix()): DemandMix {
  for (const each of specs) mix.count(each);
  return mix;
}

describe("the mix of recent demand", () => {
  it("goes on from its stored form as if nothing had happened", () => {
    fc.assert(
      fc.property(submissions, submissions, (before, after) => {
        const mix = counted(before);
        const restored = DemandMix.restored(
          JSON.parse(JSON.stringify(mix.stored())) as ReturnType<DemandMix["stored"]>,
        );
        expect(restored.stored()).toEqual(mix.stored());
        expect(counted(after, restored).stored()).toEqual(counted(after, mix).stored());
        expect(restored.countedMilli).toBe(mix.countedMilli);
        expect(restored.countedMilliBySize).toEqual(mix.countedMilliBySize);
      }),
      { numRuns: 30 },
    );
  });

  it("counts what it holds, and forgets what is long past", () => {
    const mix = counted(
      Array.from({ length: 3000 }, () =>
        spec("old", { gang: { workers: 1, accelerators: 8, coresMilli: 0, memoryMib: 0 } }),
      ),
    );
    expect(mix.sample).toHaveLength(192);
    expect(mix.countedMilliBySize.get(8)).toBe(3000 * 8000);
    counted(
      Array.from({ length: 60_000 }, () =>
        spec("new", { gang: { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0 } }),
      ),
      mix,
    );
    // The old sample stays as long as at most an eighth of it is outdated.
    expect(mix.sample.filter(({ accelerators }) => accelerators === 8).length).toBeLessThanOrEqual(24);
    expect(mix.countedMilliBySize.get(8) ?? 0).toBe(0);
    expect(mix.countedMilli).toBeLessThan(4096 * 1000);
  });

  it("samples kinds in proportion, the largest first, and keeps a sample that is nearly right", () => {
    const mix = new DemandMix();
    const kinds = [
      spec("a", { gang: { workers: 1, accelerators: 1, coresMilli: 1000, memoryMib: 0 } }),
      spec("b", { gang: { workers: 3, accelerators: 2, coresMilli: 0, memoryMib: 0 } }),
    ];
    for (let turn = 0; turn < 200; turn++) counted(kinds, mix);
    // Three quarters of 192 entries are expected. Up to an eighth of the sample may be outdated.
    expect(Math.abs(mix.sample.filter(({ accelerators }) => accelerators === 2).length - 144)).toBeLessThanOrEqual(24);
    expect(mix.sample.map(({ accelerators }) => accelerators)).toEqual(
      mix.sample.map(({ accelerators }) => accelerators).toSorted((left, right) => right - left),
    );
    const { renewals } = mix;
    for (let turn = 0; turn < 200; turn++) counted(kinds, mix);
    expect(mix.renewals).toBe(renewals);
    counted([spec("cpu", { gang: { workers: 1, accelerators: 0, coresMilli: 1000, memoryMib: 0 } })], mix);
    expect(mix.countedMilli).toBe(400 * (1000 + 3 * 2000));
  });
});
