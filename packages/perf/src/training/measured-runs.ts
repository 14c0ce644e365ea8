import type { EvidencePoint } from "./evidence.ts";

type MeasuredRunRow = readonly [
  architecture: string,
  stack: string,
  family: "dense" | "experts",
  matrixClass: EvidencePoint["matrixClass"],
  largestCount: number,
  sourceCount: number,
];

/**
 * Kinds of training runs to which the constants were fitted. `npm run validate:training -- FILE… --refit` prints these
 * lines.
 */
const rows: readonly MeasuredRunRow[] = [
  ["Ampere", "eager", "dense", "bf16", 128, 3],
  ["Ampere", "fused", "dense", "bf16", 3072, 2],
  ["Blackwell", "fused", "dense", "bf16", 8, 1],
  ["Blackwell", "fused", "dense", "fp4", 256, 2],
  ["Blackwell", "fused", "dense", "fp8", 2496, 3],
  ["Blackwell", "fused", "experts", "bf16", 256, 2],
  ["Blackwell", "fused", "experts", "fp8", 256, 1],
  ["CDNA 4", "fused", "dense", "fp8", 8, 1],
  ["Hopper", "eager", "dense", "bf16", 96, 2],
  ["Hopper", "fused", "dense", "bf16", 2048, 3],
  ["Hopper", "fused", "dense", "fp8", 11616, 10],
  ["Hopper", "fused", "experts", "bf16", 64, 1],
  ["Hopper", "fused", "experts", "fp8", 1024, 1],
  ["TPU v5", "compiled", "dense", "bf16", 512, 1],
  ["TPU v5", "compiled", "dense", "int8", 6144, 2],
  ["TPU v5", "compiled", "experts", "bf16", 512, 1],
  ["TPU v6", "compiled", "dense", "bf16", 512, 1],
  ["TPU v6", "compiled", "experts", "bf16", 256, 1],
  ["TPU v7", "compiled", "dense", "bf16", 256, 1],
  ["TPU v7", "compiled", "dense", "fp8", 256, 1],
  ["TPU v7", "compiled", "experts", "bf16", 256, 1],
  ["TPU v7", "compiled", "experts", "fp8", 256, 1],
];

export const measuredRuns: readonly EvidencePoint[] = rows.map(
  ([architecture, stack, family, matrixClass, acceleratorCount, sourceCount]) => ({
    architecture,
    stack,
    hasExperts: family === "experts",
    matrixClass,
    acceleratorCount,
    sourceCount,
  }),
);
