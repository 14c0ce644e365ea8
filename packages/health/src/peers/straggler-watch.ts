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

/** Seconds that a rank worked on a step, without waiting for others. */
export type RankStepTime = readonly [step: number, rank: number, seconds: number];

export interface Straggler {
  readonly rank: number;
  /** Percent of the median of the ranks, a mean since `sinceStep`. */
  readonly slowerPercent: number;
  readonly sinceStep: number;
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
  readonly #workerCount: number;
  /** Number of ranks that a step waits for. */
  #expected: number;
  #openTimes = 0;
  readonly #test = new SlowNodes();
  readonly #open = new Map<number, Map<number, number>>();
  #compared: { readonly step: number; readonly ranks: number } | null = null;

  constructor(workerCount: number) {
    this.#workerCount = workerCount;
    this.#expected = workerCount;
  }

  /** `null`: no step was compared yet. */
  take(times: readonly RankStepTime[]): Stragglers | null {
    for (const [step, rank, seconds] of times) this.#add(step, rank, seconds);
    return this.stragglers;
  }

  get stragglers(): Stragglers | null {
    if (this.#compared === null) return null;
    const ranks = this.#test.slow.map(({ node, since_step: sinceStep, slower_pct: slowerPercent }) => ({
      rank: Number(node),
      slowerPercent,
      sinceStep,
    }));
    const slowest = ranks.toSorted((left, right) => right.slowerPercent - left.slowerPercent || left.rank - right.rank);
    return { step: this.#compared.step, comparedRanks: this.#compared.ranks, ranks: slowest.slice(0, RANKS_MAX) };
  }

  #add(step: number, rank: number, seconds: number): void {
    if (rank >= this.#workerCount || !(seconds > 0)) return;
    if (step <= (this.#compared?.step ?? -1)) {
      // The rank is late: later steps wait for one more.
      this.#expected = Math.min(this.#workerCount, this.#expected + 1);
      return;
    }
    let own = this.#open.get(step);
    if (own === undefined) this.#open.set(step, (own = new Map()));
    if (!own.has(rank)) this.#openTimes++;
    own.set(rank, seconds);
    if (own.size >= this.#expected) this.#compareUpTo(step);
    else if (this.#open.size > OPEN_STEPS_MAX || this.#openTimes > this.#openTimesMax) this.#compareOldest();
  }

  get #openTimesMax(): number {
    return Math.max(OPEN_TIMES_MAX, OPEN_STEPS_MIN * this.#workerCount);
  }

  #compareOldest(): void {
    const oldest = [...this.#open.keys()].reduce((least, step) => Math.min(least, step), Number.MAX_SAFE_INTEGER);
    const present = this.#open.get(oldest)?.size ?? 1;
    this.#expected = present;
    const complete = [...this.#open].filter(([, own]) => own.size >= present).map(([step]) => step);
    this.#compareUpTo(complete.reduce((most, step) => Math.max(most, step), oldest));
  }

  /** Steps are compared in their order; ranks that are missing in earlier ones are late. */
  #compareUpTo(last: number): void {
    for (const step of [...this.#open.keys()].toSorted((left, right) => left - right)) {
      if (step > last) return;
      const times: StepTime[] = [...(this.#open.get(step) ?? [])].map(([rank, seconds]) => ({
        node: String(rank),
        seconds,
      }));
      this.#open.delete(step);
      this.#openTimes -= times.length;
      this.#test.observe(step, times);
      this.#compared = { step, ranks: times.length };
    }
  }
}
