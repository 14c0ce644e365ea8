import type { Accelerator } from "../catalogue/accelerator.ts";
import { bytesPerElement, matrixClassOf } from "../catalogue/number-format.ts";
import type { MatrixClass, NumberFormat } from "../catalogue/number-format.ts";

/** How the numbers of a served model are kept. Embedding and output head stay at 16 bits in every published checkpoint. */
export interface ServingFormats {
  readonly linear: NumberFormat;
  /** Routed experts: often the only matrices that are quantised (gpt-oss). */
  readonly experts: NumberFormat;
  readonly kv: NumberFormat;
}

/** Bytes per element of embedding, output head, activations and what is sent between accelerators. */
export const activationBytes = 2;

/** The usual checkpoints: one format throughout, and gpt-oss' MXFP4, which quantises nothing but the experts. */
export function servingFormats(weights: NumberFormat, kv?: NumberFormat): ServingFormats {
  const isSmall = bytesPerElement(weights) < activationBytes;
  // Quantised checkpoints of NVIDIA's model optimizer carry an FP8 cache; MXFP4 as published by OpenAI does not.
  const usualKv = isSmall && weights !== "mxfp4" ? "fp8" : "bf16";
  return { linear: weights === "mxfp4" ? "bf16" : weights, experts: weights, kv: kv ?? usualKv };
}

/**
 * The matrix units that multiply weights of that format: where the accelerator has none of the class, weights are
 * expanded to the widest class below that it has, and keep their small size in memory.
 */
export function multiplyClass(accelerator: Accelerator, format: NumberFormat): MatrixClass {
  // Four-bit integers (AWQ, GPTQ) are a format of storage: kernels expand them to 16 bits before they multiply.
  const wanted = format === "int4" ? "bf16" : matrixClassOf(format);
  const fallbacks: readonly MatrixClass[] = wanted === "fp4" ? ["fp4", "bf16"] : [wanted, "bf16"];
  return fallbacks.find((candidate) => accelerator.denseTflops[candidate] !== undefined) ?? "bf16";
}
