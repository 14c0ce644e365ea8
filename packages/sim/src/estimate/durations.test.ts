import { draw } from "@headroom/model";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DurationModel, usualDurationRules, type WorkRecord } from "./durations.ts";

const second = 1000;

function work(change: Partial<WorkRecord> = {}): WorkRecord {
  return { family: "a", accelerators: 1, submittedAtMs: 0, endedAfterMs: [], walltimeMs: null, ...change };
}

/**
 * A sweep of jobs submitted one second apart, the first at `atS`. `endedAfterS`: run times in s of those jobs that have
 * ended.
 */
function sweep(atS: number, members: number, endedAfterS: readonly number[], change: Partial<WorkRecord> = {}) {
  return Array.from({ length: members }, (_, member) => {
    const endedAfter = endedAfterS[member];
    return work({
      submittedAtMs: (atS + member) * second,
      endedAfterMs: endedAfter === undefined ? [] : [endedAfter * second],
      ...change,
    });
  });
}

function draws(records: readonly WorkRecord[], of: number, elapsedMs = 0): number[] {
  const model = new DurationModel(records);
  return Array.from({ length: 400 }, (_, seed) => model.scenario(seed).durationMs(of, elapsedMs)).toSorted(
    (left, right) => left - right,
  );
}

const middle = (values: readonly number[]): number => values[values.length >> 1]!;

describe("the duration of work that has not ended", () => {
  it("is mostly that of the ended members of its sweep", () => {
    const records = [...sweep(0, 20, Array<number>(20).fill(100)), ...sweep(9000, 20, Array<number>(10).fill(5000))];
    const found = draws(records, 39);
    expect(found.filter((ms) => ms > 4500 * second && ms < 5500 * second).length).toBeGreaterThan(360);
  });

  it("is that of sweeps nearby where its own has no ended member, with far ones possible", () => {
    const old = Array.from({ length: 40 }, (_, index) => sweep(index * 1000, 5, Array<number>(5).fill(60)));
    const young = Array.from({ length: 40 }, (_, index) =>
      sweep(100_000 + index * 1000, 5, Array<number>(5).fill(9000)),
    );
    const records = [...old.flat(), ...young.flat(), ...sweep(200_000, 1, [])];
    const found = draws(records, records.length - 1);
    const near = found.filter((ms) => ms > 8000 * second).length;
    expect(near).toBeGreaterThan(240);
    expect(near).toBeLessThan(400);
  });

  it("prefers the same family, then the same size", () => {
    const records = [
      ...Array.from({ length: 60 }, (_, index) =>
        sweep(index * 1000, 2, [500, 500], { family: "b", accelerators: 8 }),
      ).flat(),
      ...Array.from({ length: 60 }, (_, index) => sweep(70_000 + index * 1000, 2, [20, 20], { family: "c" })).flat(),
      work({ family: "b", accelerators: 8, submittedAtMs: 200_000 * second }),
      work({ family: "d", accelerators: 8, submittedAtMs: 200_000 * second }),
    ];
    expect(middle(draws(records, records.length - 2))).toBeGreaterThan(450 * second);
    expect(middle(draws(records, records.length - 1))).toBeGreaterThan(450 * second);
  });

  it("moves to the longer kind when it has outlived the shorter one", () => {
    const records = [
      ...sweep(0, 20, Array<number>(20).fill(100)),
      ...sweep(5000, 20, Array<number>(20).fill(4000)),
      ...sweep(9000, 4, [100, 100]),
    ];
    expect(middle(draws(records, 43))).toBeLessThan(200 * second);
    expect(middle(draws(records, 43, 200 * second))).toBeGreaterThan(3500 * second);
  });

  it("varies together within a sweep of which nobody has ended", () => {
    const records = [
      ...sweep(0, 9, Array<number>(9).fill(100)),
      ...sweep(5000, 9, Array<number>(9).fill(4000)),
      ...sweep(9000, 30, []),
    ];
    const model = new DurationModel(records);
    const alike = Array.from({ length: 200 }, (_, seed) => {
      const scenario = model.scenario(seed);
      const long = Array.from({ length: 30 }, (_unused, member) => scenario.durationMs(18 + member, 0)).filter(
        (ms) => ms > 1000 * second,
      ).length;
      return Math.max(long, 30 - long) >= 24;
    });
    // Two scenarios with independent draws would agree this closely in about one case in a thousand.
    expect(alike.filter(Boolean).length).toBeGreaterThan(120);
  });

  it("has nothing to go by at first, and then spans what work usually takes", () => {
    const found = draws([work()], 0);
    expect(found[0]).toBeGreaterThan(50 * second);
    expect(found.at(-1)).toBeLessThan(70_000 * second);
    expect(found.at(-1)! / found[0]!).toBeGreaterThan(100);
  });

  it("goes on for as long again, half of the time, when it outlasts everything known", () => {
    const records = [...sweep(0, 20, Array<number>(20).fill(100)), ...sweep(9000, 1, [])];
    const found = draws(records, 20, 10_000 * second);
    expect(middle(found)).toBeGreaterThan(17_000 * second);
    expect(middle(found)).toBeLessThan(23_000 * second);
  });
});

describe("the duration of work that is submitted later", () => {
  const unseen = { family: "a", accelerators: 1, walltimeMs: null };

  it("is that of its kind before it, bounded by its own walltime", () => {
    const others = sweep(0, 20, Array<number>(20).fill(5000), { family: "b", accelerators: 8 });
    const own = Array.from({ length: 60 }, (_, index) => sweep(9000 + index * 100, 2, [100, 100])).flat();
    const scenarios = Array.from({ length: 200 }, (_, seed) => new DurationModel([...others, ...own]).scenario(seed));
    const found = scenarios.map((scenario) => scenario.durationOfUnseenMs(unseen, 0));
    expect(found.filter((ms) => ms > 90 * second && ms < 110 * second).length).toBeGreaterThan(160);
    const bounded = scenarios.map((scenario) => scenario.durationOfUnseenMs({ ...unseen, walltimeMs: 50_000 }, 0));
    expect(Math.max(...bounded)).toBe(50_000);
  });

  it("is drawn where nothing is known, exceeds what has elapsed and comes out the same again", () => {
    const [one, other] = [new DurationModel([]).scenario(7), new DurationModel([]).scenario(7)];
    for (const elapsedMs of [0, 10_000_000, 0]) {
      const found = one.durationOfUnseenMs(unseen, elapsedMs);
      expect(found).toBeGreaterThan(elapsedMs);
      expect(other.durationOfUnseenMs(unseen, elapsedMs)).toBe(found);
    }
  });
});

describe("any draw", () => {
  const histories = fc.array(
    fc.record({
      family: fc.constantFrom("a", "b"),
      accelerators: fc.constantFrom(1, 2, 8),
      gapMs: fc.integer({ min: 0, max: 100_000 }),
      endedAfterMs: fc.array(fc.integer({ min: 0, max: 10_000_000 }), { maxLength: 3 }),
      walltimeMs: fc.option(fc.integer({ min: 1, max: 10_000_000 })),
    }),
    { minLength: 1, maxLength: 30 },
  );

  it("exceeds what has elapsed, keeps the walltime, is a whole number and comes out the same again", () => {
    fc.assert(
      fc.property(histories, fc.nat(1000), fc.nat(20_000_000), (rows, seed, elapsedMs) => {
        let submittedAtMs = 0;
        const records = rows.map(({ gapMs, ...row }) => ({ ...row, submittedAtMs: (submittedAtMs += gapMs) }));
        const model = new DurationModel(records);
        const [one, other] = [model.scenario(seed), model.scenario(seed)];
        for (const [index, { walltimeMs }] of records.entries()) {
          const found = one.durationMs(index, elapsedMs);
          expect(Number.isSafeInteger(found)).toBe(true);
          expect(found).toBeGreaterThan(elapsedMs);
          if (walltimeMs !== null) expect(found).toBeLessThanOrEqual(Math.max(walltimeMs, elapsedMs + 1));
          expect(other.durationMs(index, elapsedMs)).toBe(found);
        }
      }),
    );
  });

  it("covers a stationary mixture as it is", () => {
    const kinds = [100, 1000, 7000];
    const records = Array.from({ length: 300 }, (_, index) =>
      sweep(index * 1000, 3, Array<number>(3).fill(kinds[draw(5, index, "kind") % 3]!)),
    ).flat();
    const found = draws([...records, ...sweep(400_000, 1, [])], records.length);
    for (const kind of kinds) {
      const share = found.filter((ms) => ms > kind * 900 && ms < kind * 1100).length / found.length;
      expect(share).toBeGreaterThan(0.15);
      expect(share).toBeLessThan(0.55);
    }
    expect(usualDurationRules.spread).toBeLessThan(0.1);
  });
});
