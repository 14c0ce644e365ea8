import type { Accelerator } from "../catalogue/accelerator.ts";
import { matrixClassOf } from "../catalogue/number-format.ts";
import type { Replica } from "./replica.ts";

/** Reason why the model says nothing: it has no measurements of such things, and the physics that it has does not carry over. */
export interface Ignorance {
  readonly kind: "accelerator" | "format";
  readonly message: string;
}

/** Fabrics of accelerators whose programs are compiled as a whole: its floors per layer and per step mean nothing there. */
function isWholeProgramAccelerator(accelerator: Accelerator): boolean {
  return accelerator.scaleUp.kind === "torus";
}

/** What the model does not know enough about to answer; empty where it answers. */
export function ignorance(replica: Replica): readonly Ignorance[] {
  const { accelerator, formats } = replica;
  const unknown: Ignorance[] = [];
  if (isWholeProgramAccelerator(accelerator)) {
    const message = `no serving measurement of ${accelerator.name} or its like has been seen, and its compiler works otherwise`;
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
