import type { Accelerator } from "../catalogue/accelerator.ts";
import { bytesPerElement, matrixClassOf, type MatrixClass } from "../catalogue/number-format.ts";
import type { TrainingConstants } from "../constants.ts";
import type { SoftwareStack, TrainingJob, TrainingSystem } from "./job.ts";

/** Where no best matrix product was measured: the median over the catalogue's measured 16-bit ones. */
const usualBestShare = 0.78;

/** Speeds of one accelerator as the layers of a job see them: FLOP/s, bytes/s, seconds. */
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
}

/** The class whose unit multiplies a format: accelerators without FP8 units run FP8 tensors at the 16-bit rate. */
export function executedClass(accelerator: Accelerator, wanted: MatrixClass): MatrixClass {
  const order: readonly MatrixClass[] = wanted === "int8" ? ["int8"] : wanted === "fp4" ? ["fp4", "fp8"] : [wanted];
  return order.find((candidate) => accelerator.denseTflops[candidate] !== undefined) ?? "bf16";
}

/** Matrix rate in FLOP/s that real layers approach: the best product measured, or the usual share of the peak. */
function achievableFlops(system: TrainingSystem, matrixClass: MatrixClass, share: number): number {
  const { accelerator } = system.cluster.node;
  const measured = system.calibration?.matmulEfficiency[matrixClass];
  const peak = (accelerator.denseTflops[matrixClass] ?? accelerator.denseTflops.bf16 ?? 1) * 1e12;
  if (measured !== undefined) return peak * measured * share;
  const best = accelerator.bestMatmulTflops?.[matrixClass];
  return (best === undefined ? peak * bestShareOf(accelerator) : best * 1e12) * share;
}

/** Best measured share of the 16-bit peak; it stands for the other classes where those were not measured. */
function bestShareOf(accelerator: Accelerator): number {
  const { bf16 } = accelerator.denseTflops;
  const best = accelerator.bestMatmulTflops?.bf16;
  return bf16 === undefined || best === undefined ? usualBestShare : best / bf16;
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
  const halfFlops = achievableFlops(system, "bf16", constants.matmulShare);
  return {
    linearFlops: achievableFlops(system, executed, shareOf(executed, constants)),
    halfFlops,
    attentionFlops: attentionFlops(job.software.stack, system, constants),
    memoryBytes: accelerator.memoryGbPerS * 1e9 * (calibration?.memoryEfficiency ?? 1),
    operandBytes: 2,
    linearOperandBytes: isNarrow ? bytesPerElement(job.precision.linear) : 2,
    isNarrow,
    elementPasses: constants.elementPasses,
    launchSeconds: (calibration?.kernelLaunchUs ?? constants.launchUs) * 1e-6,
  };
}

/**
 * Fused attention. Tuned kernels (FlashAttention-3, arXiv 2407.08608; cuDNN) follow the matrix units. Those that PyTorch
 * modules call were written for an earlier generation and gain with the root of its growth: FlashAttention-2 reaches 70% of
 * an A100 and 35% of an H100 (same paper).
 */
function attentionFlops(stack: SoftwareStack, system: TrainingSystem, constants: TrainingConstants): number {
  const measured = system.calibration?.attentionEfficiency;
  if (measured !== undefined) return measured * (system.cluster.node.accelerator.denseTflops.bf16 ?? 1) * 1e12;
  const best = achievableFlops(system, "bf16", 1);
  return stack === "eager" ? Math.sqrt(best * constants.attentionTflopsEager * 1e12) : best * constants.attentionShare;
}
