import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { combineDemands, deliveredShare, judgeStorage } from "./axes.ts";
import {
  checkpointBytes,
  checkpointDemand,
  datasetDemand,
  hostCopySeconds,
  startDemand,
  tokenReads,
  type AxisDemand,
  type DatasetReads,
} from "./demand.ts";
import { findTier } from "./tiers.ts";

const gib = 2 ** 30;

function expectWithinPercent(found: number, expected: number, percent: number): void {
  expect(Math.abs(found / expected - 1) * 100).toBeLessThanOrEqual(percent);
}

function perAccelerator(given: Partial<DatasetReads>): number {
  const base = { acceleratorCount: 1, samplesPerFile: 1, readerThreads: 4, datasetBytes: 0, utilisation: 1 };
  const reads = { ...base, sampleBytes: 0, batchSamples: 1, computeSeconds: 1, ...given };
  return datasetDemand(reads).readGbPerS;
}

describe("MLPerf Storage v2.0", () => {
  // Sample size, batch and compute time are from mlcommons/storage configs/dlio/workload/*.yaml. The rates are
  // calculated from them, in GB/s per accelerator at full utilisation and at the required utilisation.
  it.each([
    ["unet3d H100", { sampleBytes: 146_600_628, batchSamples: 7, computeSeconds: 0.323 }, 0.9, 3.18, 2.86],
    ["unet3d A100", { sampleBytes: 146_600_628, batchSamples: 7, computeSeconds: 0.636 }, 0.9, 1.61, 1.45],
    ["resnet50 H100", { sampleBytes: 114_660.07, batchSamples: 400, computeSeconds: 0.224 }, 0.9, 0.205, 0.184],
    ["cosmoflow H100", { sampleBytes: 2_828_486, batchSamples: 1, computeSeconds: 0.0035 }, 0.7, 0.81, 0.57],
  ] as const)("%s", (_name, shape, utilisation, full, required) => {
    expectWithinPercent(perAccelerator(shape), full, 1);
    expectWithinPercent(perAccelerator({ ...shape, utilisation }), required, 1);
  });

  /**
   * Number of parameters as the benchmark counts them: attention, gated feed-forward and two embeddings, without norms.
   */
  function parameters(layers: number, hidden: number, ffn: number, kvWidth: number): number {
    return layers * (2 * hidden * hidden + 2 * hidden * kvWidth + 3 * hidden * ffn) + 2 * 128_256 * hidden;
  }

  it.each([
    ["8B", parameters(32, 4096, 14_336, 1024), 105],
    ["70B, with the benchmark's 128 heads", parameters(80, 8192, 28_672, 512), 911],
    ["405B", parameters(126, 16_384, 53_248, 1024), 5288],
    // The published figures for 1T are 2,571 GiB of 16-bit weights and 15,426 GiB of optimizer state, which corresponds
    // to 1.38e12 parameters.
    ["1T, by its weights", (2571 * gib) / 2, 17_997],
  ])("checkpoint of Llama 3 %s", (_name, parameterCount, expectedGib) => {
    expectWithinPercent(checkpointBytes({ parameterCount, weightBytes: 2, optimizerBytes: 12 }) / gib, expectedGib, 1);
  });

  it("the published 1T figure is 7/6 of what the benchmark's own 1T architecture gives", () => {
    const parameterCount = parameters(128, 25_872, 98_304, (25_872 / 192) * 32);
    const found = checkpointBytes({ parameterCount, weightBytes: 2, optimizerBytes: 12 }) / gib;
    expectWithinPercent(found, 15_426, 0.1);
    expectWithinPercent((found * 7) / 6, 17_997, 0.1);
  });
});

describe("axes", () => {
  const bytes = checkpointBytes({ parameterCount: 405.8e9, weightBytes: 2, optimizerBytes: 12 });
  const common = { bytes, intervalSeconds: 1800, keptCount: 3, writerCount: 512, filesPerWriter: 1 };

  it("a blocking checkpoint asks for its bytes within the stall, an overlapped one within the interval", () => {
    const blocking = checkpointDemand({ ...common, mode: { kind: "blocking", stallSeconds: 30 } });
    const overlapped = checkpointDemand({ ...common, mode: { kind: "overlapped" } });
    expect(blocking.writeGbPerS).toBeCloseTo(bytes / 30 / 1e9);
    expect(overlapped.writeGbPerS).toBeCloseTo(bytes / 1800 / 1e9);
    expect(blocking.capacityBytes).toBe(4 * bytes);
    expect(hostCopySeconds(bytes, 16_384, 50)).toBeCloseTo(0.00694, 4);
  });

  it("names the axis that breaks first, and by how much", () => {
    const checkpoint = checkpointDemand({ ...common, mode: { kind: "blocking", stallSeconds: 10 } });
    const start = startDemand({
      nodeCount: 2048,
      processesPerNode: 8,
      imageBytesPerNode: 20e9,
      filesPerProcess: 5000,
      stateBytes: bytes,
      budgetSeconds: 300,
      startsPerDay: 8,
    });
    const demand = combineDemands([checkpoint, start]);
    const verdict = judgeStorage(demand, {
      name: "t",
      readGbPerS: 1000,
      writeGbPerS: 300,
      operationsPerS: 1e5,
      source: "",
    });
    expect(verdict.breaksFirst).toMatchObject({ axis: "operations", cause: "start" });
    expect(verdict.isEnough).toBe(false);
    expect(verdict.axes.find((axis) => axis.axis === "write")?.load).toBeCloseTo(
      bytes / 10 / 1e9 / (300 * deliveredShare),
      1,
    );
    expect(verdict.axes.find((axis) => axis.axis === "capacity")?.load).toBeUndefined();
  });

  it("Llama 3's own storage carries Llama 3's checkpoints", () => {
    const tier = findTier("tectonic-llama3");
    const demand = combineDemands([checkpointDemand({ ...common, mode: { kind: "blocking", stallSeconds: 10 } })]);
    expect(tier && judgeStorage(demand, tier).isEnough).toBe(true);
    expect(findTier("none")).toBeUndefined();
  });

  it("token streams are negligible", () => {
    const step = { acceleratorCount: 16_384, tokensPerStep: 16e6, stepSeconds: 5, datasetTokens: 15e12 };
    expect(datasetDemand(tokenReads(step)).readGbPerS).toBeCloseTo(0.0128);
    expect(datasetDemand(tokenReads(step)).capacityBytes).toBe(60e12);
  });

  const part = fc.record<AxisDemand>({
    name: fc.constantFrom("dataset", "checkpoint", "start"),
    capacityBytes: fc.nat(1e6),
    readGbPerS: fc.nat(1e4),
    writeGbPerS: fc.nat(1e4),
    operationsPerS: fc.nat(1e5),
    clientCount: fc.nat(1e5),
    dutyShare: fc.double({ min: 0, max: 1, noNaN: true }),
  });

  it("more work never needs less, and never more than everything at once", () => {
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), part, (parts, more) => {
        const before = combineDemands(parts);
        const after = combineDemands([...parts, more]);
        for (const key of ["capacityBytes", "readGbPerS", "writeGbPerS", "operationsPerS", "clientCount"] as const) {
          expect(after[key]).toBeGreaterThanOrEqual(before[key] - 1e-9);
          const all = [...parts, more].reduce((sum, one) => sum + one[key], 0);
          expect(after[key]).toBeLessThanOrEqual(all * (1 + 1e-12) + 1e-9);
        }
      }),
    );
  });
});
