import type { MatrixClass } from "./number-format.ts";

/**
 * Groups of figures of an accelerator. The figures of one group have the same source, so a source can be stated for
 * every figure.
 */
export type FigureGroup = "matrix" | "memory" | "scaleUp" | "scaleOut" | "power" | "bestMatmul";

/**
 * One accelerator, as its datasheet describes it. Rates are dense (no structured sparsity), bandwidths are for each
 * direction and accelerator, and a GB is 10^9 bytes.
 */
export interface Accelerator {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly vendor: string;
  /** Generation of the chip. Measurements on one accelerator apply best to accelerators of the same generation. */
  readonly architecture?: string;
  readonly year: number;
  /**
   * Peak rate of the matrix units by rate class, in TFLOP/s (for int8: TOP/s). A class that is missing here is not
   * supported.
   */
  readonly denseTflops: Readonly<Partial<Record<MatrixClass, number>>>;
  /**
   * `fp16` if the matrix units have no bf16. If absent, the 16-bit format is bf16. Both formats have the rate of the
   * class `bf16`.
   */
  readonly halfFormat?: "fp16";
  /**
   * Memory in the unit that the vendor calls GB. For accelerators of NVIDIA and AMD the number is correct in GiB to
   * within 1.5%, so it is used as GiB.
   */
  readonly memoryGib: number;
  readonly memoryGbPerS: number;
  readonly scaleUp: ScaleUp;
  /** Usual network bandwidth of servers with this accelerator. A node can state another one. */
  readonly scaleOutGbPerS: number;
  readonly powerWatts?: number;
  /**
   * Number of streaming multiprocessors or compute units over which the tiles of a matrix product are distributed.
   * Absent if the accelerator has a few wide units instead.
   */
  readonly computeUnits?: number;
  /**
   * Number of rows and columns of a systolic matrix unit. Operands with fewer rows or columns leave a part of the unit
   * idle.
   */
  readonly matrixUnitWidth?: number;
  /** Rate of the fastest measured matrix product (MAMF of ml-engineering), in TFLOP/s. Real layers cannot exceed it. */
  readonly bestMatmulTflops?: Readonly<Partial<Record<MatrixClass, number>>>;
  readonly sources: Readonly<Partial<Record<FigureGroup, string>>>;
  readonly note?: string;
}

/** The fast interconnect between neighbouring accelerators. */
export interface ScaleUp {
  readonly kind: "switched" | "mesh" | "torus" | "pcie";
  readonly name: string;
  readonly gbPerS: number;
  /** Number of accelerators that this interconnect joins. */
  readonly domainCount: number;
}
