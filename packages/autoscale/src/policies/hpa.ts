/**
 * The rule of the Kubernetes HorizontalPodAutoscaler (autoscaling/v2, defaults of the API reference): every 15 s desired =
 * ceil(current × metric ÷ target) outside a tolerance of 10%; pods that are not ready count as 0 when it scales up; it
 * scales up by at most 4 pods or 100% in 15 s, and down to the highest desired number of the last 300 s. The metric is
 * the number of requests in flight per replica.
 */
import type { Autoscaler, EndpointSample, ScaleDecision } from "../contract.ts";
import { Recent } from "./recent.ts";

const SYNC_MS = 15_000;
const TOLERANCE = 0.1;
const STABILIZATION_MS = 300_000;
const PODS_PER_STEP = 4;

export class HpaScaler implements Autoscaler {
  readonly name: string;
  readonly #target: number;
  readonly #desired = new Recent(STABILIZATION_MS);
  #nextMs = 0;
  #replicas = 1;

  constructor(target: number) {
    this.name = `hpa(${target})`;
    this.#target = target;
  }

  decide({ nowMs, ready, starting, inFlight }: EndpointSample): ScaleDecision {
    const current = ready + starting;
    if (nowMs >= this.#nextMs) {
      this.#nextMs = nowMs + SYNC_MS;
      const desired = this.#desiredOf(current, ready, inFlight);
      this.#desired.add(nowMs, desired);
      const up = Math.min(desired, Math.max(2 * current, current + PODS_PER_STEP));
      this.#replicas = desired > current ? up : Math.min(current, this.#desired.max);
    }
    return { replicas: this.#replicas, reason: `${inFlight} in flight on ${current}, target ${this.#target} each` };
  }

  #desiredOf(current: number, ready: number, inFlight: number): number {
    if (current === 0) return inFlight > 0 ? 1 : 0;
    const ratio = inFlight / Math.max(1, ready) / this.#target;
    if (Math.abs(ratio - 1) <= TOLERANCE) return current;
    if (ratio < 1) return Math.ceil(ratio * ready);
    // Pods that are not ready count with 0, which may turn the direction: then nothing is changed.
    const withStarting = inFlight / current / this.#target;
    return withStarting <= 1 + TOLERANCE ? current : Math.ceil(withStarting * current);
  }
}
