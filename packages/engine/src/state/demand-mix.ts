/**
 * Recent demand as counts of worker shapes, and a small sample of them that changes rarely. It is folded from the
 * events of submissions while a policy's scores need it, so a restart, a replay and a fork decide alike. Every score
 * computed against the sample becomes invalid when the sample changes.
 */
import {
  milliOf,
  groupAt,
  isSameList,
  typesOfGroup,
  wholeParts,
  submittedTaskCount,
  compareText,
} from "@headroom/model";
import type { WorkerShape, WorkloadSpec } from "@headroom/model";

export interface WorkerAsk {
  readonly accelerators: number;
  /** Thousandths that the worker takes of each accelerator: 1000, or less for a fraction of one. */
  readonly milli: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
}

/** A worker shape that workloads requested. `types`: the accepted accelerator types; if empty, any type is accepted. */
export interface DemandKind extends WorkerAsk {
  readonly types: readonly string[];
}

export const workerAsk = (gang: WorkerShape): WorkerAsk => ({
  accelerators: gang.accelerators,
  milli: milliOf(gang),
  coresMilli: gang.coresMilli,
  memoryMib: gang.memoryMib,
});

const kindOf = (shape: WorkerShape, types: readonly string[]): DemandKind => ({
  accelerators: shape.accelerators,
  milli: milliOf(shape),
  coresMilli: shape.coresMilli,
  memoryMib: shape.memoryMib,
  types,
});

const isAlike = (left: DemandKind, right: DemandKind): boolean =>
  left.accelerators === right.accelerators &&
  left.milli === right.milli &&
  left.coresMilli === right.coresMilli &&
  left.memoryMib === right.memoryMib &&
  isSameList(left.types, right.types);

export const askedMilli = ({ accelerators, milli }: WorkerAsk): number => accelerators * milli;

/** Number of queues of equal length into which the sample is divided. */
export const SAMPLE_QUEUES = 8;
export const SAMPLE_LENGTH = 24;
const SAMPLE_SIZE = SAMPLE_QUEUES * SAMPLE_LENGTH;
/** When the sum of the counts reaches this number, all counts are halved, so that old demand fades. */
const COUNTED_MAX = 4096;
/** Maximum number of workers counted for one submission, so that one large array does not dominate the sample. */
const COUNTED_AT_ONCE_MAX = 256;
/**
 * Divisor of the sample's size: a new sample replaces the old one only if more than 1/8 of the entries differ, because
 * every score must then be computed again.
 */
const KEPT_BELOW = 8;

interface CountedKind {
  readonly kind: DemandKind;
  count: number;
}

type StoredKind = readonly [
  accelerators: number,
  milli: number,
  coresMilli: number,
  memoryMib: number,
  types: readonly string[],
];

/** Recent demand as plain data, which is hashed and stored. */
export interface StoredDemand {
  readonly seen: number;
  readonly nextAt: number;
  readonly renewals: number;
  readonly counts: readonly (readonly [kind: StoredKind, count: number])[];
  readonly sample: readonly StoredKind[];
}

export class DemandMix {
  readonly #counts = new Map<string, CountedKind>();
  #last: CountedKind | null = null;
  #total = 0;
  #seen = 0;
  /**
   * Number of submissions after which the sample is computed again next. It grows by a quarter each time, within fixed
   * bounds.
   */
  #nextAt = 1;
  #renewals = 0;
  #sample: readonly DemandKind[] = [];
  /**
   * Accelerators of all counted workers, in thousandths. The map contains those of workers with more than one
   * accelerator, by the number of accelerators of a worker.
   */
  #milli = 0;
  readonly #milliBySize = new Map<number, number>();

  get renewals(): number {
    return this.#renewals;
  }

  /** Worker shapes in descending size. Each shape occurs in proportion to its count. */
  get sample(): readonly DemandKind[] {
    return this.#sample;
  }

  get countedMilli(): number {
    return this.#milli;
  }

  /**
   * Accelerators of counted workers with two or more accelerators, in thousandths, by the number of accelerators of a
   * worker.
   */
  get countedMilliBySize(): ReadonlyMap<number, number> {
    return this.#milliBySize;
  }

  count(spec: WorkloadSpec): void {
    if (spec.gang.accelerators === 0) return;
    for (const { shape, workers, group } of wholeParts(spec.gang)) {
      if (shape.accelerators === 0) continue;
      const types = group === undefined ? spec.acceleratorTypes : typesOfGroup(spec, groupAt(spec.gang, group));
      this.#add(kindOf(shape, types), Math.min(COUNTED_AT_ONCE_MAX, workers * submittedTaskCount(spec)));
    }
    while (this.#total >= COUNTED_MAX) this.#halve();
    if (++this.#seen < this.#nextAt) return;
    this.#nextAt = this.#seen + Math.min(COUNTED_MAX / 4, Math.max(SAMPLE_QUEUES, Math.floor(this.#seen / 4)));
    this.#renew();
  }

  #add(kind: DemandKind, count: number): void {
    this.#countedAs(kind).count += count;
    this.#total += count;
    this.#sum(kind, count);
  }

  /** The entry of a shape. Work often comes in series of one shape, for which no key is made. */
  #countedAs(kind: DemandKind): CountedKind {
    if (this.#last !== null && isAlike(this.#last.kind, kind)) return this.#last;
    const key = keyOf(kind);
    let counted = this.#counts.get(key);
    if (counted === undefined) this.#counts.set(key, (counted = { kind, count: 0 }));
    this.#last = counted;
    return counted;
  }

  #sum(kind: DemandKind, count: number): void {
    const milli = askedMilli(kind) * count;
    this.#milli += milli;
    if (kind.accelerators > 1)
      this.#milliBySize.set(kind.accelerators, (this.#milliBySize.get(kind.accelerators) ?? 0) + milli);
  }

  #halve(): void {
    this.#total = 0;
    this.#milli = 0;
    this.#milliBySize.clear();
    this.#last = null;
    for (const [key, counted] of this.#counts) {
      counted.count = Math.floor(counted.count / 2);
      this.#total += counted.count;
      if (counted.count === 0) this.#counts.delete(key);
      else this.#sum(counted.kind, counted.count);
    }
  }

  /** Takes a new sample of the counts at even intervals. The present sample stays if the new one is nearly equal. */
  #renew(): void {
    const sorted = [...this.#counts.values()].toSorted((left, right) => largestFirst(left.kind, right.kind));
    const drawn: DemandKind[] = [];
    let passed = 0;
    for (const { kind, count } of sorted) {
      passed += count;
      while (
        drawn.length < SAMPLE_SIZE &&
        Math.floor(((2 * drawn.length + 1) * this.#total) / (2 * SAMPLE_SIZE)) < passed
      )
        drawn.push(kind);
    }
    if (this.#sample.length > 0 && differing(this.#sample, drawn) * KEPT_BELOW <= SAMPLE_SIZE) return;
    this.#sample = drawn;
    this.#renewals++;
  }

  stored(): StoredDemand {
    return {
      seen: this.#seen,
      nextAt: this.#nextAt,
      renewals: this.#renewals,
      counts: [...this.#counts.values()].map(({ kind, count }) => [storeKind(kind), count]),
      sample: this.#sample.map(storeKind),
    };
  }

  static restored({ seen, nextAt, renewals, counts, sample }: StoredDemand): DemandMix {
    const mix = new DemandMix();
    for (const [kind, count] of counts) mix.#add(readKind(kind), count);
    mix.#seen = seen;
    mix.#nextAt = nextAt;
    mix.#renewals = renewals;
    // Equal shapes share one object, as they did in the sample that was stored.
    const kinds = new Map<string, DemandKind>();
    mix.#sample = sample.map((stored) => {
      const kind = readKind(stored);
      const known = kinds.get(keyOf(kind)) ?? kind;
      kinds.set(keyOf(kind), known);
      return known;
    });
    return mix;
  }

  copy(): DemandMix {
    return DemandMix.restored(this.stored());
  }
}

const storeKind = ({ accelerators, milli, coresMilli, memoryMib, types }: DemandKind): StoredKind => [
  accelerators,
  milli,
  coresMilli,
  memoryMib,
  types,
];

const readKind = ([accelerators, milli, coresMilli, memoryMib, types]: StoredKind): DemandKind => ({
  accelerators,
  milli,
  coresMilli,
  memoryMib,
  types,
});

const keyOf = ({ accelerators, milli, coresMilli, memoryMib, types }: DemandKind): string =>
  `${accelerators}|${milli}|${coresMilli}|${memoryMib}|${types.join("|")}`;

const largestFirst = (left: DemandKind, right: DemandKind): number =>
  right.accelerators - left.accelerators ||
  right.milli - left.milli ||
  right.coresMilli - left.coresMilli ||
  right.memoryMib - left.memoryMib ||
  compareText(left.types.join("|"), right.types.join("|"));

/** Number of entries of `right` that have no counterpart in `left`. */
function differing(left: readonly DemandKind[], right: readonly DemandKind[]): number {
  // Mostly the demand has not changed. Equal shapes share one object.
  if (isSameList(left, right)) return 0;
  const unmatched = new Map<string, number>();
  for (const kind of left) {
    const key = keyOf(kind);
    unmatched.set(key, (unmatched.get(key) ?? 0) + 1);
  }
  return right.filter((kind) => {
    const key = keyOf(kind);
    const count = unmatched.get(key) ?? 0;
    unmatched.set(key, count - 1);
    return count <= 0;
  }).length;
}
