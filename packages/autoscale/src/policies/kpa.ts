/**
 * Knative's pod autoscaler (serving's documentation and configuration `config-autoscaler`): concurrency over a stable
 * window of 60 s and a panic window of 6 s, a decision every 2 s. It panics when the panic window asks for twice what is
 * ready, and scales nothing down until 60 s after the last panic. It scales down by at most half a decision.
 */
import type { Autoscaler, EndpointSample, ScaleDecision } from "../contract.ts";
import { Recent } from "./recent.ts";

const TICK_MS = 2000;
const STABLE_MS = 60_000;
const PANIC_MS = 6000;
const PANIC_RATIO = 2;

export class KpaScaler implements Autoscaler {
  readonly name: string;
  readonly #target: number;
  readonly #stable = new Recent(STABLE_MS);
  readonly #panic = new Recent(PANIC_MS);
  #panicUntilMs = -1;
  #panicReplicas = 0;
  #nextMs = 0;
  #replicas = 1;

  constructor(target: number) {
    this.name = `kpa(${target})`;
    this.#target = target;
  }

  decide({ nowMs, ready, inFlight }: EndpointSample): ScaleDecision {
    this.#stable.add(nowMs, inFlight);
    this.#panic.add(nowMs, inFlight);
    if (nowMs >= this.#nextMs) {
      this.#nextMs = nowMs + TICK_MS;
      this.#replicas = this.#desired(nowMs, Math.max(1, ready));
    }
    return { replicas: this.#replicas, reason: `${inFlight} in flight, target ${this.#target} each` };
  }

  #desired(nowMs: number, ready: number): number {
    const stable = Math.max(Math.ceil(this.#stable.mean / this.#target), Math.floor(ready / 2));
    const panic = Math.ceil(this.#panic.mean / this.#target);
    if (panic >= PANIC_RATIO * ready) this.#panicUntilMs = nowMs + STABLE_MS;
    if (nowMs >= this.#panicUntilMs) {
      this.#panicReplicas = 0;
      return stable;
    }
    this.#panicReplicas = Math.max(this.#panicReplicas, panic, ready);
    return this.#panicReplicas;
  }
}
