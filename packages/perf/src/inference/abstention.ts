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
 * Vendors whose accelerators have a compiler that plans a whole program in advance (TPU, Trainium, Gaudi). The model's
 * minimum times for a layer and a step apply only to accelerators that run kernels one after another, from a stream or
 * a captured graph. An accelerator of any other vendor counts as one of these, with a wider interval.
 */
const programVendors = ["Google", "AWS", "Intel"];

/** Reasons why the model cannot make a prediction for this replica. The list is empty if it can. */
export function ignorance(replica: Replica): readonly Ignorance[] {
  const { accelerator, formats } = replica;
  const unknown: Ignorance[] = [];
  if (programVendors.includes(accelerator.vendor)) {
    const message = `no serving run of ${accelerator.name} or an accelerator like it was measured; its compiler plans whole programs, and the known times are those of single kernels`;
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
