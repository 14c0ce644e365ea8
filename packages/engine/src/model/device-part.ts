/**
 * How a worker takes its accelerators: whole, as a fraction of one, or as a MIG slice of one. All other code asks here,
 * so that a further way to state a part is an entry in this file.
 */
import type { Node } from "./fleet.ts";
import { profileMilli } from "./mig.ts";
import type { WorkerAllocation, WorkerShape } from "./workload.ts";

type PartFields = Pick<WorkerShape, "shareMilli" | "acceleratorMemoryMib" | "profile">;

export const WHOLE_MILLI = 1000;

/** Whether a worker needs a part of an accelerator: a fraction or a MIG slice. */
export const needsPart = (shape: PartFields): boolean => needsFraction(shape) || shape.profile !== undefined;

/** Whether a worker needs a fraction of an accelerator. */
export const needsFraction = ({ shareMilli, acceleratorMemoryMib }: PartFields): boolean =>
  shareMilli !== undefined || acceleratorMemoryMib !== undefined;

/** Whether the fraction is the same on every node, as scores require. */
export const hasFixedFraction = ({ shareMilli, acceleratorMemoryMib }: PartFields): boolean =>
  shareMilli !== undefined && acceleratorMemoryMib === undefined;

/**
 * Thousandths of an accelerator with `memoryMib` that hold `askedMib`, rounded up, so that fractions that fit together
 * never request more memory than exists. Infinite if its memory is unknown.
 */
export const shareOfMemory = (askedMib: number, memoryMib: number | undefined): number =>
  memoryMib === undefined ? Number.POSITIVE_INFINITY : Math.ceil((askedMib * WHOLE_MILLI) / memoryMib);

/**
 * Thousandths of one accelerator of the node that the worker's fraction takes; more than `WHOLE_MILLI`: no accelerator
 * holds it.
 */
export const fractionOn = (
  { shareMilli, acceleratorMemoryMib }: PartFields,
  node: Pick<Node, "acceleratorMemoryMib">,
): number =>
  shareMilli ??
  (acceleratorMemoryMib === undefined ? WHOLE_MILLI : shareOfMemory(acceleratorMemoryMib, node.acceleratorMemoryMib));

/** The worker with its fraction of this node's accelerators filled in. */
export const workerWithFraction = (shape: PartFields, node: Node, index: number): WorkerAllocation => ({
  node: node.id,
  accelerators: `${index}`,
  ...(shape.acceleratorMemoryMib === undefined ? {} : { shareMilli: fractionOn(shape, node) }),
});

/** Thousandths of each accelerator that count for the worker. */
export const milliOf = ({ shareMilli, profile }: PartFields): number =>
  profile === undefined ? (shareMilli ?? WHOLE_MILLI) : profileMilli(profile);

/** Equal for shapes that take their accelerators in the same way. */
export const partKey = ({ shareMilli, acceleratorMemoryMib, profile }: PartFields): readonly unknown[] => [
  shareMilli,
  acceleratorMemoryMib,
  profile,
];

/** The shape with whole accelerators. */
export const withoutPart = <Shape extends PartFields>({
  shareMilli: _share,
  acceleratorMemoryMib: _memory,
  profile: _profile,
  ...shape
}: Shape): Omit<Shape, keyof PartFields> => shape;
