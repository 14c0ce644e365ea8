import type { BatchedRequest, BatchingObserver, StepCosts } from "@headroom/perf";
import { createRouter, seededDraw } from "@headroom/routing";
import type { Chosen, PrefixBlocks, Router, RoutingRequest } from "@headroom/routing";
import { PrefixPages } from "./page-store.ts";
import { SimulatedReplica, replicaSpec } from "./replica.ts";
import type { Flight } from "./replica.ts";
import { RequestTimes } from "./request-times.ts";
import type { RequestTrace, ServingRequest } from "./request-trace.ts";
import { servingResult } from "./result.ts";
import type { ServingResult } from "./result.ts";
import type { ServingVariant } from "./variant.ts";

/** Interval in ms at which running requests report their output tokens to the router. */
const reportEveryMs = 1000;

/** Maximum number of replicas of one variant: the router's limit. */
export const replicasMax = 4096;

class PrefixView implements PrefixBlocks {
  hashes: Float64Array = new Float64Array(64);
  endTokens: Float64Array = new Float64Array(64);
  count = 0;

  fill(pages: readonly number[], pageTokens: number): void {
    if (pages.length > this.hashes.length) {
      this.hashes = new Float64Array(pages.length * 2);
      this.endTokens = new Float64Array(pages.length * 2);
    }
    this.count = pages.length;
    for (let index = 0; index < pages.length; index += 1) {
      this.hashes[index] = pages[index] ?? 0;
      this.endTokens[index] = (index + 1) * pageTokens;
    }
  }
}

function promptTokenMs({ tokensMs }: StepCosts): number {
  const last = tokensMs.length - 1;
  return (tokensMs[last] ?? 1) / Math.max(1, last);
}

/**
 * Runs a trace of requests under one serving configuration. The gateway's router routes each request when it arrives;
 * replicas run the performance model's batching kernel. Requests that arrive while no replica is ready wait in order.
 * The same trace and variant give the same times, bit for bit.
 */
export class ServingSimulation {
  readonly #trace: RequestTrace;
  readonly #variant: ServingVariant;
  readonly #replicas: SimulatedReplica[] = [];
  readonly #byId = new Map<string, SimulatedReplica>();
  readonly #router: Router;
  readonly #times: RequestTimes;
  readonly #store: PrefixPages | undefined;
  readonly #prefix = new PrefixView();
  readonly #readyMs: number;
  #next = 0;
  #reportAtMs = reportEveryMs;
  #endMs = 0;
  #refusedCount = 0;
  #heldCount = 0;
  /** The replica that is being simulated at the moment. */
  #advancing: SimulatedReplica | undefined;
  readonly #observer: BatchingObserver;

  /** Throws RangeError if the variant has no replica, or more than `replicasMax`. */
  constructor(trace: RequestTrace, variant: ServingVariant) {
    this.#trace = trace;
    this.#variant = variant;
    this.#times = new RequestTimes(trace.requests.length);
    this.#store = variant.store === undefined ? undefined : new PrefixPages(variant.store.pageCount);
    const count = variant.groups.reduce((sum, group) => sum + group.count, 0);
    if (!(count >= 1 && count <= replicasMax))
      throw new RangeError(`${count} replicas: from 1 to ${replicasMax} are possible`);
    this.#router = createRouter({ policy: variant.router, draw: seededDraw(variant.seed), maxReplicas: count });
    for (const group of variant.groups) {
      for (let index = 0; index < group.count; index += 1) this.#addReplica(`${group.name}-${index}`, group);
    }
    this.#readyMs = variant.start.kind === "warm" ? 0 : variant.start.coldStartMs;
    this.#observer = {
      started: (id, atMs) => {
        this.#times.startMs[id] = atMs;
      },
      firstToken: (id, atMs) => this.#firstToken(id, atMs),
      finished: (id, atMs) => this.#finished(id, atMs),
    };
  }

  /** Share of requests that have arrived. */
  get progress(): number {
    return this.#trace.requests.length === 0 ? 1 : this.#next / this.#trace.requests.length;
  }

  get times(): RequestTimes {
    return this.#times;
  }

  /**
   * Submits up to `count` further requests; the last call runs all requests to their end. Returns true when the
   * simulation is done.
   */
  advance(count: number): boolean {
    const until = Math.min(this.#trace.requests.length, this.#next + count);
    while (this.#next < until) {
      const id = this.#next;
      this.#next += 1;
      const request = this.#trace.requests[id];
      if (request !== undefined) this.#arrive(id, request);
    }
    if (this.#next < this.#trace.requests.length) return false;
    this.#advanceAll(Infinity);
    return true;
  }

  /** The result; valid after `advance` has returned true. */
  result(): ServingResult {
    return servingResult({
      trace: this.#trace,
      variant: this.#variant,
      times: this.#times,
      replicas: this.#replicas,
      store: this.#store,
      endMs: this.#endMs,
      refusedCount: this.#refusedCount,
      heldCount: this.#heldCount,
    });
  }

  #addReplica(id: string, group: ServingVariant["groups"][number]): void {
    const { isScheduledAhead, frontEndMs } = this.#variant;
    const replica = new SimulatedReplica(id, group, this.#trace.pageTokens, isScheduledAhead);
    this.#replicas.push(replica);
    this.#byId.set(id, replica);
    this.#router.addReplica(replicaSpec(id, group, frontEndMs));
  }

  #arrive(id: number, request: ServingRequest): void {
    // Requests wait until a replica is ready. Then they are routed in the order of arrival.
    const nowMs = Math.max(request.arrivalMs, this.#readyMs);
    if (request.arrivalMs < this.#readyMs) this.#heldCount += 1;
    this.#advanceAll(nowMs);
    const asked = this.#routingRequest(request);
    const decision = this.#router.choose(asked, nowMs);
    if (decision.kind === "unavailable") {
      this.#refusedCount += 1;
      return;
    }
    this.#send(id, request, { decision, asked, nowMs });
  }

  #send(
    id: number,
    request: ServingRequest,
    { decision, asked, nowMs }: { readonly decision: Chosen; readonly asked: RoutingRequest; readonly nowMs: number },
  ): void {
    const replica = this.#byId.get(decision.replicaId);
    if (replica === undefined)
      throw new RangeError(`the router chose replica ${decision.replicaId}, which does not exist`);
    const { batched, delayMs } = this.#batched(id, request, replica);
    if (replica.engine.kernel.refusal(batched) !== undefined) {
      this.#refusedCount += 1;
      return;
    }
    const ticket = this.#router.start(decision, asked, nowMs);
    const { outputTokens } = request;
    replica.flights.set(id, { id, ticket, outputTokens, firstTokenStep: -1, reportedTokens: 0 });
    replica.add(batched, nowMs + delayMs);
  }

  /** The request in the engine's form, and the delay between routing and submission. */
  #batched(
    id: number,
    request: ServingRequest,
    replica: SimulatedReplica,
  ): { readonly batched: BatchedRequest; readonly delayMs: number } {
    const { adapters, store } = this.#variant;
    const { pageTokens } = this.#trace;
    const loadMs = adapters === undefined || request.adapter === "" ? 0 : replica.load(request.adapter, adapters);
    const isBlocking = adapters?.isExclusive === true;
    // A load that blocks the replica is modelled as engine work: as many prompt tokens as the replica computes in that
    // time.
    const loadTokens = isBlocking ? Math.round(loadMs / promptTokenMs(replica.group.costs)) : 0;
    const found = this.#store?.look(request.pages) ?? 0;
    const stored = Math.min(found * pageTokens, request.promptTokens);
    const whole = pageTokens === 0 ? 0 : Math.floor(request.promptTokens / pageTokens);
    const batched = {
      id,
      promptTokens: request.promptTokens + loadTokens,
      outputTokens: request.outputTokens,
      priority: 0,
      pages: request.pages.length > whole ? request.pages.slice(0, whole) : request.pages,
      loadedTokens: Math.max(stored, request.cachedTokens),
    };
    return { batched, delayMs: (isBlocking ? 0 : loadMs) + found * (store?.pageLoadMs ?? 0) };
  }

  #routingRequest(request: ServingRequest): RoutingRequest {
    const { pages, adapter, promptTokens, slo = this.#variant.slo } = request;
    if (pages.length === 0 && adapter === "") return { promptTokens, slo };
    this.#prefix.fill(pages, this.#trace.pageTokens);
    return { promptTokens, slo, prefix: this.#prefix, ...(adapter === "" ? {} : { adapter }) };
  }

  #advanceAll(untilMs: number): void {
    while (this.#reportAtMs < untilMs && this.#replicas.some(({ isIdle }) => !isIdle)) {
      this.#advanceEach(this.#reportAtMs);
      this.#report(this.#reportAtMs);
      this.#reportAtMs += reportEveryMs;
    }
    if (this.#reportAtMs < untilMs && untilMs !== Infinity) {
      this.#reportAtMs = reportEveryMs * Math.ceil(untilMs / reportEveryMs);
    }
    this.#advanceEach(untilMs);
  }

  #advanceEach(untilMs: number): void {
    for (const replica of this.#replicas) {
      if (replica.nextMs >= untilMs) continue;
      this.#advancing = replica;
      replica.advanceTo(untilMs, this.#observer);
    }
  }

  /** Reports to the router the tokens generated since the last report. */
  #report(atMs: number): void {
    for (const replica of this.#replicas) {
      const { steps } = replica.engine.kernel.totals;
      for (const flight of replica.flights.values()) {
        if (flight.firstTokenStep < 0) continue;
        const generated = Math.min(flight.outputTokens, 1 + steps - flight.firstTokenStep);
        this.#tokens(flight, generated, atMs);
      }
    }
  }

  #tokens(flight: Flight, generated: number, atMs: number): void {
    if (generated <= flight.reportedTokens) return;
    this.#router.tokens(flight.ticket, generated - flight.reportedTokens, atMs);
    flight.reportedTokens = generated;
  }

  #firstToken(id: number, atMs: number): void {
    this.#times.firstTokenMs[id] = atMs + this.#variant.frontEndMs;
    const flight = this.#advancing?.flights.get(id);
    if (flight === undefined) return;
    flight.firstTokenStep = this.#advancing?.engine.kernel.totals.steps ?? 0;
    this.#router.firstToken(flight.ticket, atMs);
    this.#tokens(flight, 1, atMs);
  }

  #finished(id: number, atMs: number): void {
    this.#times.endMs[id] = atMs + this.#variant.frontEndMs;
    this.#endMs = Math.max(this.#endMs, atMs);
    const flight = this.#advancing?.flights.get(id);
    if (flight === undefined) return;
    this.#tokens(flight, flight.outputTokens, atMs);
    this.#router.end(flight.ticket, "completed", atMs);
    this.#advancing?.flights.delete(id);
  }
}
