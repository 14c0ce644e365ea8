/**
 * Value of a node's free capacity: how much of a sample of recent requests fits on the node. The sample is divided into
 * queues. Each queue is filled into a copy of the node, over and over, until nothing more fits. All queues count the
 * same, so that the value does not depend on one order of requests. Integers only.
 */
import { WHOLE_MILLI } from "@headroom/model";
import { askedMilli, SAMPLE_LENGTH, SAMPLE_QUEUES } from "../../state/demand-mix.ts";
import type { DemandKind } from "../../state/demand-mix.ts";
import type { FreeProfile } from "./free-profile.ts";

/** Value of one thousandth of an accelerator. */
export const VALUE_PER_MILLI: number = SAMPLE_QUEUES;

/**
 * Maximum number of passes through a queue: without it, very small fractions would fill a node in thousands of steps.
 */
const PASSES_MAX = 16;

export class RebalanceValue {
  readonly #cores: Float64Array;
  readonly #memory: Float64Array;
  readonly #accelerators: Int32Array;
  readonly #milli: Int32Array;
  /** The queues, concatenated; each entry is the position of a kind of request. */
  readonly #order: Uint16Array;
  readonly #fits: Uint8Array;
  #parts = new Int32Array(64);
  /**
   * The largest ratio of cores to thousandths of an accelerator in the sample. Cores beyond this ratio add no value to
   * a node.
   */
  readonly #coresPerMilli: number;
  readonly #memoryPerMilli: number;

  /** Values for nodes of one type; requests that cannot use the type are skipped. */
  constructor(sample: readonly DemandKind[], type: string) {
    const kinds = [...new Set(sample)];
    const positions = new Map(kinds.map((kind, position) => [kind, position]));
    const queues = queuesOf(sample);
    this.#cores = Float64Array.from(kinds, ({ coresMilli }) => coresMilli);
    this.#memory = Float64Array.from(kinds, ({ memoryMib }) => memoryMib);
    const goesThere = ({ types }: DemandKind): boolean => types.length === 0 || types.includes(type);
    // A request that cannot use the type counts as larger than any node.
    this.#accelerators = Int32Array.from(kinds, (kind) => (goesThere(kind) ? kind.accelerators : 1 << 30));
    this.#milli = Int32Array.from(kinds, (kind) => (goesThere(kind) ? kind.milli : WHOLE_MILLI));
    this.#order = Uint16Array.from(queues.flat(), (kind) => positions.get(kind) as number);
    this.#fits = new Uint8Array(kinds.length);
    const going = kinds.filter(goesThere);
    this.#coresPerMilli = Math.max(0, ...going.map((kind) => Math.ceil(kind.coresMilli / askedMilli(kind))));
    this.#memoryPerMilli = Math.max(0, ...going.map((kind) => Math.ceil(kind.memoryMib / askedMilli(kind))));
  }

  value(profile: FreeProfile, coresMilli: number, memoryMib: number): number {
    const cores = Math.min(coresMilli, this.#coresPerMilli * profile.freeMilli);
    const memory = Math.min(memoryMib, this.#memoryPerMilli * profile.freeMilli);
    let byMemory = profile.values.get(cores);
    if (byMemory === undefined) profile.values.set(cores, (byMemory = new Map()));
    let value = byMemory.get(memory);
    if (value === undefined) byMemory.set(memory, (value = this.#fill(profile, cores, memory)));
    return value;
  }

  #fill(profile: FreeProfile, cores: number, memory: number): number {
    if (!this.#markWhatFits(profile, cores, memory)) return 0;
    let used = 0;
    for (let start = 0; start < this.#order.length; start += SAMPLE_LENGTH)
      used += this.#fillQueue(start, profile, cores, memory);
    return used;
  }

  /**
   * Marks the kinds of request that fit on the node now, because only these need to be tried. Returns whether any kind
   * fits.
   */
  #markWhatFits({ whole, parts }: FreeProfile, cores: number, memory: number): boolean {
    const roomMost = whole > 0 ? WHOLE_MILLI : (parts.at(-1) ?? 0);
    let any = false;
    for (let kind = 0; kind < this.#fits.length; kind++) {
      const milli = this.#milli[kind] as number;
      const hasAccelerators = milli === WHOLE_MILLI ? (this.#accelerators[kind] as number) <= whole : milli <= roomMost;
      const fits =
        hasAccelerators && (this.#cores[kind] as number) <= cores && (this.#memory[kind] as number) <= memory;
      this.#fits[kind] = fits ? 1 : 0;
      any ||= fits;
    }
    return any;
  }

  #fillQueue(start: number, profile: FreeProfile, coresFree: number, memoryFree: number): number {
    let cores = coresFree;
    let memory = memoryFree;
    let { whole } = profile;
    let partCount = profile.parts.length;
    if (this.#parts.length < partCount + whole) this.#parts = new Int32Array(2 * (partCount + whole));
    this.#parts.set(profile.parts);
    let used = 0;
    // Ends after one whole pass in which nothing fitted.
    for (let index = 0, last = -1; index - last <= SAMPLE_LENGTH && index < PASSES_MAX * SAMPLE_LENGTH; index++) {
      const kind = this.#order[start + (index % SAMPLE_LENGTH)] as number;
      if (this.#fits[kind] === 0) continue;
      if ((this.#cores[kind] as number) > cores || (this.#memory[kind] as number) > memory) continue;
      const milli = this.#milli[kind] as number;
      const count = this.#accelerators[kind] as number;
      if (milli === WHOLE_MILLI) {
        if (count > whole) continue;
        whole -= count;
        used += count * WHOLE_MILLI;
      } else {
        const left = this.#takeShare(milli, partCount, whole > 0);
        if (left < 0) continue;
        if (left > partCount) whole--;
        partCount = left;
        used += milli;
      }
      last = index;
      cores -= this.#cores[kind] as number;
      memory -= this.#memory[kind] as number;
      if (whole === 0 && partCount === 0) break;
    }
    return used;
  }

  /**
   * Takes a fraction from the accelerator with the smallest free amount that suffices, or else from a completely free
   * one. Returns the new number of partly used accelerators, or -1 if the fraction does not fit.
   */
  #takeShare(milli: number, partCount: number, hasWhole: boolean): number {
    const parts = this.#parts;
    let at = 0;
    while (at < partCount && (parts[at] as number) < milli) at++;
    const opens = at === partCount;
    if (opens && !hasWhole) return -1;
    const left = (opens ? WHOLE_MILLI : (parts[at] as number)) - milli;
    for (; at > 0 && (parts[at - 1] as number) > left; at--) parts[at] = parts[at - 1] as number;
    parts[at] = left;
    return opens ? partCount + 1 : partCount;
  }
}

/**
 * Distributes the sorted sample over the queues, so that every queue has large and small requests, large ones first.
 */
function queuesOf(sample: readonly DemandKind[]): readonly (readonly DemandKind[])[] {
  return Array.from({ length: SAMPLE_QUEUES }, (_, queue) =>
    Array.from(
      { length: SAMPLE_LENGTH },
      (__, place) => sample[((7 * place + 5 * queue) % SAMPLE_LENGTH) * SAMPLE_QUEUES + queue] as DemandKind,
    ).toSorted((left, right) => right.accelerators - left.accelerators),
  );
}
