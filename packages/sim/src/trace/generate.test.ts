import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { drawExponential, portableLog } from "../faults/exponential.ts";
import { generateTrace, usualDurations, usualGangs, type GeneratorOptions } from "./generate.ts";

const usual: GeneratorOptions = {
  seed: 1,
  jobs: 5000,
  accelerators: 512,
  load: 1.2,
  gangs: usualGangs,
  ...usualDurations,
};

function offeredLoad({ jobs }: ReturnType<typeof generateTrace>, accelerators: number): number {
  const work = jobs.reduce((sum, job) => sum + job.accelerators * job.durationMs, 0);
  const span = (jobs.at(-1)?.submittedAtMs ?? 0) - (jobs[0]?.submittedAtMs ?? 0);
  return work / (span * accelerators);
}

describe("generated traces", () => {
  it("offer the load that was asked for", () => {
    for (const load of [0.5, 1.2, 3]) {
      const offered = offeredLoad(generateTrace({ ...usual, load }), usual.accelerators);
      // The remaining deviation is that of a sum of 5,000 exponential gaps: one sigma is 1/sqrt(5000) = 1.4%.
      expect(Math.abs(offered / load - 1)).toBeLessThan(0.06);
    }
  });

  it("are the same for the same seed and others for another", () => {
    expect(generateTrace(usual)).toEqual(generateTrace(usual));
    expect(generateTrace({ ...usual, seed: 2 })).not.toEqual(generateTrace(usual));
  });

  it("hold only sound jobs, in order of submission", () => {
    const options = fc.record({
      seed: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
      jobs: fc.integer({ min: 1, max: 60 }),
      accelerators: fc.integer({ min: 1, max: 64 }),
      load: fc.double({ min: 0.01, max: 50, noNaN: true }),
      durationMinS: fc.integer({ min: 1, max: 1000 }),
      spanS: fc.integer({ min: 0, max: 100_000 }),
    });
    fc.assert(
      fc.property(options, ({ spanS, ...rest }) => {
        const durationMaxS = rest.durationMinS + spanS;
        const { jobs } = generateTrace({ ...rest, durationMaxS, gangs: usualGangs });
        let before = 0;
        for (const job of jobs) {
          expect(Number.isSafeInteger(job.submittedAtMs) && job.submittedAtMs >= before).toBe(true);
          expect(job.durationMs).toBeGreaterThanOrEqual(rest.durationMinS * 1000);
          expect(job.durationMs).toBeLessThanOrEqual(durationMaxS * 1000);
          expect(job.accelerators).toBeLessThanOrEqual(rest.accelerators);
          before = job.submittedAtMs;
        }
      }),
    );
  });
});

describe("portable variates", () => {
  it("take the logarithm to the last few bits", () => {
    fc.assert(
      fc.property(fc.double({ min: 2 ** -32, max: 2 ** 40, noNaN: true }), (value) => {
        expect(Math.abs(portableLog(value) - Math.log(value))).toBeLessThanOrEqual(
          1e-15 + 4e-16 * Math.abs(Math.log(value)),
        );
      }),
    );
  });

  it("are exponential with mean one and never negative", () => {
    const variates = Array.from({ length: 20_000 }, (_, sequence) =>
      drawExponential({ seed: 7, sequence, purpose: "test" }),
    );
    const mean = variates.reduce((sum, value) => sum + value, 0) / variates.length;
    const pastOne = variates.filter((value) => value > 1).length / variates.length;
    expect(Math.min(...variates)).toBeGreaterThanOrEqual(0);
    expect(mean).toBeCloseTo(1, 1);
    expect(pastOne).toBeCloseTo(1 / Math.E, 1);
  });
});
