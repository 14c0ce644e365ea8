/**
 * The test of one figure of all nodes in a row of steps (CUSUM, Page 1954). The threshold follows from the measured noise, so that a healthy
 * node raises one false alarm in as many steps as stated (Siegmund's approximation of the run length, 1985). One outlier never suffices.
 */
import { MAD_TO_SIGMA, medianOf } from "../statistics.ts";

/** Slowdown that the test is made for: 10%. Smaller ones are found later. */
const SLOWDOWN = 0.1;
/** Mean number of steps of a healthy node until a false alarm: a step every 4 s for 1,000 days. */
const STEPS_PER_FALSE_ALARM = 21_600_000;
/** Steps of a slow node that an alarm needs at least. */
const STEPS_MIN = 3;
/** The part of the threshold that one step adds at most, so that two outliers are no alarm. */
const STEP_PART_MAX = 0.4;
/** Noise below which clocks and rounding matter more than nodes. */
const NOISE_MIN = 0.003;
/** Weight of a new step in the estimate of the noise. */
const NOISE_WEIGHT = 0.05;
/** Siegmund's correction for the overshoot of the threshold, in standard deviations. */
const OVERSHOOT = 1.166;
/** A node whose excess has vanished for this many steps is no longer slow; of a part that some steps have, this many of its intervals. */
const RECOVERED_STEPS = 20;

export interface SlowNode {
  readonly node: string;
  /** The step at which it was named. */
  readonly step: number;
  /** The step from which on it was slow. */
  readonly since_step: number;
  /** Mean slowdown of the whole step since then, in percent of the median of its peers. */
  readonly slower_pct: number;
  /** The part that was named, with its mean slowdown. Absent: the whole step was named. */
  readonly part?: string;
  readonly part_slower_pct?: number;
}

interface Track {
  /** CUSUM in standard deviations. */
  sum: number;
  /** First step of the present excess, how many steps it has lasted, and the sum of the slowdowns since. */
  sinceStep: number;
  steps: number;
  excess: number;
  /** The same of the whole step. */
  whole: number;
  /** Absent: the node is not slow. */
  named?: SlowNode | undefined;
  calmSteps: number;
  /** Steps since the newest with a compared figure. */
  missedSteps: number;
  /** Steps from one compared figure to the next: more than one for a checkpoint. `null`: there was one figure only. */
  interval: number | null;
}

/** The test of one figure of all nodes: the whole step, or a part of it. */
export class CusumTest {
  readonly #part: string | null;
  readonly #tracks = new Map<string, Track>();
  #noise: number | null = null;

  /** `part`: its name; `null`: the whole step. */
  constructor(part: string | null) {
    this.#part = part;
  }

  /** Nodes that this step names. */
  follow({ step, excess, whole, testCount }: ComparedStep): readonly SlowNode[] {
    const noise = this.#noiseWith([...excess.values()]);
    const limits = limitsFor(noise, testCount);
    return [...excess].flatMap(
      ([node, own]) => this.#follow(node, { step, excess: own, whole: whole.get(node) ?? 0, noise, limits }) ?? [],
    );
  }

  /**
   * Counts a step for nodes that were in it and whose figure was not compared: it was not stated, or the part has become too small
   * to slow the step down. After many more such steps in a row than before nothing is left of what was found.
   */
  passOver(nodes: Iterable<string>): void {
    for (const node of nodes) {
      const track = this.#tracks.get(node);
      if (track === undefined) continue;
      track.missedSteps++;
      if (track.interval !== null && track.missedSteps >= RECOVERED_STEPS * track.interval) this.#tracks.delete(node);
    }
  }

  get slow(): readonly SlowNode[] {
    return [...this.#tracks.values()].flatMap(({ named, steps, excess, whole }) => {
      if (named === undefined) return [];
      return steps === 0 ? [named] : [{ ...named, ...this.#slowdown({ steps, excess, whole }) }];
    });
  }

  #slowdown({ steps, excess, whole }: Pick<Track, "steps" | "excess" | "whole">) {
    const part = this.#part === null ? {} : { part: this.#part, part_slower_pct: slowdownOf(excess, steps) };
    return { slower_pct: slowdownOf(whole, steps), ...part };
  }

  #noiseWith(excess: readonly number[]): number {
    const own = Math.max(NOISE_MIN, MAD_TO_SIGMA * medianOf(excess.map(Math.abs)));
    this.#noise = this.#noise === null ? own : this.#noise + NOISE_WEIGHT * (own - this.#noise);
    return this.#noise;
  }

  #follow(node: string, { step, excess, whole, noise, limits }: Excess): SlowNode | null {
    const { reference, threshold } = limits;
    const track = this.#trackOf(node);
    track.sum = Math.max(0, track.sum + Math.min(excess / noise - reference, threshold * STEP_PART_MAX));
    if (track.sum === 0) {
      track.steps = 0;
      track.excess = 0;
      track.whole = 0;
      track.calmSteps++;
      if (track.calmSteps >= RECOVERED_STEPS) track.named = undefined;
      return null;
    }
    if (track.steps === 0) track.sinceStep = step;
    track.steps++;
    track.calmSteps = 0;
    track.excess += excess;
    track.whole += whole;
    const isOver = track.sum > threshold && track.steps >= STEPS_MIN;
    // The sum of a node that stays slow must not grow without bound, or its recovery would not be seen.
    track.sum = Math.min(track.sum, 2 * threshold);
    if (!isOver || track.named !== undefined) return null;
    track.named = { node, step, since_step: track.sinceStep, ...this.#slowdown(track) };
    return track.named;
  }

  #trackOf(node: string): Track {
    let track = this.#tracks.get(node);
    if (track === undefined) {
      track = { sum: 0, sinceStep: 0, steps: 0, excess: 0, whole: 0, calmSteps: 0, missedSteps: 0, interval: null };
      this.#tracks.set(node, track);
      return track;
    }
    track.interval = track.missedSteps + 1;
    track.missedSteps = 0;
    return track;
  }
}

/** Mean slowdown in percent with one decimal. */
const slowdownOf = (excess: number, steps: number): number => Math.round(1_000 * (Math.exp(excess / steps) - 1)) / 10;

/** Logarithms of the times of the nodes over the median of their peers. */
export interface ComparedStep {
  readonly step: number;
  readonly excess: ReadonlyMap<string, number>;
  /** The same of the whole step. */
  readonly whole: ReadonlyMap<string, number>;
  /** Number of tests of one node: each is allowed its part of the false alarms. */
  readonly testCount: number;
}

/** The logarithms of one node, and the noise of the tested ones. */
interface Excess {
  readonly step: number;
  readonly excess: number;
  readonly whole: number;
  readonly noise: number;
  readonly limits: Limits;
}

/** In standard deviations. */
interface Limits {
  readonly reference: number;
  readonly threshold: number;
}

/** The reference value is half of the slowdown, as is best for it, and the threshold gives the stated run length. */
function limitsFor(noise: number, testCount: number): Limits {
  const reference = Math.max(Math.log1p(SLOWDOWN) / 2 / noise, 0.5);
  const threshold = Math.log(STEPS_PER_FALSE_ALARM * testCount * 2 * reference ** 2) / (2 * reference) - OVERSHOOT;
  return { reference, threshold: Math.max(threshold, 1) };
}
