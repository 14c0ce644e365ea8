import type { Accelerator } from "../catalogue/accelerator.ts";
import { bytesPerElement, matrixClassOf, type MatrixClass } from "../catalogue/number-format.ts";
import type { TrainingConstants } from "../constants.ts";
import { accelerators } from "../catalogue/accelerators.ts";
import { queryWidth, valueWidth } from "../catalogue/model.ts";
import type { TrainingJob, TrainingSystem } from "./job.ts";

/**
 * Share of the peak that is used if no accelerator of the vendor has a measured best product. It is the median over the
 * catalogue.
 */
const usualBestShare = 0.78;

/** Speeds of one accelerator for the layers of a job, in FLOP/s, bytes/s and seconds. */
export interface Rates {
  readonly linearFlops: number;
  readonly halfFlops: number;
  readonly attentionFlops: number;
  readonly memoryBytes: number;
  readonly operandBytes: number;
  readonly linearOperandBytes: number;
  readonly isNarrow: boolean;
  readonly elementPasses: number;
  readonly launchSeconds: number;
  /**
   * Number of elements of a product's result that one wave of tiles computes, with one tile on every compute unit. 0 if
   * the accelerator has only a few wide units.
   */
  readonly waveElements: number;
  readonly matrixUnitWidth: number;
}

/**
 * Number of elements of the tile that vendors' libraries choose for large products. Each compute unit (SM, CU) computes
 * one tile at a time.
 */
const tileElements = 128 * 128;

function waveElements(accelerator: Accelerator): number {
  return (accelerator.computeUnits ?? 0) * tileElements;
}

/** The rate class that executes a number format. Accelerators without FP8 units run FP8 tensors at the 16-bit rate. */
export function executedClass(accelerator: Accelerator, wanted: MatrixClass): MatrixClass {
  const order: readonly MatrixClass[] = wanted === "int8" ? ["int8"] : wanted === "fp4" ? ["fp4", "fp8"] : [wanted];
  return order.find((candidate) => accelerator.denseTflops[candidate] !== undefined) ?? "bf16";
}

/**
 * Matrix rate in FLOP/s that real layers approach. It is a share of the accelerator's best measured product, or of an
 * estimate from other accelerators of the vendor. The power limit can reduce it.
 */
function achievableFlops(
  system: TrainingSystem,
  matrixClass: MatrixClass,
  share: number,
  constants: TrainingConstants,
): number {
  const { accelerator } = system.cluster.node;
  const measured = system.calibration?.matmulEfficiency[matrixClass];
  const peak = (accelerator.denseTflops[matrixClass] ?? accelerator.denseTflops.bf16 ?? 1) * 1e12;
  if (measured !== undefined) return peak * measured * share;
  const best = accelerator.bestMatmulTflops?.[matrixClass];
  const short = best === undefined ? peak * bestShareOf(accelerator) : best * 1e12;
  return Math.min(short, sustainedFlops(accelerator, matrixClass, constants)) * share;
}

const bitsOf: Readonly<Record<MatrixClass, number>> = { fp32: 32, bf16: 16, fp8: 8, int8: 8, fp4: 4 };

/**
 * FLOP/s that the power limit of the board sustains over hours. Short benchmarks exceed this rate. H100 and B200 are
 * made in one process (4N) and spend nearly the same energy on a 16-bit product; their power differs by 43%, but their
 * peak rates by a factor of 2.3. Narrower operands take less energy: the energy is a power of their width.
 */
function sustainedFlops(accelerator: Accelerator, matrixClass: MatrixClass, constants: TrainingConstants): number {
  if (accelerator.powerWatts === undefined) return Number.POSITIVE_INFINITY;
  const narrower = (16 / bitsOf[matrixClass]) ** constants.narrowPower;
  return accelerator.powerWatts * constants.tflopsPerWatt * 1e12 * narrower;
}

const bestShares = new WeakMap<Accelerator, number>();

/**
 * Measured share of the 16-bit peak. If there is none, it is the share of the vendor's accelerator that is nearest in
 * years. The result is cached, because searches use it often.
 */
function bestShareOf(accelerator: Accelerator): number {
  const share = bestShares.get(accelerator) ?? findBestShare(accelerator);
  bestShares.set(accelerator, share);
  return share;
}

function findBestShare(accelerator: Accelerator): number {
  const own = measuredShare(accelerator);
  if (own !== undefined) return own;
  let nearest: Accelerator | undefined;
  const gap = (other: Accelerator): number => Math.abs(other.year - accelerator.year);
  for (const other of accelerators) {
    if (other.vendor !== accelerator.vendor || measuredShare(other) === undefined) continue;
    if (nearest === undefined || gap(other) < gap(nearest)) nearest = other;
  }
  return nearest === undefined ? usualBestShare : (measuredShare(nearest) ?? usualBestShare);
}

function measuredShare(accelerator: Accelerator): number | undefined {
  const { bf16 } = accelerator.denseTflops;
  const best = accelerator.bestMatmulTflops?.bf16;
  return bf16 === undefined || best === undefined ? undefined : best / bf16;
}

function shareOf(matrixClass: MatrixClass, constants: TrainingConstants): number {
  if (matrixClass === "fp8" || matrixClass === "int8") return constants.matmulShareFp8;
  return matrixClass === "fp4" ? constants.matmulShareFp4 : constants.matmulShare;
}

export function ratesOf(job: TrainingJob, system: TrainingSystem, constants: TrainingConstants): Rates {
  const { accelerator } = system.cluster.node;
  const { calibration } = system;
  const executed = executedClass(accelerator, matrixClassOf(job.precision.linear));
  const isNarrow = executed !== "bf16" && executed !== "fp32";
  const halfFlops = achievableFlops(system, "bf16", constants.matmulShare, constants);
  return {
    linearFlops: achievableFlops(system, executed, shareOf(executed, constants), constants),
    halfFlops,
    attentionFlops: attentionFlops(job, system, constants),
    waveElements: waveElements(accelerator),
    matrixUnitWidth: accelerator.matrixUnitWidth ?? 0,
    memoryBytes: accelerator.memoryGbPerS * 1e9 * (calibration?.memoryEfficiency ?? 1),
    operandBytes: 2,
    linearOperandBytes: isNarrow ? bytesPerElement(job.precision.linear) : 2,
    isNarrow,
    elementPasses: constants.elementPasses,
    launchSeconds: (calibration?.kernelLaunchUs ?? constants.launchUs) * 1e-6,
  };
}

/**
 * Rate of fused attention in FLOP/s. The rate of tuned kernels (FlashAttention-3, arXiv 2407.08608; cuDNN) is
 * proportional to the rate of the matrix units. The kernels that PyTorch modules call were written for an earlier
 * generation, and their rate grows only with the square root of the peak rate: FlashAttention-2 reaches 70% of the peak
 * of an A100 and 35% of the peak of an H100 (same paper).
 */
function attentionFlops(job: TrainingJob, system: TrainingSystem, constants: TrainingConstants): number {
  const { accelerator } = system.cluster.node;
  const shape = headShare(job, accelerator);
  const measured = system.calibration?.attentionEfficiency;
  if (measured !== undefined) return shape * measured * (accelerator.denseTflops.bf16 ?? 1) * 1e12;
  const best = achievableFlops(system, "bf16", 1, constants);
  const { stack } = job.software;
  return (
    shape *
    (stack === "eager" ? Math.sqrt(best * constants.attentionTflopsEager * 1e12) : best * constants.attentionShare)
  );
}

/** Head size for which published rates of attention are stated. */
const usualHead = 128;
/**
 * Work for each pair of positions besides the products, such as softmax. It is expressed as an addition to the head
 * size: FlashAttention-3 runs heads of 64 at 0.70 of the rate of heads of 128.
 */
const softmaxWidth = 93;

/**
 * Effect of the head size on the rate of attention. Softmax costs the same for all head sizes, and matrix units that
 * are wider than the head are partly idle.
 */
function headShare(job: TrainingJob, accelerator: Accelerator): number {
  // The rate of FlashAttention-2 depends only on its matrix products: an A100 runs heads of 64 and 128 at the same
  // rate.
  if (job.software.stack === "eager") return 1;
  const { attention } = job.model;
  const width = (queryWidth(attention) + valueWidth(attention)) / 2 / attention.headCount;
  const softmax = (1 + softmaxWidth / usualHead) / (1 + softmaxWidth / width);
  const unit = accelerator.matrixUnitWidth ?? 0;
  return unit > usualHead ? softmax * (Math.min(width, unit) / Math.min(usualHead, unit)) : softmax;
}
