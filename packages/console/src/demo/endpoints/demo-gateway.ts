/**
 * The traffic of one endpoint of the demo and the gateway before it, as that gateway reports them. Requests come in waves with a
 * pause between them, so that replicas come and go. The same seed gives the same traffic.
 */
import { revisionNumberOf, rolloutShare } from "@headroom/model";
import type { Attempt, Rollout } from "@headroom/model";
import type { LoadReport } from "@headroom/protocol";
import { drawBelow, drawExponential } from "@headroom/sim";
import { SLOW_OPTION } from "./chat-endpoint.ts";

const MINUTE_MS = 60_000;
export const WAVE_MS: number = 50 * MINUTE_MS;
/** Share of a wave with requests. */
const BUSY_SHARE = 0.8;
const PEAK_REQUESTS_PER_S = 18;
const REQUEST_S = 8;
/** Requests that a replica works on at a time; more than these wait in it. */
const BATCH = 48;
const TTFT_MS = 210;
const TPOT_MS = 24;
const FAILED_PER_10000 = 8;
/** Times of a replica, which are the same on all types. */
const TIMES = { tokenMs: TPOT_MS, promptMs: TTFT_MS, workMs: Math.round((1000 * REQUEST_S) / BATCH) };
/** Latencies of a slow revision, as multiples. */
const SLOWER = 1.25;
/** Requests spread around the mean latency by this much, in logarithms. */
const SPREAD = 0.35;

type Counters = NonNullable<LoadReport["rollout"]>["canary"];

export interface EndpointNow {
  readonly nowMs: number;
  readonly elapsedMs: number;
  /** Replicas that take requests. */
  readonly serving: readonly Attempt[];
  readonly rollout: Rollout | undefined;
}

export class DemoGateway {
  readonly #seed: number;
  readonly #name: string;
  readonly #startedAtMs: number;
  #requests = 0;
  #held = 0;
  #busyAtMs: number;
  #rollout: { readonly number: number; readonly startedAtMs: number; canary: Counters; baseline: Counters } | null =
    null;

  constructor(seed: number, name: string, startedAtMs: number) {
    this.#seed = seed;
    this.#name = name;
    this.#startedAtMs = startedAtMs;
    this.#busyAtMs = startedAtMs;
  }

  /** Position in the present wave, from 0 to 1, and the number of the wave. */
  wave(nowMs: number): { readonly number: number; readonly at: number } {
    const waves = (nowMs - this.#startedAtMs) / WAVE_MS;
    return { number: Math.floor(waves), at: waves % 1 };
  }

  /** The report after so much time has passed. */
  report({ nowMs, elapsedMs, serving, rollout }: EndpointNow): LoadReport {
    const arrived = this.#arrived(nowMs, elapsedMs);
    const isThere = serving.length > 0;
    this.#held = isThere ? 0 : this.#held + arrived;
    const running = isThere ? Math.round((1000 * REQUEST_S * arrived) / elapsedMs) : 0;
    if (isThere) this.#requests += arrived;
    if (arrived > 0 || this.#held > 0) this.#busyAtMs = nowMs;
    const split = this.#split(rollout, serving, arrived);
    const perReplica = running / Math.max(1, serving.length);
    const queued = Math.round(Math.max(0, perReplica - BATCH) * serving.length);
    const busy = Math.min(1, perReplica / BATCH);
    const wait = 1 + 6 * Math.max(0, perReplica / BATCH - 1);
    return {
      version: 1,
      gateway: "demo",
      startedAtMs: this.#startedAtMs,
      requests: this.#requests,
      running,
      held: this.#held,
      idleMs: nowMs - this.#busyAtMs,
      queued: isThere ? queued : null,
      kvUsage: isThere ? Math.round(100 * (0.05 + 0.8 * busy)) / 100 : null,
      ttft: arrived > 0 && isThere ? quantiles(TTFT_MS * wait * (0.8 + 0.4 * busy), 12 * arrived) : null,
      tpot: arrived > 0 && isThere ? quantiles(TPOT_MS * (0.8 + 0.4 * busy), 12 * arrived) : null,
      replicas: serving.map(({ ready }) => ({
        address: ready?.address ?? "",
        requests: Math.round(perReplica),
        times: TIMES,
      })),
      ...(split === null ? {} : { rollout: split }),
    };
  }

  #arrived(nowMs: number, elapsedMs: number): number {
    const { at } = this.wave(nowMs);
    if (at >= BUSY_SHARE) return 0;
    const rate = PEAK_REQUESTS_PER_S * Math.sin((Math.PI * at) / BUSY_SHARE) ** 2;
    return Math.round(((rate * elapsedMs) / 1000) * (0.9 + this.#draw(nowMs, "noise", 200) / 1000));
  }

  /** Counters of both revisions from the start of the rollout; the new one gets its share as its replicas become ready. */
  #split(rollout: Rollout | undefined, serving: readonly Attempt[], arrived: number): LoadReport["rollout"] | null {
    if (rollout === undefined) return (this.#rollout = null);
    const { number, startedAtMs } = rollout;
    if (this.#rollout?.number !== number || this.#rollout.startedAtMs !== startedAtMs)
      this.#rollout = { number, startedAtMs, canary: nothingCounted, baseline: nothingCounted };
    const own = serving.filter((attempt) => revisionNumberOf(attempt) === number).length;
    const share = ((rolloutShare(rollout) ?? 0) / 100) * Math.min(1, own / Math.max(1, rollout.canary));
    const canary = serving.length === 0 ? 0 : Math.round(arrived * (own === serving.length ? 1 : share));
    const isSlow = rollout.changes.run?.includes(SLOW_OPTION) === true;
    const { canary: before, baseline } = this.#rollout;
    const rest = serving.length === 0 ? 0 : arrived - canary;
    this.#rollout.canary = this.#counted(before, { count: canary, factor: isSlow ? SLOWER : 1, side: "canary" });
    this.#rollout.baseline = this.#counted(baseline, { count: rest, factor: 1, side: "baseline" });
    return { ...this.#rollout };
  }

  #counted(
    { requests, errors, ttft, tpot }: Counters,
    { count, factor, side }: { readonly count: number; readonly factor: number; readonly side: string },
  ): Counters {
    let failed = 0;
    const [first, token] = [sumsOf(ttft), sumsOf(tpot)];
    for (let index = 0; index < count; index += 1) {
      const sequence = requests + index;
      if (this.#draw(sequence, `${side} fails`, 10_000) < FAILED_PER_10000) failed += 1;
      add(first, Math.log(TTFT_MS * factor) + SPREAD * this.#spread(sequence, `${side} first`));
      add(token, Math.log(TPOT_MS * factor) + SPREAD * this.#spread(sequence, `${side} token`));
    }
    return {
      requests: requests + count,
      errors: errors + failed,
      ttft: [[0, first.count, first.sum, first.squares]],
      tpot: [[0, token.count, token.sum, token.squares]],
    };
  }

  #draw(sequence: number, purpose: string, bound: number): number {
    return drawBelow({ seed: this.#seed, sequence: Math.floor(sequence), purpose: `${this.#name} ${purpose}` }, bound);
  }

  /** A deviation of mean 0, with the long tail of latencies. */
  #spread(sequence: number, purpose: string): number {
    return drawExponential({ seed: this.#seed, sequence, purpose: `${this.#name} ${purpose}` }) - 1;
  }
}

const nothingCounted: Counters = { requests: 0, errors: 0, ttft: [], tpot: [] };

interface Sums {
  count: number;
  sum: number;
  squares: number;
}

function sumsOf(strata: Counters["ttft"]): Sums {
  const [, count, sum, squares] = strata[0] ?? [0, 0, 0, 0];
  return { count, sum, squares };
}

function add(sums: Sums, value: number): void {
  sums.count += 1;
  sums.sum += value;
  sums.squares += value * value;
}

const quantiles = (meanMs: number, requests: number): NonNullable<LoadReport["ttft"]> => ({
  p50Ms: Math.round(10 * meanMs) / 10,
  p95Ms: Math.round(17 * meanMs) / 10,
  p99Ms: Math.round(22 * meanMs) / 10,
  requests,
});
