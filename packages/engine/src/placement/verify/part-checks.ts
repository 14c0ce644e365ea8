/**
 * Verifies MIG slices and fractions from the state alone, without the counters of the indexes: each MIG worker begins
 * at a slice that its profile allows, slices of two workers do not overlap, and no accelerator holds both slices and
 * fractions.
 */
import { migTable, profileMilli } from "../../model/mig.ts";
import type { Node } from "../../model/fleet.ts";
import type { WorkerAllocation, WorkerShape } from "../../model/workload.ts";
import type { Findings } from "./findings.ts";

/** Thousandths of each of its accelerators that count as a worker's. */
export const countedMilli = ({ shareMilli, profile }: WorkerShape): number =>
  profile === undefined ? (shareMilli ?? 1000) : profileMilli(profile);

/** Thousandths that a worker's fraction takes of one accelerator of the node; `undefined`: it has no fraction. */
export function countedFraction({ shareMilli, acceleratorMemoryMib }: WorkerShape, node: Node): number | undefined {
  if (acceleratorMemoryMib === undefined) return shareMilli;
  const { acceleratorMemoryMib: memory = 0 } = node;
  return memory === 0 ? Number.MAX_SAFE_INTEGER : Math.ceil((1000 * acceleratorMemoryMib) / memory);
}

/** Slice numbers of a worker with a MIG profile; empty: it has no profile, or the node does not support it. */
export function slicesOf(node: Node | undefined, { profile }: WorkerShape, { slice }: WorkerAllocation): number[] {
  const part = profile === undefined ? undefined : migTable(node?.mig)?.get(profile);
  if (part === undefined || slice === undefined) return [];
  return Array.from({ length: part.size }, (_, index) => slice + index);
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
 * A worker has the requested MIG profile at a valid position, or the fraction that its memory needs; other workers have
 * neither.
 */
export function checkPart(
  findings: Findings,
  who: string,
  on: { readonly node: Node | undefined; readonly shape: WorkerShape; readonly worker: WorkerAllocation },
): void {
  const { node, shape, worker } = on;
  const starts =
    migTable(node?.mig)
      ?.get(shape.profile ?? "")
      ?.places.map(({ start }) => start) ?? [];
  const { slice } = worker;
  findings.expect(
    shape.profile === undefined ? slice === undefined : slice !== undefined && starts.includes(slice),
    () => `${who} has slice ${slice} on ${worker.node} for ${shape.profile ?? "no part"}`,
  );
  const { shareMilli = 0 } = worker;
  findings.expect(
    shape.acceleratorMemoryMib === undefined ? shareMilli === 0 : shareMilli > 0 && shareMilli <= 1000,
    () => `${who} has ${shareMilli} thousandths on ${worker.node} for ${shape.acceleratorMemoryMib ?? "no"} MiB`,
  );
}

/** No slice is used twice, and an accelerator with slices holds no other work. `milli`: thousandths that are booked. */
export function checkSlices(
  findings: Findings,
  what: string,
  { slices, milli }: { readonly slices: readonly number[]; readonly milli: number },
): void {
  if (slices.length === 0) return;
  findings.expect(new Set(slices).size === slices.length, () => `a slice of ${what} is given out twice`);
  findings.expect(milli === 125 * slices.length, () => `${what} is divided, and shared or held whole`);
}
