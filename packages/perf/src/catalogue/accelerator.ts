import type { MatrixClass } from "./number-format.ts";

/** Figures from one source, so that each figure's source can be stated. */
export type FigureGroup = "matrix" | "memory" | "scaleUp" | "scaleOut" | "power" | "bestMatmul";

/**
 * One accelerator as its datasheet describes it. Rates are dense (no structured sparsity), bandwidths are per direction
 * and per accelerator, GB are 10^9 bytes.
 */
export interface Accelerator {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly vendor: string;
  /** Generation of the chip: measurements of one chip carry over best within its generation. */
  readonly architecture?: string;
  readonly year: number;
  /** Peak of the matrix units by rate class, TFLOP/s (for int8: TOP/s). A class that is missing is not offered. */
  readonly denseTflops: Readonly<Partial<Record<MatrixClass, number>>>;
  /** Memory as the vendor names it. For the accelerators of NVIDIA and AMD this is GiB to within 1.5%, read as GiB here. */
  readonly memoryGib: number;
  readonly memoryGbPerS: number;
  readonly scaleUp: ScaleUp;
  /** Network bandwidth that servers with this accelerator usually have; a node may say otherwise. */
  readonly scaleOutGbPerS: number;
  readonly powerWatts?: number;
  /** Streaming multiprocessors or compute units that products are tiled over; left out where units are few and wide. */
  readonly computeUnits?: number;
  /** Rows and columns of a systolic matrix unit: narrower operands leave part of it idle. */
  readonly matrixUnitWidth?: number;
  /** Best measured matrix product (MAMF of ml-engineering), TFLOP/s: an upper bound for real layers. */
  readonly bestMatmulTflops?: Readonly<Partial<Record<MatrixClass, number>>>;
  readonly sources: Readonly<Partial<Record<FigureGroup, string>>>;
  readonly note?: string;
}

/** The fast fabric that joins neighbouring accelerators. */
export interface ScaleUp {
  readonly kind: "switched" | "mesh" | "torus" | "pcie";
  readonly name: string;
  readonly gbPerS: number;
  /** Number of accelerators connected at that rate. */
  readonly domainCount: number;
}
