/** Answers a serving question that names no accelerator, for every accelerator of the catalogue. */
import { isImpossible, knownAccelerators, type Impossible } from "./resolve.ts";
import { sizeServing, type ServingReport, type ServingSizing, type Unknown } from "./serving.ts";

export interface ServingOnAccelerator {
  readonly accelerator: string;
  readonly answer: ServingReport | Impossible | Unknown;
}

/**
 * Answers sorted by the number of accelerators, the smallest first; among equals, by the time per token. Accelerators
 * that cannot serve the endpoint come last.
 */
export function compareServing(open: Omit<ServingSizing, "accelerator">): readonly ServingOnAccelerator[] | Impossible {
  const known = knownAccelerators(open.catalogue);
  if (isImpossible(known)) return known;
  const all: ServingOnAccelerator[] = [];
  for (const { name: accelerator } of known) all.push({ accelerator, answer: sizeServing({ ...open, accelerator }) });
  return all.toSorted((a, b) => {
    const [left, right] = [bestOf(a), bestOf(b)];
    return left.acceleratorCount - right.acceleratorCount || left.tpotMs - right.tpotMs;
  });
}

const cannot = { acceleratorCount: Number.MAX_VALUE, tpotMs: 0 };

const bestOf = ({ answer }: ServingOnAccelerator): { readonly acceleratorCount: number; readonly tpotMs: number } =>
  (answer.kind === "serving" ? answer.plans[0] : undefined) ?? cannot;
