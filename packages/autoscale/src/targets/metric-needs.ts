/**
 * Replicas by targets for values of metric sources, as the HorizontalPodAutoscaler counts them: amounts that replicas share by
 * division, levels by their ratio to the target. A value that is missing, late or contradictory says nothing: no replica
 * stops for it, and other targets can still add some.
 */
import { LoadTrend } from "./load-trend.ts";
import { metricFinding, type MetricReading } from "./metric-reading.ts";
import type { MetricTarget } from "./targets.ts";

/** Levels this near to their target change nothing: the tolerance of the HorizontalPodAutoscaler. */
const TOLERANCE = 0.1;
/** One step changes the number of replicas by at most this factor. */
const STEP_MAX = 2;
/** A level shows a change of replicas only after this time and an interval of its source. */
const SETTLING_MS = 60_000;
/** Values are compared as means over this time: a gauge of few requests is noisy. */
const MEAN_MS = { perReplica: 30_000, level: 60_000 } as const;
/** A replica that is not ready after so many cold starts, and this time at least, bears nothing. */
const STUCK_STARTS = 2;
const STUCK_MS = 120_000;
/** After a longer time between two samples, what was known is forgotten. */
const GAP_MS = 30_000;

interface MetricSample {
  readonly nowMs: number;
  readonly replicas: number;
  readonly ready: number;
  readonly changedAtMs: number;
  readonly coldStartMs: number;
  readonly readings: readonly MetricReading[];
}

export interface MetricNeed {
  readonly name: string;
  readonly measured: number;
  readonly target: number;
  readonly replicas: number;
}

export interface MetricNeedsFound {
  readonly needs: readonly MetricNeed[];
  /** Whether nothing is known now of one of the values. */
  readonly hasGap: boolean;
  /** Time since an amount was above zero or unknown; `null`: no target is an amount. */
  readonly idleMs: number | null;
}

export class MetricNeeds {
  readonly #means = new Map<string, LoadTrend>();
  #ready = -1;
  #readyAtMs = -Infinity;
  #busyAtMs: number | null = null;
  #lastAtMs = -Infinity;

  find(targets: readonly MetricTarget[], sample: MetricSample): MetricNeedsFound {
    const { nowMs, ready, readings } = sample;
    if (nowMs < this.#lastAtMs || nowMs - this.#lastAtMs > GAP_MS) this.#forget();
    this.#lastAtMs = nowMs;
    if (ready !== this.#ready) {
      this.#readyAtMs = this.#ready < 0 ? -Infinity : nowMs;
      this.#ready = ready;
    }
    const needs: MetricNeed[] = [];
    let hasGap = false;
    for (const target of targets) {
      const found = metricFinding(target, readings, { nowMs, ready });
      if (found.kind === "gap") {
        this.#means.delete(keyOf(target));
        hasGap = true;
        if (target.kind === "perReplica") this.#busyAtMs = nowMs;
      } else needs.push(this.#need(target, found, sample));
    }
    return { needs, hasGap, idleMs: this.#idleMs(targets, needs, nowMs) };
  }

  #forget(): void {
    this.#means.clear();
    this.#readyAtMs = -Infinity;
    this.#busyAtMs = null;
  }

  #need(
    target: MetricTarget,
    { value, everyMs }: { readonly value: number; readonly everyMs: number },
    sample: MetricSample,
  ): MetricNeed {
    const mean = this.#means.get(keyOf(target)) ?? new LoadTrend(MEAN_MS[target.kind], 1);
    this.#means.set(keyOf(target), mean);
    mean.add(sample.nowMs, value);
    const measured = mean.at(0).level;
    const replicas =
      target.kind === "level" ? this.#byLevel(measured / target.target, everyMs, sample) : measured / target.target;
    // The first piece of work starts a replica, however small a part of one it needs.
    const least = target.kind === "perReplica" && value > 0 ? 1 : 0;
    return { name: target.name, measured, target: target.target, replicas: Math.max(least, replicas) };
  }

  /** The number stays while the level does not show the present replicas. */
  #byLevel(ratio: number, everyMs: number, { nowMs, ready, replicas, coldStartMs, changedAtMs }: MetricSample): number {
    const isSettled = nowMs - this.#readyAtMs >= SETTLING_MS + everyMs;
    if (ready === 0 || !isSettled) return replicas;
    const isStuck = nowMs - changedAtMs >= Math.max(STUCK_MS, STUCK_STARTS * coldStartMs);
    const stuck = isStuck ? Math.max(0, replicas - ready) : 0;
    if (Math.abs(ratio - 1) <= TOLERANCE) return ready + stuck;
    return ready * Math.min(STEP_MAX, ratio) + stuck;
  }

  #idleMs(targets: readonly MetricTarget[], needs: readonly MetricNeed[], nowMs: number): number | null {
    const amounts = targets.filter(({ kind }) => kind === "perReplica").map(({ name }) => name);
    if (amounts.length === 0) return null;
    const isBusy = needs.some(({ name, measured }) => measured > 0 && amounts.includes(name));
    if (isBusy || this.#busyAtMs === null) this.#busyAtMs = nowMs;
    return nowMs - this.#busyAtMs;
  }
}

const keyOf = ({ source, name }: MetricTarget): string => `${source ?? ""} ${name}`;
