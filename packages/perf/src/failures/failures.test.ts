import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  availabilityInterval,
  bestInterval,
  dalyInterval,
  ettrExact,
  ettrLinear,
  goodputAt,
  youngInterval,
} from "./checkpoint-interval.ts";
import { domainLoss } from "./domains.ts";
import { failureRecords, findFailureRecord, jobMttfSeconds, scaledToNode } from "./rates.ts";
import { spareNodes } from "./spares.ts";

const hours = (seconds: number): number => seconds / 3600;

function expectWithinPercent(found: number, expected: number, percent: number): void {
  expect(Math.abs(found / expected - 1) * 100).toBeLessThanOrEqual(percent);
}

describe("rates", () => {
  // Projections of arXiv 2410.21680 from 6.50 failures per 1,000 node-days. A node has eight A100.
  it.each([
    [16_384, "1.80"],
    [131_072, "0.23"],
  ])("Meta's law gives %i GPUs a time to failure of %s h, as published", (gpus, expected) => {
    expect(hours(jobMttfSeconds(gpus / 8, 6.5, 0)).toFixed(2)).toBe(expected);
    expectWithinPercent(hours(jobMttfSeconds(gpus / 8, 6.5, 0)), 24 / ((gpus / 8) * 6.5e-3), 1e-9);
  });

  it("what fails small jobs besides their nodes: 7.9 h at 1,024 GPUs", () => {
    expect(hours(jobMttfSeconds(128, 6.5, 0))).toBeCloseTo(28.8, 1);
    expect(hours(jobMttfSeconds(128, 6.5, 2.206))).toBeCloseTo(7.9, 1);
  });

  it("Llama 3's table adds up to 419 interruptions, 3.79 per 1,000 node-days", () => {
    const record = findFailureRecord("llama3-h100");
    expect(record?.perThousandNodeDays).toBeCloseTo(3.79, 2);
    expect(((record?.perThousandNodeDays ?? 0) * 2048 * 54) / 1000).toBeCloseTo(419);
    expect(record && scaledToNode(record, 4)).toBeCloseTo(3.7887 * (1 - 268 / 419 / 2), 2);
    for (const one of failureRecords) expect(scaledToNode(one, 8)).toBeCloseTo(one.perThousandNodeDays);
  });
});

describe("checkpoint interval", () => {
  // Optimal interval and ETTR, calculated by hand, for a 405B model on 16,384 GPUs at 3.79 failures per 1,000
  // node-days. The checkpoint has 5,288 GiB, a restart takes 300 s, and the job stops while it writes at 100, 500 or
  // 1,000 GB/s.
  it.each([
    [56.8, 20, 0.878],
    [11.4, 8.7, 0.929],
    [5.68, 6.1, 0.942],
  ])("a stall of %d s: every %d min, ETTR %d", (stallSeconds, minutes, expected) => {
    const cost = { mttfSeconds: jobMttfSeconds(2048, 3.79, 0), restartSeconds: 300, stallSeconds };
    expectWithinPercent(availabilityInterval(cost) / 60, minutes, 2);
    expectWithinPercent(ettrLinear(cost, availabilityInterval(cost)), expected, 0.2);
  });

  it("the three formulas agree where stalls are short, and the best interval is Daly's", () => {
    const cost = { mttfSeconds: 10_000, restartSeconds: 300, stallSeconds: 10 };
    expect(youngInterval(cost)).toBeCloseTo(447.2, 1);
    expectWithinPercent(dalyInterval(cost), bestInterval(cost), 0.2);
    expectWithinPercent(availabilityInterval(cost), youngInterval(cost), 5);
    expect(dalyInterval({ ...cost, stallSeconds: 30_000 })).toBe(10_000);
  });

  const costs = fc.record({
    mttfSeconds: fc.double({ min: 1000, max: 1e7, noNaN: true }),
    restartSeconds: fc.double({ min: 1, max: 900, noNaN: true }),
    stallSeconds: fc.double({ min: 0.1, max: 300, noNaN: true }),
  });

  it("goodput and its losses add up to 1, and no interval beats the best", () => {
    fc.assert(
      fc.property(costs, fc.double({ min: 0.05, max: 20, noNaN: true }), (cost, factor) => {
        const best = bestInterval(cost);
        const at = goodputAt(cost, best * factor);
        expect(at.ettr + at.lost.checkpoints + at.lost.restarts + at.lost.repeatedWork).toBeCloseTo(1, 9);
        expect(Math.min(at.ettr, ...Object.values(at.lost))).toBeGreaterThanOrEqual(0);
        expect(at.ettr).toBeLessThanOrEqual(ettrExact(cost, best) + 1e-9);
      }),
    );
  });

  it("rarer failures, faster restarts and shorter stalls never make it worse", () => {
    fc.assert(
      fc.property(costs, fc.double({ min: 1, max: 3, noNaN: true }), (cost, factor) => {
        const now = ettrExact(cost, 600);
        expect(ettrExact({ ...cost, mttfSeconds: cost.mttfSeconds * factor }, 600)).toBeGreaterThanOrEqual(now - 1e-12);
        expect(ettrExact({ ...cost, restartSeconds: cost.restartSeconds / factor }, 600)).toBeGreaterThanOrEqual(now);
        expect(ettrExact({ ...cost, stallSeconds: cost.stallSeconds / factor }, 600)).toBeGreaterThanOrEqual(
          now - 1e-12,
        );
      }),
    );
  });

  it("the linear form is close to the exact one where failures are rare", () => {
    const cost = { mttfSeconds: 100_000, restartSeconds: 300, stallSeconds: 5 };
    expectWithinPercent(ettrLinear(cost, 1000), ettrExact(cost, 1000), 0.1);
    expect(ettrLinear({ ...cost, mttfSeconds: 100 }, 1000)).toBe(0);
  });
});

describe("spares", () => {
  it("Poisson: a mean of 1 away needs 4 spares for 99%", () => {
    const request = { nodeCount: 1000, perThousandNodeDays: 1, repairHours: 24, coverage: 0.99, burstiness: 1 };
    expect(spareNodes(request)).toMatchObject({ meanAwayCount: 1, spareCount: 4 });
    expect(spareNodes({ ...request, burstiness: 3 }).spareCount).toBe(8);
    expect(spareNodes({ ...request, perThousandNodeDays: 0 }).spareCount).toBe(0);
  });

  it("goes over to the normal distribution without a step", () => {
    const request = { nodeCount: 1e6, perThousandNodeDays: 0.7, repairHours: 24, coverage: 0.99, burstiness: 1 };
    const below = spareNodes(request);
    const above = spareNodes({ ...request, nodeCount: 1.1e6 });
    expect(below.spareCount).toBeGreaterThan(below.meanAwayCount);
    expect(above.spareCount - below.spareCount).toBeGreaterThan(60);
    expect(above.spareCount - below.spareCount).toBeLessThan(80);
  });
});

describe("domains", () => {
  const job = { name: "j", nodesPerJob: 16, acceleratorsPerNode: 8, intervalSeconds: 1200, restartSeconds: 300 };

  it("one job on the whole fleet loses the same whatever fails", () => {
    const jobs = [{ ...job, jobCount: 1, nodesPerJob: 64 }];
    for (const nodeCount of [1, 4, 32]) {
      for (const placement of ["packed", "scattered"] as const) {
        const loss = domainLoss({ nodeCount: 64, placement }, jobs, { name: "d", nodeCount });
        expect(loss.jobsStopped).toBeCloseTo(1);
        expect(loss.acceleratorHours).toBeCloseTo((64 * 8 * 900) / 3600);
      }
    }
  });

  it("a rack stops more jobs when they are scattered", () => {
    const jobs = [{ ...job, jobCount: 4 }];
    const rack = { name: "rack", nodeCount: 8, perThousandDays: 2 };
    const packed = domainLoss({ nodeCount: 64, placement: "packed" }, jobs, rack);
    const scattered = domainLoss({ nodeCount: 64, placement: "scattered" }, jobs, rack);
    expect(packed.jobsStopped).toBeCloseTo((4 * 23) / 64);
    expect(scattered.jobsStopped).toBeGreaterThan(3.6);
    expect(packed.acceleratorHoursPerYear).toBeCloseTo(((2 * 365) / 1000) * 8 * packed.acceleratorHours);
  });
});
