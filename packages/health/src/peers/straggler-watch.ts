/**
 * Finds the slow ranks of a gang while it runs, from the step times that its workers report. Times arrive in any order, from several
 * files; a step is compared when all ranks have reported it, or when later steps show that the missing ones will not come. Reports are
 * untrusted: impossible ranks and times are dropped, and memory is bounded by the number of workers.
 */
import { SlowNodes, type StepTime } from "./slow-nodes.ts";

/**
 * Steps that wait for ranks: files are read one after the other, about once a second, so some ranks are many short steps ahead. The
 * oldest step is compared without its missing ranks when there are more, and later steps do not wait for these ranks.
 */
const OPEN_STEPS_MAX = 256;
/** Times that wait, or those of this many steps of all ranks, if that is more. */
const OPEN_TIMES_MAX = 65_536;
const OPEN_STEPS_MIN = 8;
/** Slow ranks that are named, the slowest first. */
const RANKS_MAX = 16;

/** Seconds that a rank worked on a step, without waiting for others, and seconds of its parts by name. */
export type RankStepTime = readonly [
  step: number,
  rank: number,
  seconds: number,
  parts?: Readonly<Record<string, number>>,
];

export interface Straggler {
  readonly rank: number;
  /** Percent of the median of the ranks, a mean since `sinceStep`. */
  readonly slowerPercent: number;
  readonly sinceStep: number;
  /** The part of the step that is slow, compared with the same part of the ranks. Absent: the whole step was named. */
  readonly part?: { readonly name: string; readonly slowerPercent: number };
}

export interface Stragglers {
  /** The newest step that was compared. */
  readonly step: number;
  /** Ranks with a time in it. */
  readonly comparedRanks: number;
  /** The slowest first, at most 16. */
  readonly ranks: readonly Straggler[];
}

export class StragglerWatch {
  readonly #ranks: ReadonlySet<number>;
  /** Number of ranks that a step waits for. */
  #expected: number;
  #openTimes = 0;
  #test = new SlowNodes();
  readonly #open = new Map<number, Map<number, Omit<StepTime, "node">>>();
  #compared: { readonly step: number; readonly ranks: number } | null = null;
  /** Times of compared steps since the newest comparison, and their ranks. */
  #late: RankStepTime[] = [];
  readonly #lateRanks = new Set<number>();

  /** `ranks`: those of the gang that have a worker, each once. */
  constructor(ranks: readonly number[]) {
    this.#ranks = new Set(ranks);
    this.#expected = ranks.length;
  }

  /** `null`: no step was compared yet. */
  take(times: readonly RankStepTime[]): Stragglers | null {
    for (const time of times) this.#add(time);
    return this.stragglers;
  }

  get stragglers(): Stragglers | null {
    if (this.#compared === null) return null;
    const ranks = this.#test.slow.map(({ node, since_step: sinceStep, slower_pct: slowerPercent, ...rest }) => ({
      rank: Number(node),
      slowerPercent,
      sinceStep,
      ...(rest.part === undefined ? {} : { part: { name: rest.part, slowerPercent: rest.part_slower_pct ?? 0 } }),
    }));
    const slowest = ranks.toSorted((left, right) => right.slowerPercent - left.slowerPercent || left.rank - right.rank);
    return { step: this.#compared.step, comparedRanks: this.#compared.ranks, ranks: slowest.slice(0, RANKS_MAX) };
  }

  #add(time: RankStepTime): void {
    const [step, rank, seconds] = time;
    if (!this.#ranks.has(rank) || !(seconds > 0)) return;
    if (step <= (this.#compared?.step ?? -1)) this.#addLate(time);
    else this.#addOpen(time);
  }

  #addOpen([step, rank, seconds, parts]: RankStepTime): void {
    let own = this.#open.get(step);
    if (own === undefined) this.#open.set(step, (own = new Map()));
    if (!own.has(rank)) this.#openTimes++;
    own.set(rank, { seconds, parts });
    if (own.size >= this.#expected) this.#compareUpTo(step);
    else if (this.#open.size > OPEN_STEPS_MAX || this.#openTimes > this.#openTimesMax) this.#compareOldest();
  }

  /**
   * Later steps wait for one more rank. If most ranks are late, the work went back to a checkpoint or counts its steps from the start:
   * the comparison does so too.
   */
  #addLate(time: RankStepTime): void {
    this.#expected = Math.min(this.#ranks.size, this.#expected + 1);
    this.#lateRanks.add(time[1]);
    if (this.#late.length < this.#openTimesMax) this.#late.push(time);
    if (this.#lateRanks.size * 2 <= this.#ranks.size) return;
    const times = this.#late;
    this.#forgetLate();
    this.#test = new SlowNodes();
    this.#compared = null;
    this.#open.clear();
    this.#openTimes = 0;
    this.#expected = this.#ranks.size;
    for (const each of times) this.#add(each);
  }

  #forgetLate(): void {
    if (this.#late.length === 0) return;
    this.#late = [];
    this.#lateRanks.clear();
  }

  get #openTimesMax(): number {
    return Math.max(OPEN_TIMES_MAX, OPEN_STEPS_MIN * this.#ranks.size);
  }

  /** Later steps are not compared with it: a single far-off step would make all others late. */
  #compareOldest(): void {
    const oldest = [...this.#open.keys()].reduce((least, step) => Math.min(least, step), Number.MAX_SAFE_INTEGER);
    this.#expected = this.#open.get(oldest)?.size ?? 1;
    this.#compareUpTo(oldest);
  }

  /** Steps are compared in their order; ranks that are missing in earlier ones are late. */
  #compareUpTo(last: number): void {
    for (const step of [...this.#open.keys()].toSorted((left, right) => left - right)) {
      if (step > last) break;
      const times: StepTime[] = [...(this.#open.get(step) ?? [])].map(([rank, time]) => ({
        node: String(rank),
        ...time,
      }));
      this.#open.delete(step);
      this.#openTimes -= times.length;
      this.#test.observe(step, times);
      this.#compared = { step, ranks: times.length };
    }
    this.#forgetLate();
  }
}
