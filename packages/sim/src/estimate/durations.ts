/**
 * Run times of work, learned from ended work. Users submit sweeps: jobs of one kind, seconds apart, with similar run
 * times. Neighbouring sweeps resemble each other, but run times change over weeks. So a run time is drawn from the
 * ended members of the same sweep, or else from a nearby sweep: first of the same kind of work, then of the same size,
 * then of any work. The model is a distance-dependent Chinese restaurant process (Blei and Frazier, JMLR 12, 2011) over
 * sweeps with a Pólya urn inside each sweep. Unlike independent draws from a histogram, it lets the members of an
 * unfinished sweep vary together. A draw must exceed the elapsed time, so work that has run longer than similar work
 * gets run times of longer kinds.
 */
import { draw } from "@headroom/model";

/** One workload, or one array, with the fields that predict its run time. */
export interface WorkRecord {
  /** Key of work that is submitted repeatedly under one name and team. The key is as narrow as possible. */
  readonly family: string;
  /** Accelerators of the whole gang. */
  readonly accelerators: number;
  readonly submittedAtMs: number;
  /** Run times in ms of the workload's ended attempts. */
  readonly endedAfterMs: readonly number[];
  /** `null`: no walltime. */
  readonly walltimeMs: number | null;
}

/** Work that is submitted in the simulated future and so has no record. */
export type UnseenWork = Pick<WorkRecord, "family" | "accelerators" | "walltimeMs">;

export interface DurationRules {
  /**
   * Minimum gap in ms between two sweeps: two submissions of one family and size that are further apart belong to
   * different sweeps.
   */
  readonly sweepGapMs: number;
  /** Weight of an ended member of another sweep, relative to a member of the same sweep. */
  readonly foreignWeight: number;
  /**
   * Probability with which the search stops at each sweep on its way from the nearest to more distant sweeps. Clusters
   * differ in how long run times stay similar, and few sweeps cannot show it, so the scenarios alternate between these
   * values.
   */
  readonly nearness: readonly number[];
  /** Random spread within a sweep, as a share of the run time. */
  readonly spread: number;
}

export const usualDurationRules: DurationRules = {
  sweepGapMs: 20_000,
  foreignWeight: 0.3,
  nearness: [0.02, 0.06, 0.2],
  spread: 0.06,
};

/**
 * Shortest octave of run times when no work has ended: run times are then uniform over the octaves from a minute to 17
 * hours.
 */
export const FIRST_OCTAVE_MS = 60_000;
export const OCTAVES = 10;

/** Maximum distance of a neighbour, in sweeps before or after. */
const neighboursMax = 48;
/** Maximum number of steps of a search for neighbours. It is larger than the number of neighbours of all kinds. */
const stepsMax = 512;
/** Maximum number of run times that the model keeps of a sweep; more would not change the results. */
const poolMax = 256;
/**
 * Maximum number of draws. A draw must exceed the elapsed time; after this number of draws that do not, no known run
 * time explains the run.
 */
export const DRAWS_MAX = 24;
/** Largest run time in the Pareto tail, as a multiple of the elapsed time, for a run that outlasts all similar work. */
const outlastingMax = 20;

export interface Sweep {
  /** Run times of the newest ended members of the sweep. */
  readonly ended: number[];
  /** Indexes of the sweep in three lists: sweeps of its family, sweeps of its size, and all sweeps. */
  readonly places: readonly number[];
  readonly lists: readonly (readonly number[])[];
}

export class DurationModel {
  readonly #rules: DurationRules;
  readonly #records: readonly WorkRecord[];
  readonly #sweepOf: Int32Array;
  readonly #sweeps: Sweep[] = [];
  /** Sweeps of a family, sweeps of a size and all sweeps, each in the order in which they began. */
  readonly #lists = new Map<string, number[]>();

  /**
   * `records`: in the order of submission; later calls refer to a record by its index. `imported`: further records, which come before
   * all others.
   */
  constructor(
    records: readonly WorkRecord[],
    rules: DurationRules = usualDurationRules,
    imported: readonly WorkRecord[] = [],
  ) {
    this.#rules = rules;
    this.#records = records;
    this.#sweepOf = new Int32Array(records.length);
    const open = new Map<string, { sweep: number; lastAtMs: number }>();
    for (const [position, record] of [...imported, ...records].entries()) {
      const index = position - imported.length;
      const [key] = listKeys(record);
      let current = open.get(key);
      if (current === undefined || record.submittedAtMs - current.lastAtMs > rules.sweepGapMs) {
        current = { sweep: this.#begin(listKeys(record)), lastAtMs: 0 };
        open.set(key, current);
      }
      current.lastAtMs = record.submittedAtMs;
      if (index >= 0) this.#sweepOf[index] = current.sweep;
      const { ended } = this.#sweeps[current.sweep]!;
      for (const endedAfterMs of record.endedAfterMs) ended.push(endedAfterMs);
      if (ended.length > 2 * poolMax) ended.splice(0, ended.length - poolMax);
    }
  }

  #begin(keys: readonly string[]): number {
    const sweep = this.#sweeps.length;
    const found = keys.map((key) => {
      let list = this.#lists.get(key);
      if (list === undefined) this.#lists.set(key, (list = []));
      list.push(sweep);
      return list;
    });
    this.#sweeps.push({ ended: [], places: found.map((list) => list.length - 1), lists: found });
    return sweep;
  }

  /** One scenario of the model. With the same seed, the same questions in the same order get the same answers. */
  scenario(seed: number): DurationScenario {
    return new DurationScenario(this, seed);
  }

  /** Number of ended runs of the families and sizes of these records, each run counted once. */
  similarRunCount(records: Iterable<number>): number {
    const lists = new Set<readonly number[]>();
    for (const record of records) {
      const [narrowest] = this.sweep(this.sweepOf(record)).lists;
      if (narrowest !== undefined) lists.add(narrowest);
    }
    let count = 0;
    for (const list of lists) for (const sweep of list) count += this.sweep(sweep).ended.length;
    return count;
  }

  get sweepCount(): number {
    return this.#sweeps.length;
  }

  get rules(): DurationRules {
    return this.#rules;
  }

  sweepOf(record: number): number {
    return this.#sweepOf[record]!;
  }

  sweep(index: number): Sweep {
    return this.#sweeps[index]!;
  }

  /** Adds a future sweep, without any record, after all existing sweeps. */
  sweepAfterAll(work: UnseenWork): Sweep {
    const lists = listKeys(work).map((key) => this.#lists.get(key) ?? []);
    return { ended: [], places: lists.map((list) => list.length), lists };
  }

  walltimeMs(record: number): number {
    return this.#records[record]!.walltimeMs ?? Number.MAX_SAFE_INTEGER;
  }
}

/** Keys of the lists of sweeps, from the narrowest kind to the widest. */
function listKeys({ family, accelerators }: UnseenWork): readonly [string, string, string] {
  return [`${accelerators} ${family}`, `${accelerators}`, ""];
}

/**
 * Visits nearby sweeps, those of the narrowest kind first, until `takes` accepts a sweep. Returns the index of that
 * sweep; -1: none. A sweep can be visited more than once.
 */
export function visitNeighbours({ places, lists }: Sweep, takes: (sweep: number) => boolean): number {
  for (let level = 0; level < lists.length; level++) {
    const list = lists[level]!;
    // Two lists of the same length hold the same sweeps, so visiting the second list adds nothing.
    if (level > 0 && list.length === lists[level - 1]!.length) continue;
    const place = places[level]!;
    for (let distance = 1; distance <= neighboursMax; distance++) {
      for (let side = -distance; side <= distance; side += 2 * distance) {
        const candidate = list[place + side];
        if (candidate !== undefined && takes(candidate)) return candidate;
      }
    }
  }
  return -1;
}

/** Total run times of attempts that have already run for a given time, for work with and without a record. */
export interface DurationSource {
  durationMs(record: number, elapsedMs: number): number;
  durationOfUnseenMs(work: UnseenWork, elapsedMs: number): number;
}

export class DurationScenario implements DurationSource {
  readonly #model: DurationModel;
  readonly #seed: number;
  readonly #nearness: number;
  #drawn = 0;
  /** By sweep: its ended runs and this scenario's draws. Only sweeps with draws are contained. */
  readonly #pools: (number[] | undefined)[];
  /** Sweeps of work without a record, one for each family and size. The model does not contain them. */
  readonly #unseen: Sweep[] = [];
  readonly #unseenOf = new Map<string, number>();
  /** Buffer for the sweeps that a search visits. */
  readonly #passed: number[] = [];

  constructor(model: DurationModel, seed: number) {
    this.#model = model;
    this.#seed = seed;
    this.#pools = Array.from({ length: model.sweepCount });
    const { nearness } = model.rules;
    this.#nearness = nearness[seed % nearness.length]!;
  }

  /** Total run time of an attempt of this work, given its elapsed time; whole ms. */
  durationMs(record: number, elapsedMs: number): number {
    return this.#drawMs(this.#model.sweepOf(record), this.#model.walltimeMs(record), elapsedMs);
  }

  /**
   * Total run time for work that is submitted in this scenario. Its sweep follows all recorded ones, and work of one
   * kind shares a sweep.
   */
  durationOfUnseenMs(work: UnseenWork, elapsedMs: number): number {
    const [key] = listKeys(work);
    let sweep = this.#unseenOf.get(key);
    if (sweep === undefined) {
      sweep = this.#model.sweepCount + this.#unseen.length;
      this.#unseenOf.set(key, sweep);
      this.#unseen.push(this.#model.sweepAfterAll(work));
    }
    return this.#drawMs(sweep, work.walltimeMs ?? Number.MAX_SAFE_INTEGER, elapsedMs);
  }

  #sweep(index: number): Sweep {
    const known = this.#model.sweepCount;
    return index < known ? this.#model.sweep(index) : this.#unseen[index - known]!;
  }

  #drawMs(sweep: number, walltimeMs: number, elapsedMs: number): number {
    let found = 0;
    for (let attempt = 0; attempt < DRAWS_MAX; attempt++) {
      const candidate = Math.min(this.#candidate(sweep, elapsedMs), walltimeMs);
      if (candidate > elapsedMs) {
        found = candidate;
        break;
      }
    }
    if (found === 0) found = Math.min(this.#outlasting(elapsedMs), Math.max(walltimeMs, elapsedMs + 1));
    this.#imagine(sweep, found);
    return found;
  }

  #imagine(sweep: number, durationMs: number): void {
    const pool = (this.#pools[sweep] ??= this.#sweep(sweep).ended.slice(-poolMax));
    if (pool.length < poolMax) pool.push(durationMs);
    else pool[Math.floor(this.#uniform() * poolMax)] = durationMs;
  }

  #uniform(): number {
    return draw(this.#seed, this.#drawn++, "duration") / 2 ** 32;
  }

  /**
   * Members with a run time below the elapsed time are excluded. The others keep their relative probabilities, as if
   * draws were repeated until one exceeds the elapsed time.
   */
  #candidate(sweep: number, elapsedMs: number): number {
    const { foreignWeight, spread } = this.#model.rules;
    const within = 1 + spread * (2 * this.#uniform() - 1);
    const pool = this.#pool(sweep);
    const own = elapsedMs === 0 ? pool : pool.filter((endedAfterMs) => endedAfterMs * within > elapsedMs);
    const isOwn = this.#uniform() * (own.length + foreignWeight) < own.length;
    return Math.max(1, Math.floor((isOwn ? this.#oneOf(own) : this.#foreign(sweep)) * within));
  }

  #foreign(sweep: number): number {
    const source = this.#neighbour(sweep);
    return source < 0 ? this.#unknown() : this.#oneOf(this.#pool(source));
  }

  /** Known run times and drawn run times of a sweep. */
  #pool(sweep: number): readonly number[] {
    return this.#pools[sweep] ?? this.#sweep(sweep).ended;
  }

  #oneOf<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.#uniform() * values.length)]!;
  }

  /**
   * A nearby sweep with run times, of the narrowest kind that has any; -1: none. One random number determines how many
   * sweeps are skipped, which is equivalent to stopping at each sweep with the scenario's probability.
   */
  #neighbour(sweep: number): number {
    let left = this.#steps();
    const passed = this.#passed;
    passed.length = 0;
    const found = visitNeighbours(this.#sweep(sweep), (candidate) => {
      if (this.#pool(candidate).length === 0) return false;
      if (left-- === 0) return true;
      passed.push(candidate);
      return false;
    });
    if (found >= 0) return found;
    return passed.length === 0 ? -1 : this.#oneOf(passed);
  }

  #steps(): number {
    const uniform = this.#uniform();
    let steps = 0;
    for (let going = 1 - this.#nearness; going > uniform && steps < stepsMax; going *= 1 - this.#nearness) steps++;
    return steps;
  }

  #unknown(): number {
    let low = FIRST_OCTAVE_MS;
    for (let step = Math.floor(this.#uniform() * OCTAVES); step > 0; step--) low *= 2;
    return low * (1 + this.#uniform());
  }

  /**
   * Run time of a run that outlasts all similar work. With probability one half it lasts at least twice its elapsed
   * time (Lindy's law).
   */
  #outlasting(elapsedMs: number): number {
    const share = Math.max(1 / outlastingMax, 1 - this.#uniform());
    return Math.floor(Math.max(elapsedMs, 1000) / share) + 1;
  }
}
