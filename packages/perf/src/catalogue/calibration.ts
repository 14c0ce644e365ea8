import type { MatrixClass } from "./number-format.ts";

/**
 * Measurements of the user's own accelerator. Each figure replaces the fitted default that its description names.
 * Figures without a measurement keep their fitted values. Efficiencies are shares of the datasheet's peak.
 */
export interface AcceleratorCalibration {
  readonly accelerator: string;
  /** Achieved share of the dense peak for large matrix products, by rate class. */
  readonly matmulEfficiency: Readonly<Partial<Record<MatrixClass, number>>>;
  /** Achieved share of the bf16 peak for fused attention, forward and backward. */
  readonly attentionEfficiency?: number;
  /** Achieved share of the memory bandwidth for large copies and element-wise kernels. */
  readonly memoryEfficiency?: number;
  /** Time between launches of a small kernel, in microseconds. */
  readonly kernelLaunchUs?: number;
  /** Achieved bus bandwidth of a large all-reduce within the node, as a share of the scale-up link. */
  readonly scaleUpEfficiency?: number;
}
