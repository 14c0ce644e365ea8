import type { Accelerator } from "../catalogue/accelerator.ts";
import { bytesPerElement, matrixClassOf } from "../catalogue/number-format.ts";
import type { MatrixClass, NumberFormat } from "../catalogue/number-format.ts";

/** Number formats of a served model. Embedding and output head have 16 bits in every published checkpoint. */
export interface ServingFormats {
  readonly linear: NumberFormat;
  /** Format of the routed experts; they are often the only quantised matrices (gpt-oss). */
  readonly experts: NumberFormat;
  readonly kv: NumberFormat;
}

/** Bytes per element of embedding, output head, activations and messages between accelerators. */
export const activationBytes = 2;

/** Formats of usual checkpoints: one format throughout; for gpt-oss' MXFP4 only the experts are quantised. */
export function servingFormats(weights: NumberFormat, kv?: NumberFormat): ServingFormats {
  const isSmall = bytesPerElement(weights) < activationBytes;
  // Quantised checkpoints of NVIDIA's model optimizer use an FP8 cache; MXFP4 as published by OpenAI does not.
  const usualKv = isSmall && weights !== "mxfp4" ? "fp8" : "bf16";
  return { linear: weights === "mxfp4" ? "bf16" : weights, experts: weights, kv: kv ?? usualKv };
}

/** The formats as an accelerator runs them: engines refuse bf16 on one whose only 16-bit format is fp16. */
export function executableFormats(formats: ServingFormats, { halfFormat }: Accelerator): ServingFormats {
  const executable = (format: NumberFormat): NumberFormat => (format === "bf16" ? (halfFormat ?? "bf16") : format);
  return {
    linear: executable(formats.linear),
    experts: executable(formats.experts),
    kv: executable(formats.kv),
  };
}

/**
 * The rate class that multiplies weights of this format. If the accelerator lacks the class, weights are expanded to 16
 * bits before the product and keep their small size in memory.
 */
export function multiplyClass(accelerator: Accelerator, format: NumberFormat): MatrixClass {
  // Four-bit integers (AWQ, GPTQ) are a storage format: kernels expand them to 16 bits before they multiply.
  const wanted = format === "int4" ? "bf16" : matrixClassOf(format);
  const fallbacks: readonly MatrixClass[] = wanted === "fp4" ? ["fp4", "bf16"] : [wanted, "bf16"];
  return fallbacks.find((candidate) => accelerator.denseTflops[candidate] !== undefined) ?? "bf16";
}
