import type { MatrixClass } from "./number-format.ts";

/**
 * Measurements of one's own accelerator. Every figure replaces the fitted default that is described beside it; figures
 * that were not measured stay as fitted. Efficiencies are shares of the datasheet's peak.
 */
export interface AcceleratorCalibration {
  readonly accelerator: string;
  /** Large matrix products, achieved share of the dense peak by rate class. */
  readonly matmulEfficiency: Readonly<Partial<Record<MatrixClass, number>>>;
  /** Fused attention, forward and backward, achieved share of the bf16 peak. */
  readonly attentionEfficiency?: number;
  /** Large copies and element-wise kernels, achieved share of the memory bandwidth. */
  readonly memoryEfficiency?: number;
  /** Time from one launch of a small kernel to the next, microseconds. */
  readonly kernelLaunchUs?: number;
  /** Bus bandwidth of a large all-reduce within the node, achieved share of the scale-up link. */
  readonly scaleUpEfficiency?: number;
}
