/**
 * Upper bound of the number of whole accelerators of each type that are free at a future instant. It is a step function
 * of time that rises at expected ends of running work and falls at starts of reservations. Instants at which a request
 * lacks accelerators are skipped, so that a protected start is found with one or two searches of the indexes.
 */
import { needsPart, invariant } from "@headroom/model";
import type { WorkerShape } from "@headroom/model";
import { partsByType } from "../../cluster/amounts.ts";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import type { World } from "../../cluster/world.ts";
import { acceptableTypes, wholeNeeded } from "../../cluster/request.ts";
import type { ExpectedEnds } from "./expected-completions.ts";
import type { Reservation } from "./reservations.ts";

/** A step function of time: the value from each instant on. It is 0 before the first instant. */
interface Steps {
  readonly atMs: number[];
  readonly value: number[];
}

interface TypeOverTime {
  /** Free or releasing accelerators at present. */
  readonly base: number;
  /** Total number of accelerators freed by expected ends, from the present up to each instant. */
  readonly freed: Steps;
  readonly reserved: Steps;
}

export class FreeOverTime {
  readonly #world: World;
  readonly #ends: ExpectedEnds;
  /** Number of expected ends counted so far. */
  #endCount = 0;
  readonly #endTimes: number[] = [];
  readonly #reservedEndTimes: number[] = [];
  readonly #types = new Map<string, TypeOverTime>();

  /** Must be constructed while the indexes contain no tentative bookings. */
  constructor(world: World, ends: ExpectedEnds, reservations: readonly Reservation[]) {
    this.#world = world;
    this.#ends = ends;
    for (const { type, freeCount, releasingCount } of world.capacity.allTypes)
      this.#types.set(type, {
        base: freeCount + releasingCount,
        freed: { atMs: [], value: [] },
        reserved: { atMs: [], value: [] },
      });
    for (const reservation of reservations) this.reserve(reservation);
  }

  reserve({ bucket, placement, startMs, endMs }: Reservation): void {
    this.#reservedEndTimes.splice(countUpTo(this.#reservedEndTimes, endMs), 0, endMs);
    for (const { type, shape, workers } of partsByType(this.#world, bucket.request.gang, placement)) {
      const count = wholeOf(shape, workers);
      if (count === 0) continue;
      const { reserved } = this.#type(type);
      const first = stepAt(reserved, startMs);
      const end = stepAt(reserved, endMs);
      for (let index = first; index < end; index++) reserved.value[index] = (reserved.value[index] as number) + count;
    }
  }

  /**
   * Instants after `nowMs`, ascending, at which work is expected to end and the request might fit for its whole
   * duration. No instant is left out at which it does fit.
   */
  *startsAfter(nowMs: number, request: PlacementRequest, durationMs: number): Generator<number, void> {
    const needed = wholeNeeded(request);
    const types = acceptableTypes(this.#world, request).map(({ type }) => this.#type(type));
    for (let startMs = this.#nextEnd(nowMs); startMs !== null;) {
      let shortMs = Number.POSITIVE_INFINITY;
      for (const type of types) shortMs = Math.min(shortMs, this.#lastShort(type, needed, startMs, durationMs));
      if (shortMs === Number.NEGATIVE_INFINITY) yield startMs;
      // If the request started at `shortMs` or before, it would still run at `shortMs`, so only later starts are tried.
      startMs = this.#nextEnd(Math.max(startMs, shortMs));
    }
  }

  /**
   * The last instant during the request's run at which a type has too few accelerators, or `-Infinity` if it always has
   * enough.
   */
  #lastShort({ base, freed, reserved }: TypeOverTime, needed: number, startMs: number, durationMs: number): number {
    const first = countUpTo(reserved.atMs, startMs);
    for (let index = countUpTo(reserved.atMs, startMs + durationMs - 1) - 1; index >= first; index--) {
      const atMs = reserved.atMs[index] as number;
      this.#countEndsUpTo(atMs);
      if (base + valueAt(freed, atMs) - (reserved.value[index] as number) < needed) return atMs;
    }
    this.#countEndsUpTo(startMs);
    const taken = first === 0 ? 0 : (reserved.value[first - 1] as number);
    return base + valueAt(freed, startMs) - taken < needed ? startMs : Number.NEGATIVE_INFINITY;
  }

  /** The next instant at which running work or a reservation is expected to end, or `null` if there is none. */
  #nextEnd(afterMs: number): number | null {
    const reservedMs = this.#reservedEndTimes[countUpTo(this.#reservedEndTimes, afterMs)] ?? Number.POSITIVE_INFINITY;
    while ((this.#endTimes.at(-1) ?? 0) <= afterMs && this.#countNextEnd());
    const endMs = this.#endTimes[countUpTo(this.#endTimes, afterMs)] ?? Number.POSITIVE_INFINITY;
    const nextMs = Math.min(reservedMs, endMs);
    return nextMs === Number.POSITIVE_INFINITY ? null : nextMs;
  }

  #countEndsUpTo(atMs: number): void {
    for (;;) {
      const next = this.#ends.at(this.#endCount);
      if (next === undefined || next.endMs > atMs) return;
      this.#countNextEnd();
    }
  }

  #countNextEnd(): boolean {
    const next = this.#ends.at(this.#endCount);
    if (next === undefined) return false;
    this.#endCount++;
    const { attempt, gang, endMs } = next;
    if (this.#endTimes.at(-1) !== endMs) this.#endTimes.push(endMs);
    // Terminating work is already part of `base` as releasing.
    if (attempt.stop !== null) return true;
    for (const { type, shape, workers } of partsByType(this.#world, gang, attempt)) {
      const { freed } = this.#type(type);
      const more = needsPart(shape) ? workers : wholeOf(shape, workers);
      const before = freed.value.at(-1) ?? 0;
      if (freed.atMs.at(-1) === endMs) freed.value[freed.value.length - 1] = before + more;
      else {
        freed.atMs.push(endMs);
        freed.value.push(before + more);
      }
    }
    return true;
  }

  #type(name: string): TypeOverTime {
    const type = this.#types.get(name);
    invariant(type !== undefined, `no accelerator type ${name}`);
    return type;
  }
}

/**
 * Number of whole accelerators that the workers take. It is 0 for fractions, because they may fit on accelerators that
 * are not whole.
 */
const wholeOf = (shape: WorkerShape, workers: number): number => (needsPart(shape) ? 0 : workers * shape.accelerators);

/** Number of instants in the ascending list that are at or before `untilMs`. */
function countUpTo(atMs: readonly number[], untilMs: number): number {
  let low = 0;
  let high = atMs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((atMs[middle] as number) <= untilMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

function valueAt({ atMs, value }: Steps, instantMs: number): number {
  const count = countUpTo(atMs, instantMs);
  return count === 0 ? 0 : (value[count - 1] as number);
}

/** Position of the step at an instant. If there is none, a step is inserted that does not change the value. */
function stepAt({ atMs, value }: Steps, instantMs: number): number {
  const count = countUpTo(atMs, instantMs);
  if (count > 0 && atMs[count - 1] === instantMs) return count - 1;
  atMs.splice(count, 0, instantMs);
  value.splice(count, 0, count === 0 ? 0 : (value[count - 1] as number));
  return count;
}
