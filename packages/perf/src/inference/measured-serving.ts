import type { EngineStyle, ServingEvidence } from "./evidence.ts";

type Row = readonly [
  architecture: string,
  engine: EngineStyle,
  family: "dense" | "experts",
  matrixClass: ServingEvidence["matrixClass"],
  sourceCount: number,
];

/**
 * Kinds of replicas in the measurements to which the constants were fitted. `npm run validate:inference -- FILE
 * --refit` prints these lines.
 */
const rows: readonly Row[] = [
  ["Ada", "mixed", "dense", "bf16", 1],
  ["Ampere", "eager", "dense", "bf16", 1],
  ["Ampere", "fused", "dense", "bf16", 1],
  ["Blackwell", "fused", "dense", "fp4", 3],
  ["Blackwell", "fused", "experts", "fp4", 3],
  ["Blackwell", "fused", "dense", "fp8", 1],
  ["Blackwell", "fused", "experts", "fp8", 1],
  ["Blackwell", "mixed", "experts", "bf16", 1],
  ["Blackwell", "mixed", "dense", "fp4", 1],
  ["Blackwell", "mixed", "experts", "fp4", 1],
  ["Blackwell", "mixed", "dense", "fp8", 1],
  ["Blackwell", "mixed", "experts", "fp8", 1],
  ["Blackwell", "promptsFirst", "experts", "fp4", 1],
  ["Blackwell", "promptsFirst", "experts", "fp8", 1],
  ["Hopper", "eager", "dense", "bf16", 1],
  ["Hopper", "fused", "dense", "fp8", 5],
  ["Hopper", "fused", "experts", "fp8", 3],
  ["Hopper", "mixed", "dense", "bf16", 3],
  ["Hopper", "mixed", "experts", "fp4", 2],
  ["Hopper", "mixed", "dense", "fp8", 2],
  ["Hopper", "mixed", "experts", "fp8", 2],
  ["Hopper", "promptsFirst", "dense", "bf16", 1],
  ["Hopper", "promptsFirst", "experts", "fp8", 3],
];

export const measuredServing: readonly ServingEvidence[] = rows.map(
  ([architecture, engine, family, matrixClass, sourceCount]) => ({
    architecture,
    engine,
    hasExperts: family === "experts",
    matrixClass,
    sourceCount,
  }),
);
