/**
 * The cheapest fleet for given traffic, of unlike accelerators and of a single type. Fleets are tried in the order of their prices, each
 * with a simulation of its requests, until one reaches the attainment.
 */
import {
  buildReplica,
  currentEngine,
  fittedInference,
  obstacles,
  replicaCosts,
  replicaLimits,
  servingFormats,
  type Accelerator,
  type ModelArchitecture,
} from "@headroom/perf";
import { seededDraw } from "@headroom/routing";
import { ServingSimulation } from "@headroom/sim";
import type { ReplicaGroup, RequestTrace, ServingRequest } from "@headroom/sim";
import { ReplicaCapacity, type Objectives } from "../capacity.ts";
import { mixesByPrice, mixText, type ReplicaMix, type ReplicaOffer } from "./cheapest-mix.ts";

/** Requests of one kind: their rate, and mean lengths in tokens. */
export interface RequestClass {
  readonly requestsPerS: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Their own objectives (a gateway reads them from headers of a request); without them the question's count. */
  readonly objectives?: Objectives;
}

/** Accelerators that can be had, at a price in money of one for an hour. */
export interface AcceleratorOffer {
  readonly accelerator: Accelerator;
  readonly pricePerHour: number;
}

export interface FleetQuestion {
  readonly model: ModelArchitecture;
  readonly offers: readonly AcceleratorOffer[];
  readonly classes: readonly RequestClass[];
  readonly objectives: Objectives;
  /** Share of the requests within the objectives, in percent. */
  readonly attainmentPct: number;
  /** Simulated time. */
  readonly seconds: number;
}

export interface ChosenFleet {
  /** `2 x L4 + 1 x A100`. */
  readonly text: string;
  readonly replicas: readonly { readonly accelerator: string; readonly count: number }[];
  readonly pricePerHour: number;
  readonly attainmentPct: number;
}

export interface FleetChoice {
  /** `null`: no fleet that was tried reaches the attainment. */
  readonly fleet: ChosenFleet | null;
  readonly oneType: ChosenFleet | null;
  /** The cheapest fleet of each type that reaches the attainment alone, by price. */
  readonly alike: readonly ChosenFleet[];
  /** Accelerators that do not hold the model, or whose steps exceed the objective for the time per token. */
  readonly unfit: readonly string[];
}

const TRIES_MAX = 1500;
/** Fleets are tried from this part of the traffic: capacities are pessimistic, also for fleets of one type. */
const COVERED_LEAST = 0.4;
const REPLICAS_MAX = 64;
const STEP_TOKENS_LEAST = 128;

export function chooseFleet(question: FleetQuestion): FleetChoice {
  const trace = traceOfClasses(question);
  const types = question.offers.flatMap((offer) => typeOf(offer, question) ?? []);
  const alike = types
    .flatMap((type) => cheapest(trace, [type], question) ?? [])
    .toSorted((a, b) => a.pricePerHour - b.pricePerHour);
  const fit = new Set(types.map(({ offer }) => offer.accelerator.name));
  return {
    fleet: cheapest(trace, types, question) ?? null,
    oneType: alike[0] ?? null,
    alike,
    unfit: question.offers.flatMap(({ accelerator: { name } }) => (fit.has(name) ? [] : [name])),
  };
}

/** Random arrivals; lengths vary by a factor of 0.5 to 1.5. */
function traceOfClasses({ classes, seconds, objectives }: FleetQuestion): RequestTrace {
  const draw = seededDraw(11);
  const uniform = (): number => (draw() + 1) / 4_294_967_297;
  const rate = classes.reduce((sum, { requestsPerS }) => sum + requestsPerS, 0);
  const requests: ServingRequest[] = [];
  for (let atS = -Math.log(uniform()) / rate; atS < seconds; atS -= Math.log(uniform()) / rate) {
    let left = uniform();
    const chosen = classes.find(({ requestsPerS }) => (left -= requestsPerS / rate) <= 0) ?? classes[0];
    if (chosen === undefined) continue;
    const spread = (mean: number): number => Math.max(1, Math.round(mean * (0.5 + uniform())));
    const lengths = { promptTokens: spread(chosen.promptTokens), outputTokens: spread(chosen.outputTokens) };
    const slo = chosen.objectives ?? objectives;
    requests.push({ arrivalMs: atS * 1000, ...lengths, pages: [], cachedTokens: 0, adapter: "", slo });
  }
  return { requests, pageTokens: 0 };
}

interface FleetType {
  readonly offer: AcceleratorOffer;
  readonly group: ReplicaGroup;
  /** Whether its steps stay within an objective for the time per token. */
  readonly isWithin: boolean;
}

/**
 * A replica on one accelerator, with steps of as many tokens as the objectives for the time per token allow: the
 * strictest one of the classes whose tokens the accelerator generates in time at all.
 */
function typeOf(offer: AcceleratorOffer, question: FleetQuestion): FleetType | undefined {
  const tpots = question.classes
    .map((each) => (each.objectives ?? question.objectives).tpotMs)
    .toSorted((a, b) => a - b);
  const found = [...new Set(tpots)].map((tpotMs) => typeWithin(offer, question, tpotMs));
  return found.find((type) => type?.isWithin) ?? found.at(-1);
}

function typeWithin(offer: AcceleratorOffer, { model, classes }: FleetQuestion, tpotMs: number): FleetType | undefined {
  const { accelerator } = offer;
  const rate = classes.reduce((sum, { requestsPerS }) => sum + requestsPerS, 0);
  const usual = Math.round(
    classes.reduce((sum, each) => sum + (each.requestsPerS / rate) * (each.promptTokens + each.outputTokens / 2), 0),
  );
  const formats = servingFormats("bf16", undefined);
  const layout = { tensor: 1, pipeline: 1, attentionData: 1, expert: 1 };
  for (let stepTokensMax = 4096; stepTokensMax >= STEP_TOKENS_LEAST; stepTokensMax /= 2) {
    const engine = { ...currentEngine, stepTokensMax, sequencesMax: Math.min(256, stepTokensMax) };
    const replica = { model, accelerator, formats, layout, engine };
    if (obstacles(replica, { promptTokens: usual, outputTokens: 1, prefixHitShare: 0 }).length > 0) return undefined;
    const built = buildReplica(replica);
    const costs = replicaCosts(built, fittedInference, usual);
    const isWithin = (costs.tokensMs.at(-1) ?? 0) <= tpotMs;
    if (!isWithin && stepTokensMax > STEP_TOKENS_LEAST) continue;
    const limits = replicaLimits(built, usual);
    const group = { name: accelerator.name, count: 1, acceleratorsPerReplica: 1, costs, limits, zone: "" };
    return { offer, group, isWithin };
  }
  return undefined;
}

/** The first fleet in the order of prices that reaches the attainment in a simulation. */
function cheapest(trace: RequestTrace, types: readonly FleetType[], question: FleetQuestion): ChosenFleet | undefined {
  const offers: readonly ReplicaOffer[] = types.map(({ offer, group }) => ({
    name: group.name,
    pricePerHour: offer.pricePerHour,
    capacityFor: (objectives) => new ReplicaCapacity(group.costs, group.limits, objectives),
    held: 0,
    max: REPLICAS_MAX,
  }));
  const traffic = question.classes.map((each) => ({
    ...each,
    objectives: each.objectives ?? question.objectives,
    promptTokensPerS: each.requestsPerS * each.promptTokens,
  }));
  const shortFirst = traffic.toSorted((a, b) => a.promptTokens - b.promptTokens);
  for (const mix of mixesByPrice(offers, shortFirst, COVERED_LEAST).slice(0, TRIES_MAX)) {
    const reached = attainment(trace, types, { mix, question });
    if (reached < question.attainmentPct) continue;
    return {
      text: mixText(offers, mix),
      replicas: types.flatMap(({ group: { name } }, index) => {
        const count = mix.counts[index] ?? 0;
        return count > 0 ? [{ accelerator: name, count }] : [];
      }),
      pricePerHour: mix.pricePerHour,
      attainmentPct: reached,
    };
  }
  return undefined;
}

function attainment(
  trace: RequestTrace,
  types: readonly FleetType[],
  { mix, question }: { readonly mix: ReplicaMix; readonly question: FleetQuestion },
): number {
  const simulation = new ServingSimulation(trace, {
    name: "fleet",
    groups: types.flatMap(({ group }, index) => {
      const count = mix.counts[index] ?? 0;
      return count > 0 ? [{ ...group, count }] : [];
    }),
    router: "predicted-latency",
    seed: 1,
    start: { kind: "warm", coldStartMs: 0 },
    store: undefined,
    adapters: undefined,
    isScheduledAhead: true,
    frontEndMs: 5,
    slo: question.objectives,
  });
  while (!simulation.advance(100_000));
  return 100 * simulation.result().slo_share;
}
