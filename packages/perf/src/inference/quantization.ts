import type { Accelerator } from "../catalogue/accelerator.ts";
import { bytesPerElement, matrixClassOf } from "../catalogue/number-format.ts";
import type { MatrixClass, NumberFormat } from "../catalogue/number-format.ts";

/** Number formats of a served model. In every published checkpoint, the embedding and the output head have 16 bits. */
export interface ServingFormats {
  readonly linear: NumberFormat;
  /** Format of the routed experts. In some checkpoints (gpt-oss) they are the only quantised matrices. */
  readonly experts: NumberFormat;
  readonly kv: NumberFormat;
}

/** Bytes of one element of the embedding, the output head, activations, and messages between accelerators. */
export const activationBytes = 2;

/**
 * Formats of usual checkpoints. All matrices have the same format, except in MXFP4 checkpoints (gpt-oss), where only
 * the experts are quantised.
 */
export function servingFormats(weights: NumberFormat, kv?: NumberFormat): ServingFormats {
  const isSmall = bytesPerElement(weights) < activationBytes;
  // Quantised checkpoints of NVIDIA's model optimizer use an FP8 cache. OpenAI's MXFP4 checkpoints do not.
  const usualKv = isSmall && weights !== "mxfp4" ? "fp8" : "bf16";
  return { linear: weights === "mxfp4" ? "bf16" : weights, experts: weights, kv: kv ?? usualKv };
}

/**
 * The formats in which an accelerator runs a model. If the accelerator's only 16-bit format is fp16, engines refuse
 * bf16, so fp16 replaces it.
 */
export function executableFormats(formats: ServingFormats, { halfFormat }: Accelerator): ServingFormats {
  const executable = (format: NumberFormat): NumberFormat => (format === "bf16" ? (halfFormat ?? "bf16") : format);
  return {
    linear: executable(formats.linear),
    experts: executable(formats.experts),
    kv: executable(formats.kv),
  };
}

/**
 * The rate class in which weights of this format are multiplied. If the accelerator lacks the class, weights are
 * expanded to 16 bits before the product; in memory they keep their small size.
 */
export function multiplyClass(accelerator: Accelerator, format: NumberFormat): MatrixClass {
  // Four-bit integers (AWQ, GPTQ) are only a storage format: kernels expand them to 16 bits before they multiply.
  const wanted = format === "int4" ? "bf16" : matrixClassOf(format);
  const fallbacks: readonly MatrixClass[] = wanted === "fp4" ? ["fp4", "bf16"] : [wanted, "bf16"];
  return fallbacks.find((candidate) => accelerator.denseTflops[candidate] !== undefined) ?? "bf16";
}
