/**
 * Which memory slices of a node's divided accelerators are held, are about to be given back, and are promised: a hexadecimal digit
 * for each slice says how often. Amounts in thousandths stand beside them in `node-slot.ts`, by which a device is whole or not.
 */
import type { MigPart } from "../model/mig.ts";
import { migTable } from "../model/mig.ts";
import type { Node } from "../model/fleet.ts";
import type { WorkerShape } from "../model/workload.ts";
import { invariant } from "../base/invariant.ts";

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

  /** Held or promised, without what leaves where that is not counted. */
  taken(index: number, countsTerminating: boolean): number {
    const { held, terminating, nominated } = this.#layers;
    const stay = countsTerminating
      ? (held[index] as number)
      : (held[index] as number) & ~(terminating[index] as number);
    return (stay + (nominated[index] as number)) | 0;
  }
}

/** The part of this node's accelerators that a worker takes; `undefined`: they have none of that profile. */
export function partOn(node: Node, { profile }: WorkerShape): MigPart | undefined {
  return profile === undefined ? undefined : migTable(node.mig)?.get(profile);
}

/** The slices that a worker has which begins at this one. */
export function digitsAt(node: Node, shape: WorkerShape, slice: number | undefined): number {
  const place = partOn(node, shape)?.places.find(({ start }) => start === slice);
  invariant(place !== undefined, `node ${node.id} has no ${shape.profile} that begins at slice ${slice}`);
  return place.digits;
}
