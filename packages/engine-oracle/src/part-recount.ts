/**
 * Recounts MIG slices and fractions from the state alone: slices of two workers do not overlap, and no accelerator
 * holds both slices and fractions.
 */
import { migTable, profileMilli } from "@headroom/model";
import type { Node, WorkerAllocation, WorkerShape } from "@headroom/model";
import { slicesOf } from "@headroom/engine/internals";
import type { Findings } from "@headroom/engine/internals";

/** Thousandths of each of a worker's accelerators that count as held by the worker. */
export const countedMilli = ({ shareMilli, profile }: WorkerShape): number =>
  profile === undefined ? (shareMilli ?? 1000) : profileMilli(profile);

/**
 * Thousandths of one accelerator of the node that a worker's fraction takes, or `undefined` if the worker has no
 * fraction.
 */
export function countedFraction({ shareMilli, acceleratorMemoryMib }: WorkerShape, node: Node): number | undefined {
  if (acceleratorMemoryMib === undefined) return shareMilli;
  const { acceleratorMemoryMib: memory = 0 } = node;
  return memory === 0 ? Number.MAX_SAFE_INTEGER : Math.ceil((1000 * acceleratorMemoryMib) / memory);
}

/** Thousandths of an accelerator that are booked for a worker. */
export const bookedMilli = (node: Node | undefined, shape: WorkerShape, worker: WorkerAllocation): number =>
  shape.profile === undefined ? countedMilli(shape) : 125 * slicesOf(node, shape, worker).length;

/** Number of instances of this profile that fit on an accelerator beside its taken slices. */
export function partsBeside(node: Node, profile: string, taken: readonly number[]): number {
  const part = migTable(node.mig)?.get(profile);
  if (part === undefined) return 0;
  return part.places.filter(({ start }) =>
    Array.from({ length: part.size }, (_, index) => start + index).every((slice) => !taken.includes(slice)),
  ).length;
}

/**
 * Checks that no slice is used twice, and that an accelerator with slices holds no other work. `milli`: the booked
 * thousandths of the accelerator.
 */
export function checkSlices(
  findings: Findings,
  what: string,
  { slices, milli }: { readonly slices: readonly number[]; readonly milli: number },
): void {
  if (slices.length === 0) return;
  findings.expect(new Set(slices).size === slices.length, () => `a slice of ${what} is given out twice`);
  findings.expect(milli === 125 * slices.length, () => `${what} is divided, and shared or held whole`);
}
