/**
 * Memory slices of a node's divided accelerators that are held, releasing or nominated: the number of workers that have
 * a slice is one hexadecimal digit. Amounts in thousandths are in `node-slot.ts`, which decides whether a device is
 * whole.
 */
import { migTable, invariant } from "@headroom/model";
import type { MigPart, Node, WorkerShape } from "@headroom/model";

export type SliceLayer = "held" | "terminating" | "nominated";

export class DeviceSlices {
  readonly #layers: Readonly<Record<SliceLayer, Int32Array>>;

  constructor(deviceCount: number) {
    this.#layers = {
      held: new Int32Array(deviceCount),
      terminating: new Int32Array(deviceCount),
      nominated: new Int32Array(deviceCount),
    };
  }

  book(layer: SliceLayer, index: number, digits: number): void {
    const taken = this.#layers[layer];
    taken[index] = (taken[index] as number) + digits;
  }

  held(index: number): number {
    return this.#layers.held[index] as number;
  }

  /** Slices that are held or nominated; releasing slices count if `countsTerminating`. */
  taken(index: number, countsTerminating: boolean): number {
    const { held, terminating, nominated } = this.#layers;
    const stay = countsTerminating
      ? (held[index] as number)
      : (held[index] as number) & ~(terminating[index] as number);
    return (stay + (nominated[index] as number)) | 0;
  }
}

/**
 * The geometry of the worker's MIG profile on this node's accelerators, or `undefined` if the profile is not available
 * there.
 */
export function partOn(node: Node, { profile }: WorkerShape): MigPart | undefined {
  return profile === undefined ? undefined : migTable(node.mig)?.get(profile);
}

/** Slices of a worker whose first slice is `slice`, as one digit per slice. */
export function digitsAt(node: Node, shape: WorkerShape, slice: number | undefined): number {
  const place = partOn(node, shape)?.places.find(({ start }) => start === slice);
  invariant(place !== undefined, `node ${node.id} has no ${shape.profile} that begins at slice ${slice}`);
  return place.digits;
}
