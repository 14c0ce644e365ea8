/**
 * Calibrates ranges of start estimates by comparing each given range with the real start. If the start lies outside,
 * later ranges become a little wider on that side; if it lies inside, a little narrower. Over many outcomes the share
 * of starts outside approaches the promised share, whatever the model's errors and however the work changes (adaptive
 * conformal inference: Gibbs and Candès, NeurIPS 2021; the tracker of Angelopoulos et al., NeurIPS 2023). Work that
 * waits beyond its upper bound counts as a miss at once, because waiting for its start would delay the correction.
 */
import type { WorkloadId } from "@headroom/model";
import { EventQueue, ranks } from "../clock/event-queue.ts";

/** Quantiles of a forecast wait in ms; `Infinity`: beyond the horizon. */
export interface WaitRange {
  readonly p10Ms: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
}

export interface CalibrationRules {
  /** Promised share of outcomes beyond each end of the range. */
  readonly missShare: number;
  /** Change of an end of the range after one outcome, relative to the end's distance from the median. */
  readonly step: number;
  /** Initial factor that widens the range, because a model with little data is overconfident. */
  readonly firstStretch: number;
  readonly stretchMax: number;
  /**
   * Minimum distance of each end of the range from the median, before scaling, as a share of the median.
   * `distanceMinMs` applies if it is larger.
   */
  readonly distanceMinShare: number;
  readonly distanceMinMs: number;
}

export const usualCalibrationRules: CalibrationRules = {
  missShare: 0.1,
  step: 0.01,
  firstStretch: 1.1,
  stretchMax: 3,
  distanceMinShare: 0.2,
  distanceMinMs: 60_000,
};

interface Nominated extends WaitRange {
  readonly workloadId: WorkloadId;
  readonly madeAtMs: number;
}

export class RangeCalibration {
  readonly #rules: CalibrationRules;
  readonly #nominated = new Map<WorkloadId, Nominated>();
  /** Queue of the times at which ranges end; the payload is an index of `#bySlot`. */
  readonly #passing = new EventQueue();
  readonly #bySlot: (Nominated | null)[] = [];
  readonly #freeSlots: number[] = [];
  #below: number;
  #above: number;

  constructor(rules: CalibrationRules = usualCalibrationRules) {
    this.#rules = rules;
    this.#below = rules.firstStretch;
    this.#above = rules.firstStretch;
  }

  /** Current factors that move the range's ends away from the median. */
  get stretch(): { readonly below: number; readonly above: number } {
    return { below: this.#below, above: this.#above };
  }

  /** The calibrated range for a forecast of the wait. */
  range({ p10Ms, p50Ms, p90Ms }: WaitRange): WaitRange {
    const { distanceMinShare, distanceMinMs } = this.#rules;
    if (p50Ms === Number.POSITIVE_INFINITY) return { p10Ms, p50Ms, p90Ms };
    const distanceMin = Math.floor(p50Ms * distanceMinShare) + distanceMinMs;
    const below = Math.max(p50Ms - p10Ms, distanceMin) * this.#below;
    const above = Math.max(p90Ms - p50Ms, distanceMin) * this.#above;
    return { p10Ms: Math.max(0, Math.round(p50Ms - below)), p50Ms, p90Ms: Math.round(p50Ms + above) };
  }

  /** Records a range that was shown. Only the first range of a workload counts. */
  recordRange(workloadId: WorkloadId, madeAtMs: number, range: WaitRange): void {
    if (this.#nominated.has(workloadId)) return;
    const nominated = { workloadId, madeAtMs, ...range };
    this.#nominated.set(workloadId, nominated);
    if (range.p90Ms === Number.POSITIVE_INFINITY) return;
    const slot = this.#freeSlots.pop() ?? this.#bySlot.length;
    this.#bySlot[slot] = nominated;
    this.#passing.push(madeAtMs + range.p90Ms, ranks.observation, slot);
  }

  started(workloadId: WorkloadId, atMs: number): void {
    const nominated = this.#nominated.get(workloadId);
    if (nominated === undefined) return;
    this.#nominated.delete(workloadId);
    const waitMs = atMs - nominated.madeAtMs;
    this.#learn(waitMs < nominated.p10Ms, waitMs > nominated.p90Ms);
  }

  /** Drops a workload that ended without a start: its range teaches the calibration nothing. */
  withdrawn(workloadId: WorkloadId): void {
    this.#nominated.delete(workloadId);
  }

  /**
   * Advances the time: work that has not started by its upper end counts as a miss. Call `advance` before `range` and
   * after `started`.
   */
  passed(nowMs: number): void {
    while (this.#passing.nextAtMs < nowMs) {
      const slot = this.#passing.nextPayload;
      this.#passing.drop();
      const nominated = this.#bySlot[slot]!;
      this.#bySlot[slot] = null;
      this.#freeSlots.push(slot);
      if (this.#nominated.get(nominated.workloadId) !== nominated) continue;
      this.#nominated.delete(nominated.workloadId);
      this.#learn(false, true);
    }
  }

  #learn(missedBelow: boolean, missedAbove: boolean): void {
    this.#below = this.#moved(this.#below, missedBelow);
    this.#above = this.#moved(this.#above, missedAbove);
  }

  #moved(stretch: number, missed: boolean): number {
    const { step, missShare, stretchMax } = this.#rules;
    const moved = stretch * (1 + step * ((missed ? 1 : 0) - missShare));
    return Math.min(stretchMax, Math.max(1 / stretchMax, moved));
  }
}
