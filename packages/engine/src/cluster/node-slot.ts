/**
 * The capacity of one node, as the phases of a round read and change it. Every accelerator has three layers, in
 * thousandths: held, releasing (held by terminating work), and nominated. Cores, memory and workers are sums. Every
 * change is a signed amount with an exact inverse, which makes tentative plans on the live indexes possible
 * (`ledger.ts`).
 */
import {
  forEachRange,
  takesWork,
  WHOLE_MILLI,
  fractionOn,
  milliOf,
  needsFraction,
  withoutPart,
  ALL_SLICES,
  isOpen,
  isTakenTwice,
  openCount,
  SLICE_MILLI,
  slicesIn,
  InvariantError,
  IdMap,
  lowestBit,
} from "@headroom/model";
import type { AcceleratorSet, Node, AttemptId, WorkerAllocation, WorkerShape } from "@headroom/model";
import { DeviceSlices, digitsAt, partOn } from "./device-slices.ts";
import type { SliceLayer } from "./device-slices.ts";

/**
 * Capacity view. `idle`: can be bound now. `releasing`: idle capacity first, then capacity of terminating work.
 * `eventual`: the same capacity with idle capacity last, for plans that leave idle capacity to other requests.
 */
export type Layer = "idle" | "releasing" | "eventual";

const NO_WORKERS_MAX = 1_000_000;

export class NodeSlot {
  readonly node: Node;
  /** Position of the node among the nodes of its type, in the order of joining. */
  position: number;
  readonly totalCount: number;
  /** One bit for each accelerator, which is set if nothing on the accelerator is held or nominated. */
  readonly free: Int32Array;
  /**
   * One bit for each accelerator, which is set if the accelerator is not free now, but will be entirely free when
   * terminating work has ended.
   */
  readonly releasing: Int32Array;
  /** Thousandths held, by accelerator. */
  readonly held: Int32Array;
  readonly #terminating: Int32Array;
  readonly #nominated: Int32Array;
  /** One bit for each accelerator that work uses which Headroom does not run; `null`: none is used so. */
  #foreign: Int32Array | null = null;
  #foreignCoresMilli = 0;
  #foreignMemoryMib = 0;
  /** Slices of divided accelerators, or `null` if no accelerator was ever divided. */
  #slices: DeviceSlices | null = null;
  #coresNominatedMilli = 0;
  #memoryNominatedMib = 0;
  #workersNominated = 0;
  freeCount: number;
  releasingCount = 0;
  /** Free cores. Negative while a nomination waits for terminating work. */
  coresFreeMilli: number;
  coresReleasingMilli = 0;
  memoryFreeMib: number;
  memoryReleasingMib = 0;
  workersFree: number;
  workersReleasing = 0;
  /**
   * Held and nominated network bandwidth. It can exceed the pool's bandwidth if the pool's definition was lowered
   * later.
   */
  #networkTaken = 0;
  #networkReleasing = 0;
  #networkNominated = 0;
  /** Attempts with workers on the node, and the number of these workers. */
  readonly attempts: IdMap<AttemptId, number> = new IdMap();
  /**
   * Number of accelerators in the last booking. `bookedOver`: whether the last booking left an accelerator held twice,
   * or held and nominated beyond its releasing part.
   */
  bookedCount = 0;
  bookedOver = false;
  /** Whether this hot spare counts as an ordinary node, while a plan is tried. */
  isOpened = false;

  constructor(node: Node, position: number) {
    this.node = node;
    this.position = position;
    const count = node.acceleratorCount;
    this.free = new Int32Array((count + 31) >>> 5);
    this.releasing = new Int32Array((count + 31) >>> 5);
    for (let index = 0; index < count; index++) setBit(this.free, index);
    this.held = new Int32Array(count);
    this.#terminating = new Int32Array(count);
    this.#nominated = new Int32Array(count);
    this.totalCount = count;
    this.freeCount = count;
    this.coresFreeMilli = node.coresMilli;
    this.memoryFreeMib = node.memoryMib;
    this.workersFree = node.workersMax ?? NO_WORKERS_MAX;
    this.takeForeignUse();
  }

  /**
   * Takes over the node's foreign use: what it covers is not free. It is no booking: nothing is held twice where an
   * executor reports foreign use of amounts that an attempt holds.
   */
  takeForeignUse(): void {
    const use = this.node.foreignUse;
    this.coresFreeMilli += this.#foreignCoresMilli - (use?.coresMilli ?? 0);
    this.memoryFreeMib += this.#foreignMemoryMib - (use?.memoryMib ?? 0);
    this.#foreignCoresMilli = use?.coresMilli ?? 0;
    this.#foreignMemoryMib = use?.memoryMib ?? 0;
    if (this.#foreign === null && (use?.accelerators ?? "") === "") return;
    const foreign = new Int32Array(this.free.length);
    forEachRange(use?.accelerators ?? "", (first, last) => {
      for (let index = first; index <= last; index++) setBit(foreign, index);
    });
    this.#foreign = foreign;
    for (let index = 0; index < this.totalCount; index++) this.#refresh(index);
  }

  /** Whether work that Headroom does not run uses the accelerator. */
  isForeign(index: number): boolean {
    return this.#foreign !== null && hasBit(this.#foreign, index);
  }

  get usable(): boolean {
    return takesWork(this.node) && (this.node.hotSpare !== true || this.isOpened);
  }

  /** Whether the node is empty and without nominations. */
  get isEmpty(): boolean {
    return this.attempts.size === 0 && this.workersBooked("idle") === 0;
  }

  /** Number of workers that are held or nominated, in the capacity view. */
  workersBooked(layer: Layer): number {
    const booked = (this.node.workersMax ?? NO_WORKERS_MAX) - this.workersFree;
    return booked - (layer === "idle" ? 0 : this.workersReleasing);
  }

  /** Network bandwidth that is neither held nor nominated. Negative if the pool now states less than is booked. */
  networkLeft(layer: Layer): number {
    return (this.node.networkGbps ?? 0) - this.#networkTaken + (layer === "idle" ? 0 : this.#networkReleasing);
  }

  get hasReleasing(): boolean {
    return this.workersReleasing > 0;
  }

  /**
   * Whether more cores, memory or workers are held than exist. Nominations do not count here: a nomination may wait for
   * held amounts.
   */
  get isOverHeld(): boolean {
    return (
      this.coresFreeMilli + this.#coresNominatedMilli + this.#foreignCoresMilli < 0 ||
      this.memoryFreeMib + this.#memoryNominatedMib + this.#foreignMemoryMib < 0 ||
      this.workersFree + this.#workersNominated < 0
    );
  }

  /**
   * Thousandths of an accelerator that are available to a fraction; none if the accelerator is divided. Negative if
   * more is nominated than releasing.
   */
  room(index: number, layer: Layer): number {
    const left = this.left(index, layer);
    const isOpenToFractions = this.#slices === null || this.#slices.taken(index, layer === "idle") === 0;
    return isOpenToFractions && !this.isForeign(index) ? left : Math.min(0, left);
  }

  /** Thousandths of an accelerator that are neither held nor nominated. */
  left(index: number, layer: Layer): number {
    const taken = (this.held[index] as number) + (this.#nominated[index] as number);
    return WHOLE_MILLI - taken + (layer === "idle" ? 0 : (this.#terminating[index] as number));
  }

  /**
   * Slices of an accelerator that are not available, as one hexadecimal digit for each slice. All slices, if the
   * accelerator cannot be divided or has fractions.
   */
  slicesTaken(index: number, layer: Layer): number {
    if (this.node.mig === undefined || this.isForeign(index)) return ALL_SLICES;
    const taken = this.#slices?.taken(index, layer === "idle") ?? 0;
    return WHOLE_MILLI - this.left(index, layer) === SLICE_MILLI * slicesIn(taken) ? taken : ALL_SLICES;
  }

  /**
   * Whether the accelerator's held and nominated amounts are consistent: nothing is booked twice, and fractions and
   * slices are not mixed.
   */
  #isSound(index: number, layer: Layer): boolean {
    const left = this.left(index, layer);
    if (left < 0 || this.#slices === null) return left >= 0;
    const taken = this.#slices.taken(index, layer === "idle");
    return taken === 0 || (!isTakenTwice(taken) && WHOLE_MILLI - left === SLICE_MILLI * slicesIn(taken));
  }

  /**
   * Whether a slice is nominated and also held by work that is not terminating. This is no fault if the termination was
   * reported but is not booked yet.
   */
  #isNominatedTwice(index: number): boolean {
    return this.#slices !== null && isTakenTwice(this.#slices.taken(index, false));
  }

  /** Whether the held amounts of the accelerator are consistent, without nominations. */
  #isHeldSoundly(index: number): boolean {
    const held = this.held[index] as number;
    const slices = this.#slices?.held(index) ?? 0;
    if (slices === 0) return held <= WHOLE_MILLI;
    return !isTakenTwice(slices) && held === SLICE_MILLI * slicesIn(slices);
  }

  /**
   * Whether the whole accelerator is available in the capacity view: nothing on it is held or nominated, except for its
   * releasing part.
   */
  isWhole(index: number, layer: Layer): boolean {
    return hasBit(this.free, index) || (layer !== "idle" && hasBit(this.releasing, index));
  }

  /** Whether a worker of the gang could be placed exactly here. */
  couldHold({ accelerators, slice }: WorkerAllocation, gang: WorkerShape, layer: Layer): boolean {
    if (this.workersThatFit({ ...withoutPart(gang), accelerators: 0 }, 1, layer) === 0) return false;
    let open = true;
    forEachRange(accelerators, (first, last) => {
      for (let index = first; index <= last; index++) if (!this.#couldTake(index, gang, { layer, slice })) open = false;
    });
    return open;
  }

  #couldTake(
    index: number,
    gang: WorkerShape,
    { layer, slice }: { readonly layer: Layer; readonly slice: number | undefined },
  ): boolean {
    if (gang.profile !== undefined) {
      const place = partOn(this.node, gang)?.places.find(({ start }) => start === slice);
      return place !== undefined && isOpen(place, this.slicesTaken(index, layer));
    }
    return needsFraction(gang) ? this.room(index, layer) >= fractionOn(gang, this.node) : this.isWhole(index, layer);
  }

  /**
   * Whether an already booked nomination has its amounts now (`idle`), or will have them when terminating work has
   * ended (`releasing`).
   */
  canKeep(set: AcceleratorSet, layer: Layer = "idle"): boolean {
    const terminating = layer === "releasing" ? 1 : 0;
    if (this.coresFreeMilli + terminating * this.coresReleasingMilli < 0) return false;
    if (this.memoryFreeMib + terminating * this.memoryReleasingMib < 0) return false;
    if (this.workersFree + terminating * this.workersReleasing < 0) return false;
    if (this.#networkNominated > 0 && this.networkLeft(layer) < 0) return false;
    let ready = true;
    forEachRange(set, (first, last) => {
      for (let index = first; index <= last; index++)
        if (this.isForeign(index) || !this.#isSound(index, layer)) ready = false;
    });
    return ready;
  }

  /** Books a worker's amounts (`sign` 1) or releases them (-1). */
  hold(place: SliceSpot, gang: WorkerShape, sign: 1 | -1): void {
    this.#amounts(gang, -sign);
    this.#bookPlace("held", place, gang, sign);
  }

  /**
   * Marks a worker as terminating (1). Removes the mark (-1) when the worker has ended, or when it is not stopped after
   * all.
   */
  leave(place: SliceSpot, gang: WorkerShape, sign: 1 | -1): void {
    this.coresReleasingMilli += sign * gang.coresMilli;
    this.memoryReleasingMib += sign * gang.memoryMib;
    this.workersReleasing += sign;
    this.#networkReleasing += sign * (gang.networkGbps ?? 0);
    this.#bookPlace("terminating", place, gang, sign);
  }

  /** Books a nomination (1), or removes it (-1). */
  nomination(place: SliceSpot, gang: WorkerShape, sign: 1 | -1): void {
    this.#amounts(gang, -sign);
    this.#coresNominatedMilli += sign * gang.coresMilli;
    this.#memoryNominatedMib += sign * gang.memoryMib;
    this.#workersNominated += sign;
    this.#networkNominated += sign * (gang.networkGbps ?? 0);
    this.#bookPlace("nominated", place, gang, sign);
  }

  /**
   * Counts amounts of a reservation as free (1), because running work releases them before the reservation starts.
   * Undoes that (-1).
   */
  lend(coresMilli: number, memoryMib: number, workers: number, sign: 1 | -1): void {
    this.coresFreeMilli += sign * coresMilli;
    this.memoryFreeMib += sign * memoryMib;
    this.workersFree += sign * workers;
  }

  #bookPlace(layer: SliceLayer, { accelerators, slice }: SliceSpot, gang: WorkerShape, sign: 1 | -1): void {
    const amounts = layer === "held" ? this.held : layer === "terminating" ? this.#terminating : this.#nominated;
    if (gang.profile === undefined) return this.#book(amounts, accelerators, sign * milliOf(gang));
    const digits = digitsAt(this.node, gang, slice);
    const slices = (this.#slices ??= new DeviceSlices(this.totalCount));
    forEachRange(accelerators, (index) => slices.book(layer, index, sign * digits));
    this.#book(amounts, accelerators, sign * SLICE_MILLI * slicesIn(digits));
  }

  #amounts(gang: WorkerShape, sign: number): void {
    this.coresFreeMilli += sign * gang.coresMilli;
    this.memoryFreeMib += sign * gang.memoryMib;
    this.workersFree += sign;
    this.#networkTaken -= sign * (gang.networkGbps ?? 0);
  }

  /** Adds thousandths to each accelerator of the set. Sets `bookedCount` and `bookedOver` for a later check. */
  #book(layer: Int32Array, set: AcceleratorSet, milli: number): void {
    this.bookedCount = 0;
    this.bookedOver = false;
    // The set is parsed here, in the same way as in `forEachRange`, because this code runs four times for every worker.
    let value = 0;
    let first = -1;
    for (let position = 0; position <= set.length; position++) {
      const code = position < set.length ? set.charCodeAt(position) : 44;
      if (code >= 48 && code <= 57) value = value * 10 + (code - 48);
      else if (code === 45) {
        first = value;
        value = 0;
      } else if (position > 0) {
        for (let index = first < 0 ? value : first; index <= value; index++) this.#bookOne(layer, index, milli);
        first = -1;
        value = 0;
      }
    }
  }

  #bookOne(layer: Int32Array, index: number, milli: number): void {
    layer[index] = (layer[index] as number) + milli;
    this.bookedCount++;
    if (!this.#isHeldSoundly(index) || this.left(index, "releasing") < 0 || this.#isNominatedTwice(index))
      this.bookedOver = true;
    this.#refresh(index);
  }

  #refresh(index: number): void {
    const taken = (this.held[index] as number) + (this.#nominated[index] as number);
    const isForeign = this.isForeign(index);
    const isFree = taken === 0 && !isForeign;
    const isReleasing = taken > 0 && taken === this.#terminating[index] && !isForeign;
    if (isFree !== hasBit(this.free, index)) {
      flipBit(this.free, index);
      this.freeCount += isFree ? 1 : -1;
    }
    if (isReleasing !== hasBit(this.releasing, index)) {
      flipBit(this.releasing, index);
      this.releasingCount += isReleasing ? 1 : -1;
    }
  }

  /** The `count` lowest whole accelerators after the first `skip` of them, in the order of the capacity view. */
  pick(skip: number, count: number, layer: Layer = "idle"): AcceleratorSet {
    if (layer === "idle") return this.#pickIdle(skip, count);
    const [first, second] = layer === "eventual" ? [this.releasing, this.free] : [this.free, this.releasing];
    const firstCount = layer === "eventual" ? this.releasingCount : this.freeCount;
    const indices = lowestOf(first, skip, count);
    if (indices.length < count) {
      indices.push(...lowestOf(second, Math.max(0, skip - firstCount), count - indices.length));
      indices.sort((left, right) => left - right);
    }
    if (indices.length !== count) throw this.#tooFew(Math.min(this.freeCount, skip) + indices.length, skip + count);
    return acceleratorSetOf(indices);
  }

  /** Ranges are built during the scan, because this code runs for every worker that starts. */
  #pickIdle(skip: number, count: number): AcceleratorSet {
    let ranges: string[] | null = null;
    let first = -1;
    let last = -1;
    let passed = 0;
    for (let wordIndex = 0; wordIndex < this.free.length && passed < skip + count; wordIndex++) {
      for (let word = this.free[wordIndex] as number; word !== 0 && passed < skip + count; word &= word - 1) {
        if (passed++ < skip) continue;
        const index = (wordIndex << 5) + lowestBit(word);
        if (first < 0) first = index;
        else if (index !== last + 1) {
          (ranges ??= []).push(rangeText(first, last));
          first = index;
        }
        last = index;
      }
    }
    if (passed < skip + count) throw this.#tooFew(passed, skip + count);
    if (first < 0) return "";
    if (ranges === null) return rangeText(first, last);
    ranges.push(rangeText(first, last));
    return joinedRanges(ranges);
  }

  #tooFew(freeCount: number, nominatedCount: number): InvariantError {
    return new InvariantError(
      `node ${this.node.id} has ${freeCount} free accelerators, ${nominatedCount} were promised`,
    );
  }

  /** Number of workers of the gang that fit on free capacity, at most `max`. */
  workersThatFit(gang: WorkerShape, max: number, layer: Layer = "idle"): number {
    const isReleasing = layer !== "idle";
    let count = Math.min(max, this.workersFree + (isReleasing ? this.workersReleasing : 0));
    if (needsFraction(gang)) count = Math.min(count, this.#fractionsThatFit(fractionOn(gang, this.node), layer));
    else if (gang.profile !== undefined) count = Math.min(count, this.#partsThatFit(gang, layer));
    else if (gang.accelerators > 0) {
      const whole = this.freeCount + (isReleasing ? this.releasingCount : 0);
      count = Math.min(count, Math.floor(whole / gang.accelerators));
    }
    if (gang.coresMilli > 0) {
      const cores = this.coresFreeMilli + (isReleasing ? this.coresReleasingMilli : 0);
      count = Math.min(count, Math.floor(cores / gang.coresMilli));
    }
    if (gang.memoryMib > 0) {
      const memory = this.memoryFreeMib + (isReleasing ? this.memoryReleasingMib : 0);
      count = Math.min(count, Math.floor(memory / gang.memoryMib));
    }
    if ((gang.networkGbps ?? 0) > 0)
      count = Math.min(count, Math.floor(this.networkLeft(layer) / (gang.networkGbps as number)));
    return Math.max(0, count);
  }

  #fractionsThatFit(milli: number, layer: Layer): number {
    let count = 0;
    for (let index = 0; index < this.totalCount; index++)
      count += Math.floor(Math.max(0, this.room(index, layer)) / milli);
    return count;
  }

  /** The positions of one profile do not overlap, so the number of open positions is the number of workers that fit. */
  #partsThatFit(gang: WorkerShape, layer: Layer): number {
    const part = partOn(this.node, gang);
    let count = 0;
    if (part !== undefined)
      for (let index = 0; index < this.totalCount; index++) count += openCount(part, this.slicesTaken(index, layer));
    return count;
  }
}

/** A worker's accelerators, and the first slice of its MIG instance. */
type SliceSpot = Pick<WorkerAllocation, "accelerators" | "slice">;

const hasBit = (mask: Int32Array, index: number): boolean =>
  ((mask[index >>> 5] as number) & (1 << (index & 31))) !== 0;

function setBit(mask: Int32Array, index: number): void {
  mask[index >>> 5] = (mask[index >>> 5] as number) | (1 << (index & 31));
}

function flipBit(mask: Int32Array, index: number): void {
  mask[index >>> 5] = (mask[index >>> 5] as number) ^ (1 << (index & 31));
}

/** The `count` lowest bits of a mask after the first `skip`. If there are fewer, all of these. */
function lowestOf(mask: Int32Array, skip: number, count: number): number[] {
  const found: number[] = [];
  let passed = 0;
  for (let wordIndex = 0; wordIndex < mask.length && found.length < count; wordIndex++) {
    let word = mask[wordIndex] as number;
    while (word !== 0 && found.length < count) {
      if (passed++ >= skip) found.push((wordIndex << 5) + lowestBit(word));
      word &= word - 1;
    }
  }
  return found;
}

const rangeText = (first: number, last: number): AcceleratorSet => (first === last ? `${first}` : `${first}-${last}`);

/**
 * `join` writes one flat string. A string made by `+` stays a tree, which is traversed for each of its characters (once
 * for every booking), and which makes `JSON.stringify` leave its fast path for the whole group of events.
 */
const joinedRanges = (ranges: readonly AcceleratorSet[]): AcceleratorSet => ranges.join(",");

export function acceleratorSetOf(indices: readonly number[]): AcceleratorSet {
  const ranges: AcceleratorSet[] = [];
  for (let position = 0; position < indices.length;) {
    const first = indices[position] as number;
    let last = first;
    while (++position < indices.length && indices[position] === last + 1) last++;
    ranges.push(rangeText(first, last));
  }
  return joinedRanges(ranges);
}
