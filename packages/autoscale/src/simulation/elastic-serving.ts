/**
 * Runs a trace of requests on an endpoint whose replicas come and go: a policy is asked in each tick how many there
 * should be. A replica takes its cold start before it serves; a replica that leaves takes no more requests and ends with
 * its last one. Accelerators are held from the beginning of a start to the end of a drain.
 *
 * The batching kernel and the router are those of `headroom simulate --serving` and of the gateway.
 */
import type { BatchingObserver } from "@headroom/perf";
import { createRouter, seededDraw } from "@headroom/routing";
import type { Router, RoutingPolicy } from "@headroom/routing";
import { RequestTimes, replicaSpec, SimulatedReplica } from "@headroom/sim";
import type { ReplicaGroup, RequestTrace, ServingRequest, ServingSlo } from "@headroom/sim";
import type { Autoscaler, EndpointSample, ReplicaBounds } from "../contract.ts";
import { bounded } from "../contract.ts";
import { MinuteLatencies } from "./minute-latencies.ts";
import { scaledResult } from "./scaled-result.ts";
import type { ScaledResult } from "./scaled-result.ts";

export interface ElasticSetting {
  readonly group: ReplicaGroup;
  readonly slo: ServingSlo;
  readonly bounds: ReplicaBounds;
  readonly initialReplicas: number;
  readonly coldStartMs: number;
  readonly tickMs: number;
  readonly frontEndMs: number;
  readonly router: RoutingPolicy;
}

interface Member {
  readonly replica: SimulatedReplica;
  /** Time at which its accelerators were taken; at which it serves; at which they were given back. */
  readonly fromMs: number;
  readonly readyMs: number;
  state: "starting" | "ready" | "draining";
}

/** Time in ms after the last arrival at which requests that still wait count as missed: the policy starts no replica. */
const PATIENCE_MS = 3_600_000;
/** Interval in ms of the moments at which running requests report their tokens to the router. */
const REPORT_MS = 1000;

const emptyTick = (): TickCounts => ({
  arrivals: 0,
  arrivedPromptTokens: 0,
  ended: 0,
  endedOutputTokens: 0,
  met: 0,
  missed: 0,
  firstTokens: 0,
  ttftSumMs: 0,
});

interface TickCounts {
  arrivals: number;
  arrivedPromptTokens: number;
  ended: number;
  endedOutputTokens: number;
  met: number;
  missed: number;
  firstTokens: number;
  ttftSumMs: number;
}

export class ElasticServing {
  readonly #trace: RequestTrace;
  readonly #setting: ElasticSetting;
  readonly #scaler: Autoscaler;
  readonly #router: Router;
  readonly #times: RequestTimes;
  readonly #members: Member[] = [];
  readonly #byId = new Map<string, Member>();
  /** Requests that arrived while no replica was ready. */
  #held: number[] = [];
  readonly #observer: BatchingObserver;
  #tick: TickCounts = emptyTick();
  #nextTickMs = 0;
  #nextRequest = 0;
  #nextReportMs = REPORT_MS;
  #serial = 0;
  #nowMs = 0;
  #endMs = 0;
  #inFlight = 0;
  #waiting = 0;
  #waitingPromptTokens = 0;
  #refused = 0;
  #missed = 0;
  #heldAcceleratorMs = 0;
  #advancing: Member | undefined;
  readonly #latencies = new MinuteLatencies();
  readonly #replicasOverTime: { readonly atMs: number; readonly replicas: number }[] = [];

  constructor(trace: RequestTrace, setting: ElasticSetting, scaler: Autoscaler) {
    this.#trace = trace;
    this.#setting = setting;
    this.#scaler = scaler;
    this.#times = new RequestTimes(trace.requests.length);
    this.#router = createRouter({
      policy: setting.router,
      draw: seededDraw(1),
      maxReplicas: Math.min(4096, 2 * setting.bounds.max + 16),
    });
    this.#observer = {
      started: (id, atMs) => {
        this.#times.startMs[id] = atMs;
      },
      firstToken: (id, atMs) => this.#firstToken(id, atMs),
      finished: (id, atMs) => this.#finished(id, atMs),
    };
    for (let index = 0; index < setting.initialReplicas; index += 1) this.#start(0, 0);
    for (const member of this.#members) this.#becomeReady(member);
    this.#replicasOverTime.push({ atMs: 0, replicas: setting.initialReplicas });
  }

  /** Runs the trace to its end. */
  run(): ScaledResult {
    this.#runUntil(Infinity);
    return this.#result();
  }

  /** Runs the trace until more than `missedMax` requests missed their objectives; then there is no result. */
  runWithin(missedMax: number): ScaledResult | undefined {
    return this.#runUntil(missedMax) ? this.#result() : undefined;
  }

  /** False: more requests missed their objectives. */
  #runUntil(missedMax: number): boolean {
    const lastMs = (this.#trace.requests.at(-1)?.arrivalMs ?? 0) + PATIENCE_MS;
    for (;;) {
      const arrivalMs = this.#trace.requests[this.#nextRequest]?.arrivalMs ?? Infinity;
      const isOver = arrivalMs === Infinity && (this.#inFlight === 0 || this.#nowMs > lastMs);
      if (isOver) return true;
      if (this.#missed > missedMax) return false;
      const atMs = Math.min(arrivalMs, this.#nextTickMs, this.#nextReadyMs());
      this.#advanceTo(atMs);
      for (const member of this.#members) {
        if (member.state === "starting" && member.readyMs <= atMs) this.#becomeReady(member);
      }
      if (atMs === this.#nextTickMs) this.#decide(atMs);
      else if (atMs === arrivalMs) this.#arrive();
    }
  }

  #result(): ScaledResult {
    for (const member of this.#members) this.#heldAcceleratorMs += Math.max(0, this.#endMs - member.fromMs);
    return scaledResult({
      policy: this.#scaler.name,
      trace: this.#trace,
      times: this.#times,
      slo: this.#setting.slo,
      acceleratorMs: this.#heldAcceleratorMs * this.#setting.group.acceleratorsPerReplica,
      refused: this.#refused,
      endMs: this.#endMs,
      replicasOverTime: this.#replicasOverTime,
    });
  }

  #nextReadyMs(): number {
    let least = Infinity;
    for (const { state, readyMs } of this.#members) if (state === "starting" && readyMs < least) least = readyMs;
    return least;
  }

  #advanceTo(untilMs: number): void {
    while (this.#nextReportMs < untilMs) {
      this.#advanceEach(this.#nextReportMs);
      this.#report(this.#nextReportMs);
      this.#nextReportMs += REPORT_MS;
    }
    this.#advanceEach(untilMs);
    this.#nowMs = untilMs;
  }

  #advanceEach(untilMs: number): void {
    for (let index = this.#members.length - 1; index >= 0; index -= 1) {
      const member = this.#members[index];
      if (member === undefined) continue;
      if (member.replica.nextMs < untilMs) {
        this.#advancing = member;
        member.replica.advanceTo(untilMs, this.#observer);
      }
      if (member.state === "draining" && member.replica.flights.size === 0) this.#release(member, untilMs);
    }
  }

  #report(atMs: number): void {
    for (const { replica } of this.#members) {
      const { steps } = replica.engine.kernel.totals;
      for (const flight of replica.flights.values()) {
        if (flight.firstTokenStep < 0) continue;
        const generated = Math.min(flight.outputTokens, 1 + steps - flight.firstTokenStep);
        if (generated > flight.reportedTokens) {
          this.#router.tokens(flight.ticket, generated - flight.reportedTokens, atMs);
          flight.reportedTokens = generated;
        }
      }
    }
  }

  #arrive(): void {
    const id = this.#nextRequest;
    this.#nextRequest += 1;
    const request = this.#trace.requests[id];
    if (request === undefined) return;
    this.#tick.arrivals += 1;
    this.#tick.arrivedPromptTokens += request.promptTokens;
    this.#inFlight += 1;
    this.#waiting += 1;
    this.#waitingPromptTokens += request.promptTokens;
    if (!this.#send(id, request)) this.#held.push(id);
  }

  /** False: no replica is ready. */
  #send(id: number, request: ServingRequest): boolean {
    const asked = { promptTokens: request.promptTokens, slo: this.#setting.slo };
    const decision = this.#router.choose(asked, this.#nowMs);
    if (decision.kind === "unavailable") return false;
    const member = this.#byId.get(decision.replicaId);
    if (member === undefined) throw new RangeError(`the router chose ${decision.replicaId}, which does not exist`);
    const { promptTokens, outputTokens } = request;
    const batched = { id, promptTokens, outputTokens, priority: 0, pages: request.pages, loadedTokens: 0 };
    if (member.replica.engine.kernel.refusal(batched) !== undefined) {
      this.#refused += 1;
      this.#missed += 1;
      this.#tick.missed += 1;
      this.#inFlight -= 1;
      this.#waiting -= 1;
      this.#waitingPromptTokens -= promptTokens;
      return true;
    }
    const ticket = this.#router.start(decision, asked, this.#nowMs);
    member.replica.flights.set(id, { id, ticket, outputTokens, firstTokenStep: -1, reportedTokens: 0 });
    member.replica.add(batched, this.#nowMs);
    return true;
  }

  #firstToken(id: number, atMs: number): void {
    const request = this.#trace.requests[id];
    const flight = this.#advancing?.replica.flights.get(id);
    if (request === undefined || flight === undefined) return;
    this.#times.firstTokenMs[id] = atMs + this.#setting.frontEndMs;
    this.#waiting -= 1;
    this.#waitingPromptTokens -= request.promptTokens;
    this.#tick.firstTokens += 1;
    this.#tick.ttftSumMs += atMs + this.#setting.frontEndMs - request.arrivalMs;
    flight.firstTokenStep = this.#advancing?.replica.engine.kernel.totals.steps ?? 0;
    this.#router.firstToken(flight.ticket, atMs);
  }

  #finished(id: number, atMs: number): void {
    const request = this.#trace.requests[id];
    const flight = this.#advancing?.replica.flights.get(id);
    if (request === undefined || flight === undefined) return;
    const endMs = atMs + this.#setting.frontEndMs;
    this.#times.endMs[id] = endMs;
    this.#endMs = Math.max(this.#endMs, endMs);
    this.#inFlight -= 1;
    this.#tick.ended += 1;
    this.#tick.endedOutputTokens += request.outputTokens;
    const firstMs = this.#times.firstTokenMs[id] ?? endMs;
    const { ttftMs, tpotMs } = this.#setting.slo;
    const isMet =
      firstMs - request.arrivalMs <= ttftMs && endMs - firstMs <= tpotMs * Math.max(0, request.outputTokens - 1);
    if (isMet) this.#tick.met += 1;
    else {
      this.#tick.missed += 1;
      this.#missed += 1;
    }
    this.#latencies.add({
      endedAtMs: endMs,
      ttftMs: firstMs - request.arrivalMs,
      tpotMs: (endMs - firstMs) / Math.max(1, request.outputTokens - 1),
      promptTokens: request.promptTokens,
    });
    this.#router.end(flight.ticket, "completed", atMs);
    this.#advancing?.replica.flights.delete(id);
  }

  #decide(nowMs: number): void {
    const { tickMs, bounds, coldStartMs } = this.#setting;
    const count = (state: Member["state"]): number => this.#members.filter((member) => member.state === state).length;
    const { firstTokens, ttftSumMs, ...counts } = this.#tick;
    const sample: EndpointSample = {
      nowMs,
      tickMs,
      ready: count("ready"),
      starting: count("starting"),
      ...counts,
      inFlight: this.#inFlight,
      waiting: this.#waiting,
      waitingPromptTokens: this.#waitingPromptTokens,
      latencies: () => this.#latencies.quantiles(nowMs),
      ttftMs: firstTokens > 0 ? ttftSumMs / firstTokens : Number.NaN,
      coldStartMs,
    };
    this.#tick = emptyTick();
    this.#nextTickMs = nowMs + tickMs;
    this.#scaleTo(bounded(this.#scaler.decide(sample).replicas, bounds), nowMs);
  }

  #scaleTo(wanted: number, nowMs: number): void {
    const active = this.#members.filter(({ state }) => state !== "draining");
    for (let count = active.length; count < wanted; count += 1) this.#start(nowMs, this.#setting.coldStartMs);
    if (active.length > wanted) {
      // First those that have not started, the latest first; then those with the fewest requests.
      const leaving = active.toSorted(
        (a, b) =>
          Number(b.state === "starting") - Number(a.state === "starting") ||
          (a.state === "starting" ? b.readyMs - a.readyMs : a.replica.flights.size - b.replica.flights.size),
      );
      for (const member of leaving.slice(0, active.length - wanted)) this.#leave(member, nowMs);
    }
    if (active.length !== wanted) this.#replicasOverTime.push({ atMs: nowMs, replicas: wanted });
  }

  #start(nowMs: number, coldStartMs: number): void {
    const { group } = this.#setting;
    const replica = new SimulatedReplica(`${group.name}-${this.#serial}`, group, this.#trace.pageTokens, true);
    this.#serial += 1;
    this.#members.push({ replica, fromMs: nowMs, readyMs: nowMs + coldStartMs, state: "starting" });
  }

  #becomeReady(member: Member): void {
    member.state = "ready";
    const { replica } = member;
    this.#byId.set(replica.id, member);
    this.#router.addReplica(replicaSpec(replica.id, replica.group, this.#setting.frontEndMs));
    const held = this.#held;
    this.#held = [];
    for (const id of held) {
      const request = this.#trace.requests[id];
      if (request !== undefined && !this.#send(id, request)) this.#held.push(id);
    }
  }

  #leave(member: Member, nowMs: number): void {
    if (member.state === "ready") this.#router.removeReplica(member.replica.id);
    member.state = "draining";
    if (member.replica.flights.size === 0) this.#release(member, nowMs);
  }

  #release(member: Member, nowMs: number): void {
    this.#heldAcceleratorMs += nowMs - member.fromMs;
    this.#members.splice(this.#members.indexOf(member), 1);
    this.#byId.delete(member.replica.id);
  }
}
