/**
 * Formats in which numbers are stored and multiplied. Block-scaled formats (OCP MX, NVIDIA's NVFP4) differ from plain
 * FP8 and FP4 by their scale factors, not by the rate of the matrix units.
 */
export type NumberFormat =
  | "fp32"
  | "tf32"
  | "bf16"
  | "fp16"
  | "fp8"
  | "mxfp8"
  | "int8"
  | "fp4"
  | "mxfp4"
  | "nvfp4"
  | "int4";

/** Rate class of the matrix units. Accelerators publish one peak rate for each class. */
export type MatrixClass = "fp32" | "bf16" | "fp8" | "int8" | "fp4";

export const matrixClasses: readonly MatrixClass[] = ["fp32", "bf16", "fp8", "int8", "fp4"];

interface FormatFacts {
  readonly matrixClass: MatrixClass;
  /**
   * Bytes of one element, including its part of the scale factors: MX has one byte for every 32 elements, NVFP4 one
   * byte for every 16 (OCP MX v1.0).
   */
  readonly bytes: number;
}

const facts: Readonly<Record<NumberFormat, FormatFacts>> = {
  fp32: { matrixClass: "fp32", bytes: 4 },
  tf32: { matrixClass: "fp32", bytes: 4 },
  bf16: { matrixClass: "bf16", bytes: 2 },
  fp16: { matrixClass: "bf16", bytes: 2 },
  fp8: { matrixClass: "fp8", bytes: 1 },
  mxfp8: { matrixClass: "fp8", bytes: 1 + 1 / 32 },
  int8: { matrixClass: "int8", bytes: 1 },
  fp4: { matrixClass: "fp4", bytes: 0.5 },
  mxfp4: { matrixClass: "fp4", bytes: 0.5 + 1 / 32 },
  nvfp4: { matrixClass: "fp4", bytes: 0.5 + 1 / 16 },
  int4: { matrixClass: "int8", bytes: 0.5 },
};

export const numberFormats: readonly NumberFormat[] = [
  "fp32",
  "tf32",
  "bf16",
  "fp16",
  "fp8",
  "mxfp8",
  "int8",
  "fp4",
  "mxfp4",
  "nvfp4",
  "int4",
];

export function matrixClassOf(format: NumberFormat): MatrixClass {
  return facts[format].matrixClass;
}

export function bytesPerElement(format: NumberFormat): number {
  return facts[format].bytes;
}
