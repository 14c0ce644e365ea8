import type { Autoscaler, EndpointSample, ScaleDecision } from "../contract.ts";

/** Follows a plan that gives the number of ready replicas in each slot; starts are early by the cold start. */
export class ScheduledScaler implements Autoscaler {
  readonly name: string;
  readonly #plan: readonly number[];
  readonly #slotMs: number;

  constructor(name: string, plan: readonly number[], slotMs: number) {
    this.name = name;
    this.#plan = plan;
    this.#slotMs = slotMs;
  }

  decide({ nowMs, tickMs, coldStartMs }: EndpointSample): ScaleDecision {
    const from = Math.floor(nowMs / this.#slotMs);
    const to = Math.floor((nowMs + coldStartMs + tickMs) / this.#slotMs);
    const last = this.#plan.at(-1) ?? 1;
    let replicas = 0;
    for (let slot = from; slot <= to; slot += 1) replicas = Math.max(replicas, this.#plan[slot] ?? last);
    return { replicas, reason: `the plan has ${replicas} replicas until the end of a start` };
  }
}
