import { matrixClassOf } from "../catalogue/number-format.ts";
import type { Replica } from "./replica.ts";

/**
 * A reason why the model makes no prediction: it has no measurements of this kind of replica, and its formulas do not
 * apply.
 */
export interface Ignorance {
  readonly kind: "accelerator" | "format";
  readonly message: string;
}

/**
 * Vendors whose accelerators run kernels one after another, from a stream or a captured graph. The model's minimum
 * times for a layer and a step apply only to such accelerators. On an accelerator with a compiler that plans a whole
 * program in advance (TPU, Trainium, Gaudi), the minimum times are different.
 */
const kernelVendors = ["NVIDIA", "AMD"];

/** Reasons why the model cannot make a prediction for this replica. The list is empty if it can. */
export function ignorance(replica: Replica): readonly Ignorance[] {
  const { accelerator, formats } = replica;
  const unknown: Ignorance[] = [];
  if (!kernelVendors.includes(accelerator.vendor)) {
    const known = kernelVendors.join(" and ");
    const message = `no serving run of ${accelerator.name} or an accelerator like it was measured; times of kernels are known for ${known} only`;
    unknown.push({ kind: "accelerator", message });
  }
  if (accelerator.denseTflops.bf16 === undefined) {
    unknown.push({ kind: "accelerator", message: `the 16-bit matrix rate of ${accelerator.name} is not known` });
  }
  const widest = [formats.linear, formats.experts].find((format) => matrixClassOf(format) === "fp32");
  if (widest !== undefined) {
    unknown.push({ kind: "format", message: `no run with ${widest} weights was measured` });
  }
  return unknown;
}
