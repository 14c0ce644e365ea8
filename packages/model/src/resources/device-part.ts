/**
 * How a worker uses accelerators: whole, as a fraction of one, or as a MIG slice of one. Only this file distinguishes
 * these forms, so a further form is added here alone.
 */
import type { Node } from "./fleet.ts";
import { profileMilli } from "./mig.ts";
import type { WorkerAllocation } from "./attempt.ts";
import type { WorkerShape } from "./workload.ts";

type PartFields = Pick<WorkerShape, "shareMilli" | "acceleratorMemoryMib" | "profile">;

export const WHOLE_MILLI = 1000;

/** Whether a worker needs a part of an accelerator: a fraction or a MIG slice. */
export const needsPart = (shape: PartFields): boolean => needsFraction(shape) || shape.profile !== undefined;

export const needsFraction = ({ shareMilli, acceleratorMemoryMib }: PartFields): boolean =>
  shareMilli !== undefined || acceleratorMemoryMib !== undefined;

/** Whether the worker takes the same fraction on every node; node scores need that. */
export const hasFixedFraction = ({ shareMilli, acceleratorMemoryMib }: PartFields): boolean =>
  shareMilli !== undefined && acceleratorMemoryMib === undefined;

/**
 * Fraction, in thousandths, of an accelerator with `memoryMib` that has at least `askedMib`. It is rounded up, so that
 * fractions on one accelerator never exceed its memory. Infinite if its memory is unknown.
 */
export const shareOfMemory = (askedMib: number, memoryMib: number | undefined): number =>
  memoryMib === undefined ? Number.POSITIVE_INFINITY : Math.ceil((askedMib * WHOLE_MILLI) / memoryMib);

/**
 * Thousandths of one accelerator of the node that the worker's fraction takes. If the result exceeds `WHOLE_MILLI`, no
 * accelerator of the node can hold the fraction.
 */
export const fractionOn = (
  { shareMilli, acceleratorMemoryMib }: PartFields,
  node: Pick<Node, "acceleratorMemoryMib">,
): number =>
  shareMilli ??
  (acceleratorMemoryMib === undefined ? WHOLE_MILLI : shareOfMemory(acceleratorMemoryMib, node.acceleratorMemoryMib));

/** The worker with the fraction that its requested memory takes on this node. */
export const workerWithFraction = (shape: PartFields, node: Node, index: number): WorkerAllocation => ({
  node: node.id,
  accelerators: `${index}`,
  ...(shape.acceleratorMemoryMib === undefined ? {} : { shareMilli: fractionOn(shape, node) }),
});

/** Thousandths of each of the worker's accelerators that are charged to the worker. */
export const milliOf = ({ shareMilli, profile }: PartFields): number =>
  profile === undefined ? (shareMilli ?? WHOLE_MILLI) : profileMilli(profile);

/** Key of the form in which a worker uses accelerators. Workers with the same form have equal keys. */
export const partKey = ({ shareMilli, acceleratorMemoryMib, profile }: PartFields): readonly unknown[] => [
  shareMilli,
  acceleratorMemoryMib,
  profile,
];

export const withoutPart = <Shape extends PartFields>({
  shareMilli: _share,
  acceleratorMemoryMib: _memory,
  profile: _profile,
  ...shape
}: Shape): Omit<Shape, keyof PartFields> => shape;
