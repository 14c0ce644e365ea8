/**
 * A planner with a throughput mode and a load mode, as the documentation of NVIDIA Dynamo's planner describes them: every
 * 60 s the traffic of the last interval divided by the capacity of a replica at its objectives is a lower bound; every
 * 5 s the prompt tokens that wait add a replica when the time to the first token that they cause is above the objective,
 * and one is removed when the rest would stay below half of it.
 */
import type { Autoscaler, EndpointSample, ScaleDecision } from "../contract.ts";
import type { Objectives, ReplicaCapacity } from "../capacity.ts";
import { Recent } from "./recent.ts";

const LOAD_MS = 5000;

export class PlannerScaler implements Autoscaler {
  readonly name: string;
  readonly #capacity: ReplicaCapacity;
  readonly #objectives: Objectives;
  readonly #intervalMs: number;
  readonly #arrivals: Recent;
  readonly #prompts: Recent;
  readonly #load = new Recent(LOAD_MS);
  #outputTokens = 200;
  #floor = 1;
  #replicas = 1;
  #nextThroughputMs: number;
  #nextLoadMs = LOAD_MS;

  constructor(capacity: ReplicaCapacity, objectives: Objectives, intervalMs = 60_000) {
    this.name = `planner(${intervalMs / 1000}s)`;
    this.#capacity = capacity;
    this.#objectives = objectives;
    this.#intervalMs = intervalMs;
    this.#arrivals = new Recent(intervalMs);
    this.#prompts = new Recent(intervalMs);
    this.#nextThroughputMs = intervalMs;
  }

  decide(sample: EndpointSample): ScaleDecision {
    const { nowMs, ready, starting } = sample;
    this.#arrivals.add(nowMs, sample.arrivals);
    this.#prompts.add(nowMs, sample.arrivedPromptTokens);
    this.#load.add(nowMs, sample.waitingPromptTokens);
    if (sample.ended > 0) this.#outputTokens += 0.1 * (sample.endedOutputTokens / sample.ended - this.#outputTokens);
    if (nowMs >= this.#nextThroughputMs) {
      this.#nextThroughputMs = nowMs + this.#intervalMs;
      this.#floor = Math.max(1, Math.ceil(this.#filled()));
      this.#replicas = Math.max(this.#replicas, this.#floor);
    }
    if (nowMs >= this.#nextLoadMs) {
      this.#nextLoadMs = nowMs + LOAD_MS;
      // A scaling that has not taken effect blocks the next one.
      if (starting === 0) this.#replicas = Math.max(this.#floor, this.#byLoad(Math.max(1, ready)));
    }
    return { replicas: this.#replicas, reason: `at least ${this.#floor} for the traffic of the last interval` };
  }

  #filled(): number {
    const requests = this.#arrivals.sum;
    if (requests === 0) return 0;
    const seconds = this.#intervalMs / 1000;
    return this.#capacity.replicasFilled({
      requestsPerS: requests / seconds,
      promptTokensPerS: this.#prompts.sum / seconds,
      promptTokens: this.#prompts.sum / requests,
      outputTokens: this.#outputTokens,
    });
  }

  #byLoad(ready: number): number {
    const promptTokens = this.#arrivals.sum > 0 ? this.#prompts.sum / this.#arrivals.sum : 0;
    const waitMs = this.#load.mean * this.#capacity.promptTokenMs(promptTokens);
    if (waitMs / ready > this.#objectives.ttftMs) return ready + 1;
    return ready > 1 && waitMs / (ready - 1) < this.#objectives.ttftMs / 2 ? ready - 1 : ready;
  }
}
