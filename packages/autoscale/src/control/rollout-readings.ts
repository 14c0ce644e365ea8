/**
 * Readings of both revisions of an endpoint during a rollout, added over gateways and kept for each step. Gateways report
 * counters from the start of the rollout; what a counter gained since the last report belongs to the step of that time.
 * Steps have other shares of the requests, and are other parts of the day, so only requests of one step are compared.
 */
import type { Rollout } from "@headroom/model";
import type { LoadReport, RolloutReading } from "@headroom/protocol";
import type { Moments, RevisionReading } from "../rollouts/reading.ts";

export interface RolloutReadings {
  readonly canary: RevisionReading;
  readonly baseline: RevisionReading;
}

/** Strata of latencies have smaller numbers than this. */
const STRATA = 1_000;
const GATEWAYS_MAX = 256;

type Reported = RolloutReading["canary"];
type RolloutId = Pick<Rollout, "number" | "startedAtMs">;

class Sums {
  /** By step. */
  readonly counts = new Map<number, { requests: number; errors: number }>();
  readonly ttft = new Map<number, Moments>();
  readonly tpot = new Map<number, Moments>();
  readonly quality = new Map<number, Moments>();

  add(step: number, now: Reported, before: Reported | undefined): void {
    const known = this.counts.get(step) ?? { requests: 0, errors: 0 };
    const requests = gained(now.requests, before?.requests);
    // A report in which more requests failed than ended is a mistake of its gateway.
    const errors = Math.min(requests, gained(now.errors, before?.errors));
    this.counts.set(step, { requests: known.requests + requests, errors: known.errors + errors });
    addStrata(this.ttft, step, now.ttft, before?.ttft);
    addStrata(this.tpot, step, now.tpot, before?.tpot);
    // Scores of all steps are of the same copied requests: they are one stratum.
    addStrata(this.quality, 0, scores(now), scores(before));
  }

  reading(): RevisionReading {
    const periods = [...this.counts.entries()].toSorted(([left], [right]) => left - right);
    const total = (figure: "requests" | "errors"): number => periods.reduce((sum, [, each]) => sum + each[figure], 0);
    const quality = this.quality.get(0);
    return {
      ...(quality === undefined ? {} : { quality }),
      requests: total("requests"),
      errors: total("errors"),
      periods: new Map(periods),
      ttft: this.ttft,
      tpot: this.tpot,
    };
  }
}

/** The readings of one rollout. */
export class StepReadings {
  readonly #rollout: RolloutId;
  readonly #last = new Map<string, { readonly canary: Reported; readonly baseline: Reported }>();
  readonly #canary = new Sums();
  readonly #baseline = new Sums();
  #isEmpty = true;

  constructor({ number, startedAtMs }: RolloutId) {
    this.#rollout = { number, startedAtMs };
  }

  isOf({ number, startedAtMs }: RolloutId): boolean {
    return this.#rollout.number === number && this.#rollout.startedAtMs === startedAtMs;
  }

  /** A gateway can report about an earlier rollout with the same number, which was rolled back. */
  take({ gateway, startedAtMs, rollout }: LoadReport, step: number): void {
    if (rollout === undefined || !this.isOf(rollout)) return;
    const key = `${gateway} ${startedAtMs}`;
    const before = this.#last.get(key);
    if (before === undefined && this.#last.size >= GATEWAYS_MAX) return;
    this.#last.set(key, rollout);
    this.#canary.add(step, rollout.canary, before?.canary);
    this.#baseline.add(step, rollout.baseline, before?.baseline);
    this.#isEmpty = false;
  }

  /** `null`: no gateway has reported. */
  readings(): RolloutReadings | null {
    return this.#isEmpty ? null : { canary: this.#canary.reading(), baseline: this.#baseline.reading() };
  }
}

const scores = (reported: Reported | undefined): Reported["ttft"] =>
  reported?.quality === undefined ? [] : [[0, ...reported.quality]];

/** A counter that went back begins again: its gateway loaded a configuration with other pools. */
const gained = (now: number, before = 0): number => (now >= before ? now - before : now);

function addStrata(
  sums: Map<number, Moments>,
  step: number,
  now: Reported["ttft"],
  before: Reported["ttft"] = [],
): void {
  const last = new Map(before.map((each) => [each[0], each]));
  for (const [stratum, count, sum, sumOfSquares] of now) {
    const [, countBefore, sumBefore, squaresBefore] = last.get(stratum) ?? [stratum, 0, 0, 0];
    const isNew = count < countBefore;
    if (count === countBefore) continue;
    const key = step * STRATA + stratum;
    const known = sums.get(key) ?? { count: 0, sum: 0, sumOfSquares: 0 };
    sums.set(key, {
      count: known.count + count - (isNew ? 0 : countBefore),
      sum: known.sum + sum - (isNew ? 0 : sumBefore),
      sumOfSquares: known.sumOfSquares + sumOfSquares - (isNew ? 0 : squaresBefore),
    });
  }
}
