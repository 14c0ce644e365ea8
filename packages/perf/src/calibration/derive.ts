import type { Accelerator } from "../catalogue/accelerator.ts";
import type { AcceleratorCalibration } from "../catalogue/calibration.ts";
import type { MatrixClass } from "../catalogue/number-format.ts";
import type { CalibrationProfile, MatmulRow } from "./profile.ts";

/**
 * Serving efficiencies from a profile. They are shown to the user and are a check on the fitted rates of the inference
 * model.
 */
export interface ServingCalibration {
  /** Median rate of products in layers with at least 2,048 tokens, as a share of the dense 16-bit peak. */
  readonly matmulEfficiency?: number;
  /** Rate at which matrix products of at most 16 tokens read their weights, as a share of the memory bandwidth. */
  readonly weightReadEfficiency?: number;
  readonly attentionEfficiency?: number;
}

export interface Calibration {
  readonly training: AcceleratorCalibration;
  readonly serving: ServingCalibration;
  /**
   * Messages about figures above the accelerator's limits. The most likely cause is a wrong accelerator name. Such
   * figures are ignored.
   */
  readonly warnings: readonly string[];
}

const classOfDtype: Readonly<Record<string, MatrixClass>> = { bf16: "bf16", fp16: "bf16", fp8: "fp8" };

/**
 * Largest credible measurement, as a share of the datasheet's figure. A larger share is impossible on that accelerator.
 */
const possibleShare = 1.05;

/**
 * Converts a profile to shares of the datasheet's figures. The training efficiency of a rate class comes from the
 * fastest matrix product, like `bestMatmulTflops` of the catalogue, because the fitted share of real layers is relative
 * to the fastest product. Other efficiencies come from the median, or from the largest copy or message.
 */
export function deriveCalibration(profile: CalibrationProfile, accelerator: Accelerator): Calibration {
  const warnings: string[] = [];
  const share = (what: string, found: number | undefined, peak: number | undefined): number | undefined => {
    if (found === undefined || peak === undefined || peak <= 0) return undefined;
    const value = found / peak;
    if (value <= possibleShare) return value;
    warnings.push(`${what} reached ${Math.round(value * 100)}% of the datasheet of ${accelerator.name}: left out`);
    return undefined;
  };
  const { bf16 } = accelerator.denseTflops;
  const matmulEfficiency: Partial<Record<MatrixClass, number>> = {};
  for (const matrixClass of ["bf16", "fp8"] as const) {
    const best = largest(profile.matmul.filter((row) => classOfDtype[row.dtype] === matrixClass).map(tflops));
    const found = share(`${matrixClass} products`, best, accelerator.denseTflops[matrixClass]);
    if (found !== undefined) matmulEfficiency[matrixClass] = found;
  }
  const attention = share("attention", median(attentionRates(profile)), bf16);
  const layers = profile.matmul.filter((row) => row.dtype === "bf16" && row.m >= 2048 && row.n >= 4096);
  return {
    training: defined({
      accelerator: accelerator.name,
      matmulEfficiency,
      attentionEfficiency: attention,
      memoryEfficiency: share("copies", copyRate(profile), accelerator.memoryGbPerS),
      kernelLaunchUs: profile.queuedLaunchUs,
      scaleUpEfficiency: share("all-reduce", allReduceRate(profile), accelerator.scaleUp.gbPerS),
    }),
    serving: defined({
      matmulEfficiency: share("layers", median(layers.map(tflops)), bf16),
      weightReadEfficiency: share("weight reads", median(weightReads(profile)), accelerator.memoryGbPerS),
      attentionEfficiency: attention,
    }),
    warnings,
  };
}

const tflops = (row: MatmulRow): number => (2 * row.m * row.n * row.k) / row.seconds / 1e12;

/** TFLOP/s of attention in training, forward and backward, at sequence lengths at which attention matters. */
function attentionRates(profile: CalibrationProfile): number[] {
  return profile.attention
    .filter((row) => row.direction === "forwardBackward" && row.sequence >= 4096 && row.headDim === 128)
    .map((row) => row.tflops);
}

/** GB/s of the largest copy. The times of small copies depend on launches and caches. */
function copyRate(profile: CalibrationProfile): number | undefined {
  const copies = profile.memory.filter((row) => row.operation === "copy");
  const most = largest(copies.map((row) => row.bytes));
  return copies.find((row) => row.bytes === most)?.gbPerSecond;
}

/**
 * GB/s at which 16-bit weights of 100 MB or more are read for one to sixteen tokens. With so few tokens the arithmetic
 * takes no additional time.
 */
function weightReads(profile: CalibrationProfile): number[] {
  return profile.matmul
    .filter((row) => row.dtype === "bf16" && row.m <= 16 && row.n * row.k * 2 >= 100e6)
    .map((row) => (2 * (row.n * row.k + row.m * row.k + row.m * row.n)) / row.seconds / 1e9);
}

/** GB/s of an all-reduce of the largest message over the largest number of ranks on this machine. */
function allReduceRate(profile: CalibrationProfile): number | undefined {
  const rows = profile.collectives.filter((row) => row.collective === "allReduce");
  const ranks = largest(rows.map((row) => row.ranks));
  const most = largest(rows.filter((row) => row.ranks === ranks).map((row) => row.bytes));
  return rows.find((row) => row.ranks === ranks && row.bytes === most)?.busGbPerSecond;
}

function largest(values: readonly number[]): number | undefined {
  return values.length === 0 ? undefined : Math.max(...values);
}

function median(values: readonly number[]): number | undefined {
  if (values.length === 0) return undefined;
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? 0)) / 2;
}

/** Drops undefined figures, so that a figure without a measurement does not replace a fitted one. */
function defined<T extends object>(fields: { [Key in keyof T]: T[Key] | undefined }): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}
