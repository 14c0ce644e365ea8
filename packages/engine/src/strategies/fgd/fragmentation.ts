/**
 * The score of Fragmentation Gradient Descent (Weng et al., USENIX ATC '23) in integers. Fragmentation of a node: the
 * free accelerators that typical workers could not use, weighted by how often each kind of worker is requested. A
 * placement gets a grade from 0 to 99 by how much it increases fragmentation. The authors' score is floor(100 x
 * sigmoid(-d / 1000)), where d is the mean increase in thousandths of an accelerator. The thresholds of the grades are
 * tabulated, because logarithms differ between platforms.
 */
import { WHOLE_MILLI } from "@headroom/model";
import type { WorkerAsk } from "../../state/demand-mix.ts";
import type { NodeSlot } from "../../cluster/node-slot.ts";

export interface TypicalKind extends Pick<WorkerAsk, "accelerators" | "milli" | "coresMilli"> {
  readonly count: number;
}

/**
 * floor(10^9 ln(100 / k - 1)) for k = 1 to 49: the largest increase with grade k, in millionths of a thousandth of an
 * accelerator.
 */
const UPPER_THRESHOLDS: readonly number[] = [
  4595119850, 3891820298, 3476098689, 3178053830, 2944438979, 2751535313, 2586689344, 2442347035, 2313634929,
  2197224577, 2090741096, 1992430164, 1900958761, 1815289966, 1734601055, 1658228076, 1585627263, 1516347489,
  1450010175, 1386294361, 1324925414, 1265666373, 1208311205, 1152679509, 1098612288, 1045968555, 994622575, 944461608,
  895384047, 847297860, 800119300, 753771802, 708185057, 663294217, 619039208, 575364144, 532216813, 489548225,
  447312218, 405465108, 363965377, 322773392, 281851152, 241162056, 200670695, 160342650, 120144311, 80042707, 40005334,
];
/** For k = 1 to 99: ln(100 / (100 - k) - 1) = -ln(100 / k - 1), rounded down. */
const THRESHOLDS: readonly number[] = [
  ...UPPER_THRESHOLDS,
  0,
  ...UPPER_THRESHOLDS.toReversed().map((threshold) => -threshold - 1),
];
const PER_MILLI = 1_000_000;

export interface Graded {
  readonly grade: number;
  /** The accelerator from which a fraction is taken; -1 if the worker uses whole accelerators or none. */
  readonly accelerator: number;
}

export class Fragmentation {
  readonly #kinds: readonly TypicalKind[];
  readonly #count: number;

  constructor(kinds: readonly TypicalKind[]) {
    this.#kinds = kinds;
    this.#count = kinds.reduce((sum, { count }) => sum + count, 0);
  }

  /** The grade of a placement on a node that holds the worker. */
  grade(slot: NodeSlot, ask: WorkerAsk): Graded {
    const rooms = Array.from({ length: slot.totalCount }, (_, index) => Math.max(0, slot.room(index, "idle")));
    const before = this.#fragments(rooms, slot.coresFreeMilli);
    const coresLeft = slot.coresFreeMilli - ask.coresMilli;
    if (ask.milli === WHOLE_MILLI || ask.accelerators === 0) {
      let left = ask.accelerators;
      const after = rooms.map((room) => (room === WHOLE_MILLI && left-- > 0 ? 0 : room));
      return { grade: this.#gradeOf(this.#fragments(after, coresLeft) - before), accelerator: -1 };
    }
    let best: Graded = { grade: -1, accelerator: -1 };
    for (let index = 0; index < rooms.length; index++) {
      const room = rooms[index] as number;
      // Accelerators with equal free amounts give equal results, so only the lowest is tried.
      if (room < ask.milli || rooms.indexOf(room) < index) continue;
      rooms[index] = room - ask.milli;
      const grade = this.#gradeOf(this.#fragments(rooms, coresLeft) - before);
      rooms[index] = room;
      if (grade > best.grade) best = { grade, accelerator: index };
    }
    return best;
  }

  /** Free thousandths that typical workers could not use, weighted by the frequency of each kind. */
  #fragments(rooms: readonly number[], coresFree: number): number {
    let total = 0;
    for (const room of rooms) total += room;
    let sum = 0;
    for (const { accelerators, milli, coresMilli, count } of this.#kinds) {
      if (accelerators === 0 || coresFree < coresMilli) {
        sum += count * total;
        continue;
      }
      let usableCount = 0;
      let usable = 0;
      for (const room of rooms) {
        if (room < milli) continue;
        usableCount++;
        usable += room;
      }
      sum += count * (usableCount < accelerators ? total : total - usable);
    }
    return sum;
  }

  /**
   * The grade of an increase: the largest k from 1 to 99 whose threshold is not exceeded, else 0. Thresholds decrease
   * with k.
   */
  #gradeOf(growth: number): number {
    const scaled = growth * PER_MILLI;
    let low = 0;
    let high = THRESHOLDS.length;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (scaled <= (THRESHOLDS[middle - 1] as number) * this.#count) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
