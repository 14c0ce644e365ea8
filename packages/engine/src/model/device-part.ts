/**
 * How a worker takes its accelerators: whole, as a fraction of one, or as a MIG slice of one. Rooms ask here, so that a further way
 * to state a part is an entry in this file.
 */
import type { Node } from "./fleet.ts";
import { profileMilli } from "./mig.ts";
import type { WorkerAllocation, WorkerShape } from "./workload.ts";

type PartFields = Pick<WorkerShape, "shareMilli" | "profile">;

export const WHOLE_MILLI = 1000;

/** Whether a worker needs a part of an accelerator: a fraction or a MIG slice. */
export const needsPart = (shape: PartFields): boolean => needsFraction(shape) || shape.profile !== undefined;

/** Whether a worker needs a fraction of an accelerator. */
export const needsFraction = ({ shareMilli }: PartFields): boolean => shareMilli !== undefined;

/** Whether the fraction is the same on every node: scores compare nodes by it. */
export const hasFixedFraction = ({ shareMilli, profile }: PartFields): boolean =>
  shareMilli !== undefined && profile === undefined;

/** Thousandths of one accelerator of the node that hold the worker's fraction; more than `WHOLE_MILLI`: none of them does. */
export const fractionOn = ({ shareMilli = WHOLE_MILLI }: PartFields, _node: Node): number => shareMilli;

/** A worker that has its fraction of this accelerator. */
export const workerWithFraction = (_shape: PartFields, node: Node, index: number): WorkerAllocation => ({
  node: node.id,
  accelerators: `${index}`,
});

/** Thousandths of each of its accelerators that count as a worker's. */
export const milliOf = ({ shareMilli, profile }: PartFields): number =>
  profile === undefined ? (shareMilli ?? WHOLE_MILLI) : profileMilli(profile);

/** Equal for shapes that take their accelerators alike. */
export const partKey = ({ shareMilli, profile }: PartFields): readonly unknown[] => [shareMilli, profile];

/** The shape with whole accelerators. */
export const withoutPart = <Shape extends PartFields>({
  shareMilli: _share,
  profile: _profile,
  ...shape
}: Shape): Omit<Shape, keyof PartFields> => shape;
