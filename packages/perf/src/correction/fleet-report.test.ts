import { describe, expect, it } from "vitest";
import { fitCorrection } from "./fleet-correction.ts";
import { countedRuns, fleetReport, ownerRunsMax, readFleetCorrection, type FleetRun } from "./fleet-report.ts";
import { measuredStepOf, type StepPoint } from "./measured-steps.ts";

const runOf = (index: number, ratio: number, owner = `user ${index}`): FleetRun => ({
  workload: `w${index}`,
  owner,
  acceleratorType: "H100",
  family: "dense",
  acceleratorCount: 8,
  predictedSeconds: 2,
  measuredSeconds: 2 * ratio,
});

describe("the fleet's report", () => {
  it("shows bias and error of a kind before and after correction, each run judged by the others", () => {
    const runs = Array.from({ length: 20 }, (_, index) => runOf(index, 1.2 + 0.01 * ((index % 5) - 2)));
    const [kind] = fleetReport(runs).kinds;
    expect(kind).toMatchObject({ acceleratorType: "H100", family: "dense", runCount: 20 });
    expect(kind?.uncorrectedBias).toBeCloseTo(0.2, 3);
    expect(kind?.uncorrectedError).toBeCloseTo(1 / 6, 2);
    expect(kind?.correctedBias).toBeLessThan(0.04);
    expect(kind?.correctedError).toBeLessThan((kind?.uncorrectedError ?? 0) / 2);
  });

  it("counts a configuration of a workload once, with its newest measurement, and drops impossible ones", () => {
    const runs = [runOf(1, 50), runOf(2, 1), runOf(1, 1.1), runOf(3, Number.NaN), runOf(4, 0), runOf(5, Infinity)];
    expect(countedRuns(runs).map(({ workload, measuredSeconds }) => [workload, measuredSeconds])).toEqual([
      ["w2", 2],
      ["w1", 2.2],
    ]);
  });

  it("moves no prediction by more than 3% for one workload, however often and wildly it reports", () => {
    const honest = Array.from({ length: 10 }, (_, index) => runOf(index, 1.1));
    const before = fleetReport(honest).correction;
    for (const ratio of [1e-9, 0.2, 30, 1e9]) {
      const wild = Array.from({ length: 100 }, () => runOf(99, ratio));
      const after = fleetReport([...honest, ...wild]).correction;
      const shift = (after.types[0]?.logFactor ?? 0) - (before.types[0]?.logFactor ?? 0);
      const ofFamily = (after.types[0]?.families[0]?.logFactor ?? 0) - (before.types[0]?.families[0]?.logFactor ?? 0);
      expect(Math.abs(Math.expm1(shift + ofFamily))).toBeLessThanOrEqual(0.03);
    }
  });

  it("lets one person have a part of a kind's runs at most", () => {
    const flood = Array.from({ length: 500 }, (_, index) => runOf(index, 3, "mallory"));
    expect(countedRuns([...flood, runOf(1000, 1)])).toHaveLength(ownerRunsMax + 1);
  });

  it("reads a correction that was written, and nothing else", () => {
    const correction = fitCorrection([runOf(1, 1.2)]);
    expect(readFleetCorrection(JSON.parse(JSON.stringify({ ...correction, kinds: [] })))).toEqual(correction);
    for (const other of [null, {}, { ...correction, version: 2 }, { ...correction, types: [{}] }]) {
      expect(readFleetCorrection(other)).toBeUndefined();
    }
    const [type] = correction.types;
    expect(readFleetCorrection({ ...correction, types: [{ ...type, logFactor: 99 }] })).toBeUndefined();
  });
});

describe("the measured step of a run", () => {
  const pointsOf = (seconds: (index: number) => number, count = 40): StepPoint[] => {
    let atMs = 0;
    return Array.from({ length: count }, (_, index) => {
      atMs += 10 * seconds(index) * 1000;
      return { atMs, step: 10 * index, metrics: {} };
    });
  };

  it("is the median over windows, without warm-up and pauses", () => {
    const measured = measuredStepOf(pointsOf((index) => (index === 1 ? 30 : index % 10 === 0 ? 8 : 1)));
    expect(measured?.seconds).toBeCloseTo(1, 6);
    expect(measured?.stepCount).toBeGreaterThan(300);
  });

  it("starts again where a run went back to a checkpoint", () => {
    const first = pointsOf(() => 1, 10);
    const again = pointsOf(() => 1, 20).map((point) => ({ ...point, atMs: point.atMs + 500_000 }));
    expect(measuredStepOf([...first, ...again])?.seconds).toBeCloseTo(1, 6);
  });

  it("is not known from few reports, or from clocks that stand still", () => {
    expect(measuredStepOf([])).toBeUndefined();
    expect(measuredStepOf(pointsOf(() => 1, 3))).toBeUndefined();
    expect(measuredStepOf(Array.from({ length: 50 }, (_, step) => ({ atMs: 7, step, metrics: {} })))).toBeUndefined();
  });

  it("has the components that the run reports, and drops impossible ones", () => {
    const points = pointsOf(() => 1).map((point, index) => ({
      ...point,
      metrics: { networkSeconds: index === 3 ? 1e9 : 0.4, storageSeconds: -1, loss: 3 },
    }));
    expect(measuredStepOf(points)?.reported).toEqual({ network: 0.4 });
  });
});
