import type { Exposure } from "./calibration.ts";
import { ReplicaTable } from "./candidates.ts";
import type {
  CandidateReport,
  Chosen,
  Decision,
  LatencyCoefficients,
  MeasuredTimes,
  ReplicaHealth,
  ReplicaMetrics,
  ReplicaSpec,
  Router,
  RouterOptions,
  RoutingRequest,
  Ticket,
} from "./contract.ts";
import { predict, type Prediction } from "./latency-model.ts";
import { InFlight, ReplicaState, type MeanLengths } from "./replica-state.ts";
import { Selection } from "./selection.ts";
import { PrefixIndex } from "./prefix-index.ts";
import { settled, type Settings } from "./settings.ts";

/** Weight of one request in the running means of prompt and output lengths. */
const MEAN_WEIGHT = 0.02;
const INITIAL_OUTPUT_TOKENS = 200;
const INITIAL_PROMPT_TOKENS = 1000;

/** A router over replicas of one model, or of models that can replace one another. */
export function createRouter(options: RouterOptions): Router {
  return new PolicyRouter(settled(options));
}

class PolicyRouter implements Router {
  readonly #settings: Settings;
  readonly #replicas: ReplicaTable;
  readonly #prefixes: PrefixIndex;
  readonly #selection: Selection;
  readonly #mean: MeanLengths = { promptTokens: INITIAL_PROMPT_TOKENS, outputTokens: INITIAL_OUTPUT_TOKENS };
  readonly #exposure: Exposure = { steps: 0, sequenceSteps: 0, tokenSteps: 0, prefillTokens: 0, fixedMs: 0 };

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#replicas = new ReplicaTable(settings.maxReplicas);
    this.#prefixes = new PrefixIndex(settings.maxPrefixEntries, settings.maxReplicas);
    this.#selection = new Selection(settings, this.#replicas, this.#prefixes, this.#mean);
  }

  get replicaCount(): number {
    return this.#replicas.size;
  }

  addReplica(spec: ReplicaSpec): void {
    const known = this.#replicas.get(spec.id);
    const replica = known ?? new ReplicaState(spec, this.#replicas.freeSlot());
    replica.configure(spec);
    replica.zone = this.#replicas.nameId(spec.zone);
    replica.region = this.#replicas.nameId(spec.region);
    this.#prefixes.setCapacity(replica.slot, replica.kvCapacityTokens);
    if (known === undefined) this.#replicas.add(replica);
  }

  removeReplica(id: string): void {
    const replica = this.#replicas.get(id);
    if (replica === undefined) return;
    this.#prefixes.clear(replica.slot);
    this.#replicas.remove(replica);
  }

  setHealth(id: string, health: ReplicaHealth): void {
    const replica = this.#replicas.get(id);
    if (replica === undefined || replica.health === health) return;
    replica.health = health;
    replica.unsettle();
    this.#replicas.changed();
  }

  forgetCache(id: string): void {
    const replica = this.#replicas.get(id);
    if (replica === undefined) return;
    this.#prefixes.clear(replica.slot);
    replica.adapters.clear();
  }

  observe(id: string, metrics: ReplicaMetrics, nowMs: number): void {
    const replica = this.#replicas.get(id);
    if (replica === undefined) return;
    replica.advance(nowMs);
    const before = replica.kvCapacityTokens;
    replica.observe(metrics, this.#mean);
    if (replica.kvCapacityTokens !== before) this.#prefixes.setCapacity(replica.slot, replica.kvCapacityTokens);
  }

  observeRoundTrip(id: string, roundTripMs: number): void {
    if (roundTripMs >= 0) this.#replicas.get(id)?.observeRoundTrip(roundTripMs);
  }

  choose(request: RoutingRequest, nowMs: number): Decision {
    const candidates = this.#replicas.candidates(request);
    if (candidates.length === 0) return this.#replicas.unavailable(request);
    return this.#selection.choose(request, candidates, nowMs);
  }

  explain(request: RoutingRequest, nowMs: number): readonly CandidateReport[] {
    const candidates = this.#replicas.candidates(request);
    const prediction: Prediction = { ttftMs: 0, tpotMs: 0, queueMs: 0 };
    this.#selection.prepare(request);
    return candidates.map((replica) => {
      replica.advance(nowMs);
      predict(replica, this.#selection.demandOn(replica), prediction);
      return {
        replicaId: replica.id,
        runningRequests: replica.sequences,
        waitingRequests: replica.waiting,
        pendingPrefillTokens: replica.pendingPrefillTokens,
        residentTokens: replica.residentTokens,
        workMs: replica.workMs,
        cachedTokens: this.#selection.cachedTokens(replica),
        roundTripMs: this.#selection.roundTripMs(replica),
        hasAdapter: request.adapter === undefined || replica.adapters.has(request.adapter),
        predictedTtftMs: prediction.ttftMs,
        predictedTpotMs: prediction.tpotMs,
      };
    });
  }

  start(decision: Chosen, request: RoutingRequest, nowMs: number): Ticket {
    const slotted = this.#replicas.atSlot(decision.slot);
    const known = slotted?.id === decision.replicaId ? slotted : undefined;
    // If the replica left between `choose` and `start`, the request counts on no replica.
    const replica = known ?? new ReplicaState({ id: decision.replicaId }, decision.slot);
    replica.advance(nowMs);
    const uncachedTokens = Math.max(request.promptTokens - decision.cachedTokens, 1);
    const expectedOutputTokens = request.expectedOutputTokens ?? this.#mean.outputTokens;
    const { adapter } = request;
    const adapterMs = adapter === undefined || replica.adapters.has(adapter) ? 0 : this.#settings.adapterLoadMs;
    const fixedMs = decision.roundTripMs + adapterMs + replica.calibration.requestMs;
    const sizes = { promptTokens: request.promptTokens, uncachedTokens, expectedOutputTokens, fixedMs };
    const flight = new InFlight(replica, sizes, nowMs);
    replica.waiting += 1;
    replica.pendingPrefillTokens += uncachedTokens;
    replica.waitingPromptTokens += request.promptTokens;
    replica.outstandingOutputTokens += expectedOutputTokens;
    replica.assign(replica.requestWorkMs(uncachedTokens, expectedOutputTokens));
    if (adapter !== undefined) replica.touchAdapter(adapter);
    if (request.prefix !== undefined && known !== undefined) this.#prefixes.touch(replica.slot, request.prefix);
    return flight;
  }

  firstToken(ticket: Ticket, nowMs: number): void {
    if (!(ticket instanceof InFlight) || ticket.phase !== "waiting") return;
    const { replica } = ticket;
    replica.advance(nowMs);
    this.#measurePrefill(ticket, nowMs);
    ticket.phase = "decoding";
    leaveQueue(ticket);
    replica.sequences += 1;
    replica.residentTokens += ticket.promptTokens;
    replica.remainingOutputTokens += ticket.remaining();
    replica.prefilled(ticket.uncachedTokens);
    ticket.beginPhase(nowMs);
  }

  tokens(ticket: Ticket, count: number, nowMs: number): void {
    if (!(ticket instanceof InFlight) || ticket.phase === "ended" || !(count > 0)) return;
    if (ticket.phase === "waiting") this.firstToken(ticket, nowMs);
    const { replica } = ticket;
    replica.advance(nowMs);
    const before = ticket.remaining();
    ticket.outputTokens += count;
    const produced = before - ticket.remaining();
    replica.remainingOutputTokens -= produced;
    replica.outstandingOutputTokens -= produced;
    replica.residentTokens += count;
  }

  end(ticket: Ticket, outcome: "completed" | "cancelled" | "failed", nowMs: number): void {
    if (!(ticket instanceof InFlight) || ticket.phase === "ended") return;
    const { replica } = ticket;
    replica.advance(nowMs);
    replica.outstandingOutputTokens -= ticket.remaining();
    if (ticket.phase === "waiting") leaveQueue(ticket);
    else {
      if (outcome !== "failed") this.#measureDecode(ticket, nowMs);
      replica.sequences -= 1;
      replica.residentTokens -= ticket.promptTokens + ticket.outputTokens;
      replica.remainingOutputTokens -= ticket.remaining();
    }
    ticket.phase = "ended";
    if (outcome === "completed" && ticket.outputTokens > 0) this.#learnLengths(ticket);
  }

  measuredTimes(id: string): MeasuredTimes | undefined {
    return this.#replicas.get(id)?.measuredTimes(this.#mean);
  }

  coefficients(id: string): LatencyCoefficients | undefined {
    return this.#replicas.get(id)?.calibration.coefficients();
  }

  #measurePrefill(ticket: InFlight, nowMs: number): void {
    if (ticket.prefillSteps === 0) return;
    ticket.exposure(nowMs, ticket.prefillSteps, this.#exposure);
    this.#exposure.prefillTokens = ticket.prefillTokens;
    this.#exposure.fixedMs = ticket.fixedMs;
    ticket.replica.calibration.measure(nowMs - ticket.startedMs, this.#exposure);
  }

  #measureDecode(ticket: InFlight, nowMs: number): void {
    const steps = ticket.outputTokens - 1;
    if (steps < 1) return;
    ticket.exposure(nowMs, steps, this.#exposure);
    ticket.replica.calibration.measure(nowMs - ticket.phaseStartMs, this.#exposure);
    ticket.replica.rate(this.#mean);
  }

  #learnLengths(ticket: InFlight): void {
    const mean = this.#mean;
    mean.promptTokens += MEAN_WEIGHT * (ticket.promptTokens - mean.promptTokens);
    mean.outputTokens += MEAN_WEIGHT * (ticket.outputTokens - mean.outputTokens);
  }
}

function leaveQueue(ticket: InFlight): void {
  const { replica } = ticket;
  replica.waiting -= 1;
  replica.pendingPrefillTokens -= ticket.uncachedTokens;
  replica.waitingPromptTokens -= ticket.promptTokens;
}
