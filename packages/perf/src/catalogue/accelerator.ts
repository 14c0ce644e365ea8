import type { MatrixClass } from "./number-format.ts";

/** Groups of figures that come from one source each, so that every figure's source can be stated. */
export type FigureGroup = "matrix" | "memory" | "scaleUp" | "scaleOut" | "power" | "bestMatmul";

/**
 * One accelerator by its datasheet. Rates are dense (no structured sparsity), bandwidths are per direction and per
 * accelerator, GB are 10^9 bytes.
 */
export interface Accelerator {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly vendor: string;
  /** Generation of the chip: measurements carry over best within one generation. */
  readonly architecture?: string;
  readonly year: number;
  /** Peak of the matrix units by rate class, TFLOP/s (for int8: TOP/s). Missing classes are not supported. */
  readonly denseTflops: Readonly<Partial<Record<MatrixClass, number>>>;
  /** The only 16-bit format of the matrix units; absent: bf16. Both formats have the rate of the class `bf16`. */
  readonly halfFormat?: "fp16";
  /**
   * Memory as the vendor states it. For accelerators of NVIDIA and AMD this is GiB to within 1.5%, and read as GiB
   * here.
   */
  readonly memoryGib: number;
  readonly memoryGbPerS: number;
  readonly scaleUp: ScaleUp;
  /** Usual network bandwidth of servers with this accelerator; a node may state another one. */
  readonly scaleOutGbPerS: number;
  readonly powerWatts?: number;
  /**
   * Number of streaming multiprocessors or compute units over which products are tiled; absent if units are few and
   * wide.
   */
  readonly computeUnits?: number;
  /** Number of rows and columns of a systolic matrix unit; narrower operands leave a part of it idle. */
  readonly matrixUnitWidth?: number;
  /** Best measured matrix product (MAMF of ml-engineering), TFLOP/s: an upper bound for real layers. */
  readonly bestMatmulTflops?: Readonly<Partial<Record<MatrixClass, number>>>;
  readonly sources: Readonly<Partial<Record<FigureGroup, string>>>;
  readonly note?: string;
}

/** The fast interconnect between neighbouring accelerators. */
export interface ScaleUp {
  readonly kind: "switched" | "mesh" | "torus" | "pcie";
  readonly name: string;
  readonly gbPerS: number;
  /** Number of accelerators connected at this rate. */
  readonly domainCount: number;
}
