/**
 * The rule of the control plane as a policy for simulated endpoints: it sees what gateways report, every two seconds, and
 * knows nothing of the accelerator.
 */
import type { Autoscaler, EndpointSample, ReplicaBounds, ScaleDecision } from "../contract.ts";
import type { Objectives } from "../capacity.ts";
import type { LoadReading } from "./load-reading.ts";
import { TargetScaler } from "./target-scaler.ts";
import type { Targets } from "./targets.ts";

/** Simulated time begins at a time of the wall clock, as live. */
const ORIGIN_MS = 1_790_000_000_000;
const TICK_MS = 2_000;
const RATE_MS = 15_000;
/** Quantiles of few requests say little, as in `control/scaling-control.ts`. */
const REQUESTS_MIN = 20;
const DOWN_AFTER_MS = 60_000;

/** Targets of an endpoint that states both objectives for 99% of its requests. */
export const targetsFor = ({ ttftMs, tpotMs }: Objectives, downAfterMs: number = DOWN_AFTER_MS): Targets => ({
  concurrency: null,
  requestsPerSecond: null,
  queueTimeMs: null,
  ttft: { p95Ms: null, p99Ms: ttftMs },
  tpot: { p95Ms: null, p99Ms: tpotMs },
  metrics: [],
  idleToZeroMs: null,
  downAfterMs,
});

export class EndpointScaler implements Autoscaler {
  readonly name = "headroom-learnt";
  readonly #targets: Targets;
  readonly #bounds: ReplicaBounds;
  readonly #scaler = new TargetScaler();
  #replicas: number | undefined;
  #changedAtMs = ORIGIN_MS;
  #arrived = 0;
  readonly #tokens = { prompt: 0, output: 0, ended: 0 };
  #idleSinceMs = ORIGIN_MS;
  #nextMs = 0;
  #arrivals: { readonly atMs: number; readonly count: number }[] = [];
  #reason = "the first seconds";

  constructor(targets: Targets, bounds: ReplicaBounds) {
    this.#targets = targets;
    this.#bounds = bounds;
  }

  decide(simulated: EndpointSample): ScaleDecision {
    const sample = { ...simulated, nowMs: ORIGIN_MS + simulated.nowMs };
    const { nowMs, arrivals, inFlight, ready, starting, coldStartMs } = sample;
    this.#replicas ??= ready + starting;
    this.#arrived += arrivals;
    this.#tokens.prompt += sample.arrivedPromptTokens;
    this.#tokens.output += sample.endedOutputTokens;
    this.#tokens.ended += sample.ended;
    this.#arrivals.push({ atMs: nowMs, count: arrivals });
    if (arrivals + inFlight > 0) this.#idleSinceMs = nowMs;
    if (nowMs < this.#nextMs) return { replicas: this.#replicas, reason: this.#reason };
    this.#nextMs = nowMs + TICK_MS;
    const first = this.#arrivals.findIndex(({ atMs }) => atMs > nowMs - RATE_MS);
    if (first > 0) this.#arrivals.splice(0, first);
    this.#scaler.learnAgain(Infinity);
    const decision = this.#scaler.decide(
      {
        nowMs,
        replicas: this.#replicas,
        ready,
        changedAtMs: this.#changedAtMs,
        coldStartMs,
        bounds: this.#bounds,
        reading: this.#reading(sample),
        isPartial: false,
      },
      this.#targets,
    );
    if (decision.replicas !== this.#replicas) this.#changedAtMs = nowMs;
    this.#replicas = decision.replicas;
    const { need } = decision;
    this.#reason = need?.learnt?.reason ?? need?.cause ?? "nothing is known of the load";
    return { replicas: this.#replicas, reason: this.#reason };
  }

  #reading({ nowMs, inFlight, waiting, ready, latencies }: EndpointSample): LoadReading {
    const recent = latencies?.() ?? null;
    const isKnown = (recent?.ttft.requests ?? 0) >= REQUESTS_MIN;
    return {
      atMs: nowMs,
      running: ready > 0 ? inFlight : 0,
      queued: ready > 0 ? waiting : 0,
      held: ready > 0 ? 0 : waiting,
      requestsPerSecond: this.#arrivals.reduce((sum, { count }) => sum + count, 0) / (RATE_MS / 1000),
      arrived: this.#arrived,
      idleMs: nowMs - this.#idleSinceMs,
      ttft: isKnown ? (recent?.ttft ?? null) : null,
      tpot: isKnown ? (recent?.tpot ?? null) : null,
      tokens: { ...this.#tokens, promptTokenMs: isKnown ? (recent?.promptTokenMs ?? null) : null },
    };
  }
}
