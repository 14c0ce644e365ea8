import { matrixClassOf } from "../catalogue/number-format.ts";
import type { Replica } from "./replica.ts";

/** Reason why the model says nothing: it has no measurements of such things, and the physics that it has does not carry over. */
export interface Ignorance {
  readonly kind: "accelerator" | "format";
  readonly message: string;
}

/**
 * Vendors whose accelerators run kernels one after the other, from a stream or a captured graph. The floors per layer and
 * per step describe that; accelerators whose compiler plans a whole program ahead (TPU, Trainium, Gaudi) have others.
 */
const kernelVendors = ["NVIDIA", "AMD"];

/** What the model does not know enough about to answer; empty where it answers. */
export function ignorance(replica: Replica): readonly Ignorance[] {
  const { accelerator, formats } = replica;
  const unknown: Ignorance[] = [];
  if (!kernelVendors.includes(accelerator.vendor)) {
    const known = kernelVendors.join(" and ");
    const message = `no serving measurement of ${accelerator.name} or its like has been seen: what is known of kernels is of ${known} alone`;
    unknown.push({ kind: "accelerator", message });
  }
  if (accelerator.denseTflops.bf16 === undefined) {
    unknown.push({ kind: "accelerator", message: `the 16-bit matrix rate of ${accelerator.name} is not known` });
  }
  const widest = [formats.linear, formats.experts].find((format) => matrixClassOf(format) === "fp32");
  if (widest !== undefined) {
    unknown.push({ kind: "format", message: `no measurement of ${widest} weights has been seen` });
  }
  return unknown;
}
