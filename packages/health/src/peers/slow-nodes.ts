/**
 * Finds slow nodes while they run: a one-sided CUSUM test (Page 1954) of each node's step time against the median of
 * its peers in the same step. The threshold follows from the measured noise, so that a healthy node raises one false
 * alarm in as many steps as stated (Siegmund's approximation of the run length, 1985). One outlier never suffices.
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
/** Nodes of a step from which on its median says something. */
const PEERS_MIN = 4;
/** Noise below which clocks and rounding matter more than nodes. */
const NOISE_MIN = 0.003;
/** Weight of a new step in the estimate of the noise. */
const NOISE_WEIGHT = 0.05;
/** Siegmund's correction for the overshoot of the threshold, in standard deviations. */
const OVERSHOOT = 1.166;
/** A node whose excess has vanished for this many steps is no longer slow. */
const RECOVERED_STEPS = 20;

export interface StepTime {
  readonly node: string;
  /** Seconds that the node worked on the step, without waiting for its peers. */
  readonly seconds: number;
}

export interface SlowNode {
  readonly node: string;
  /** The step at which it was named. */
  readonly step: number;
  /** The step from which on it was slow. */
  readonly since_step: number;
  /** Mean slowdown since then, in percent of the median of its peers. */
  readonly slower_pct: number;
}

interface Track {
  /** CUSUM in standard deviations. */
  sum: number;
  /** First step of the present excess, how many steps it has lasted, and the sum of the slowdowns since. */
  sinceStep: number;
  steps: number;
  excess: number;
  /** Absent: the node is not slow. */
  named?: SlowNode | undefined;
  calmSteps: number;
}

/** The nodes of one workload, or of one comparable set that does the same work. */
export class SlowNodes {
  readonly #tracks = new Map<string, Track>();
  #noise: number | null = null;

  /**
   * The nodes that this step shows to be slow. Each is named once, and again if it recovers and becomes slow again.
   * `step`: its number, for the answer; numbers may be left out.
   */
  observe(step: number, times: readonly StepTime[]): readonly SlowNode[] {
    const valid = times.filter(({ seconds }) => Number.isFinite(seconds) && seconds > 0);
    if (valid.length < PEERS_MIN) return [];
    const median = medianOf(valid.map(({ seconds }) => seconds));
    const excess = valid.map(({ seconds }) => Math.log(seconds / median));
    const noise = this.#noiseWith(excess);
    return valid.flatMap(
      ({ node }, index) => this.#follow(node, { step, excess: excess[index] as number, noise }) ?? [],
    );
  }

  /** The nodes that are slow now, with their mean slowdown since they became slow. */
  get slow(): readonly SlowNode[] {
    return [...this.#tracks.values()].flatMap(({ named, steps, excess }) => {
      if (named === undefined) return [];
      return steps === 0 ? [named] : [{ ...named, slower_pct: slowdownOf(excess, steps) }];
    });
  }

  #noiseWith(excess: readonly number[]): number {
    const own = Math.max(NOISE_MIN, MAD_TO_SIGMA * medianOf(excess.map(Math.abs)));
    this.#noise = this.#noise === null ? own : this.#noise + NOISE_WEIGHT * (own - this.#noise);
    return this.#noise;
  }

  #follow(node: string, { step, excess, noise }: Excess): SlowNode | null {
    const { reference, threshold } = limitsFor(noise);
    const track = this.#trackOf(node);
    track.sum = Math.max(0, track.sum + Math.min(excess / noise - reference, threshold * STEP_PART_MAX));
    if (track.sum === 0) {
      track.steps = 0;
      track.excess = 0;
      track.calmSteps++;
      if (track.calmSteps >= RECOVERED_STEPS) track.named = undefined;
      return null;
    }
    if (track.steps === 0) track.sinceStep = step;
    track.steps++;
    track.calmSteps = 0;
    track.excess += excess;
    const isOver = track.sum > threshold && track.steps >= STEPS_MIN;
    // The sum of a node that stays slow must not grow without bound, or its recovery would not be seen.
    track.sum = Math.min(track.sum, 2 * threshold);
    if (!isOver || track.named !== undefined) return null;
    track.named = { node, step, since_step: track.sinceStep, slower_pct: slowdownOf(track.excess, track.steps) };
    return track.named;
  }

  #trackOf(node: string): Track {
    let track = this.#tracks.get(node);
    if (track === undefined) {
      track = { sum: 0, sinceStep: 0, steps: 0, excess: 0, calmSteps: 0 };
      this.#tracks.set(node, track);
    }
    return track;
  }
}

/** Mean slowdown in percent with one decimal. */
const slowdownOf = (excess: number, steps: number): number => Math.round(1_000 * (Math.exp(excess / steps) - 1)) / 10;

/** Logarithm of a step time over the median of the peers, and the noise of these logarithms. */
interface Excess {
  readonly step: number;
  readonly excess: number;
  readonly noise: number;
}

/** In standard deviations. */
interface Limits {
  readonly reference: number;
  readonly threshold: number;
}

/** The reference value is half of the slowdown, as is best for it, and the threshold gives the stated run length. */
function limitsFor(noise: number): Limits {
  const reference = Math.max(Math.log1p(SLOWDOWN) / 2 / noise, 0.5);
  const threshold = Math.log(STEPS_PER_FALSE_ALARM * 2 * reference ** 2) / (2 * reference) - OVERSHOOT;
  return { reference, threshold: Math.max(threshold, 1) };
}
