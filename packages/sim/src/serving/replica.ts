import { TimedEngine } from "@headroom/perf";
import type { BatchedRequest, BatchingObserver, StepCosts } from "@headroom/perf";
import type { LatencyCoefficients, ReplicaSpec, Ticket } from "@headroom/routing";
import type { AdapterLoading, ReplicaGroup } from "./variant.ts";

/** Batch size at which the time that one more sequence adds to a step is computed. */
const usualBatch = 64;

/** The coefficients of the step time, in the router's form. */
function latencyCoefficients(costs: StepCosts, requestMs: number): LatencyCoefficients {
  const { tokensMs } = costs;
  const last = tokensMs.length - 1;
  const batch = Math.min(usualBatch, last);
  const one = tokensMs[1] ?? 0;
  const perSequence = batch > 1 ? ((tokensMs[batch] ?? one) - one) / (batch - 1) : 0;
  return {
    stepMs: Math.max(0, one - perSequence),
    stepMsPerSequence: perSequence + costs.sampledMs,
    stepMsPerKvToken: costs.contextMs,
    prefillMsPerToken: last > 1 ? ((tokensMs[last] ?? one) - one) / (last - 1) : one,
    prefillMsPerTokenSquared: costs.pairMs,
    requestMs,
  };
}

export function replicaSpec(id: string, group: ReplicaGroup, requestMs: number): ReplicaSpec {
  const { limits, zone } = group;
  return {
    id,
    ...(zone === "" ? {} : { zone }),
    latency: latencyCoefficients(group.costs, requestMs),
    limits: {
      maxSequences: limits.sequencesMax,
      maxBatchedTokens: limits.stepTokensMax,
      kvCapacityTokens: limits.blockCount * limits.blockTokens,
    },
  };
}

/** A request on a replica, and the number of its tokens that the router knows of. */
export interface Flight {
  readonly id: number;
  readonly ticket: Ticket;
  readonly outputTokens: number;
  /** Number of the engine step that gives the first token; -1 before. A sequence decodes one token in a step. */
  firstTokenStep: number;
  reportedTokens: number;
}

/** A replica: an engine with a clock, the models that it has loaded, and its requests. */
export class SimulatedReplica {
  readonly id: string;
  readonly group: ReplicaGroup;
  readonly engine: TimedEngine;
  readonly flights: Map<number, Flight> = new Map();
  readonly #adapters = new Set<string>();
  /** Requests that wait for their model to load, ordered by the end of the load. */
  readonly #loading: { readonly atMs: number; readonly request: BatchedRequest }[] = [];
  adapterLoads: number = 0;

  constructor(id: string, group: ReplicaGroup, pageTokens: number, isScheduledAhead: boolean) {
    this.id = id;
    this.group = group;
    const { limits, costs } = group;
    const usable = pageTokens > 0 && pageTokens % limits.blockTokens === 0 ? pageTokens : limits.blockTokens;
    this.engine = new TimedEngine({ limits, costs, isScheduledAhead, pageTokens: usable });
  }

  get isIdle(): boolean {
    return this.engine.isIdle && this.#loading.length === 0;
  }

  /** Time of the next event in ms; infinite if the replica has no request. */
  get nextMs(): number {
    return Math.min(this.engine.nextMs, this.#loading[0]?.atMs ?? Infinity);
  }

  /** Submits a request to the engine at `atMs`; the replica need not have been advanced to that time. */
  add(request: BatchedRequest, atMs: number): void {
    const later = this.#loading.findIndex((one) => one.atMs > atMs);
    this.#loading.splice(later === -1 ? this.#loading.length : later, 0, { atMs, request });
  }

  /** Simulates all events of the replica before `untilMs`. */
  advanceTo(untilMs: number, observer: BatchingObserver): void {
    for (let next = this.#loading[0]; next !== undefined && next.atMs < untilMs; next = this.#loading[0]) {
      this.#loading.shift();
      this.engine.advanceTo(next.atMs, observer);
      this.engine.add(next.request, next.atMs);
    }
    this.engine.advanceTo(untilMs, observer);
  }

  /** Time in ms to load the model that the request needs; 0 if the model is loaded. */
  load(adapter: string, loading: AdapterLoading): number {
    const isHeld = this.#adapters.delete(adapter);
    this.#adapters.add(adapter);
    if (isHeld) return 0;
    for (const oldest of this.#adapters) {
      if (this.#adapters.size <= loading.slots) break;
      this.#adapters.delete(oldest);
    }
    this.adapterLoads += 1;
    return loading.loadMs;
  }
}
