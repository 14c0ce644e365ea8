/**
 * `npm run bench mixed-fleet [-- --json]`: the cheapest fleet of unlike accelerators beside the cheapest one of a single
 * type, at five mixes of traffic and several rates (Llama-3-8B; both confirmed by simulations of requests). Prices per
 * accelerator-hour and lengths of requests are our own; the question is that of Mélange (Griggs et al., arXiv 2404.14527). `--prices L4=0.7,A100=3.67,H100=7.516`, `--rates 1,2,4`, `--attainment 99`.
 */
import { parseArgs } from "node:util";
import {
  buildReplica,
  currentEngine,
  findAccelerator,
  findModel,
  fittedInference,
  obstacles,
  replicaCosts,
  replicaLimits,
  servingFormats,
} from "@headroom/perf";
import { seededDraw } from "@headroom/routing";
import { ServingSimulation } from "@headroom/sim";
import type { ReplicaGroup, RequestTrace, ServingRequest } from "@headroom/sim";
import { ReplicaCapacity, type Traffic } from "../src/index.ts";
import { mixesByPrice, mixText, type ReplicaMix, type ReplicaOffer } from "../src/mixed/cheapest-mix.ts";

const { values: options } = parseArgs({
  options: {
    prices: { type: "string", default: "L4=0.7,A10G=1.01,A100=3.67,H100=7.516" },
    rates: { type: "string", default: "4,8,16" },
    attainment: { type: "string", default: "99" },
    seconds: { type: "string", default: "300" },
  },
});

interface Mix {
  readonly name: string;
  readonly requestsPerS: number;
  /** Shares of the classes with their mean lengths in tokens. */
  readonly classes: readonly { readonly share: number; readonly promptTokens: number; readonly outputTokens: number }[];
  readonly ttftMs: number;
  readonly tpotMs: number;
}

const short = { promptTokens: 300, outputTokens: 180 };
const usual = { promptTokens: 1100, outputTokens: 210 };
const long = { promptTokens: 4500, outputTokens: 280 };

/** Short requests with a share of long ones, within 120 ms a token; and conversations within 40 ms. */
const mixes: readonly Omit<Mix, "requestsPerS">[] = [
  ...[0.05, 0.1, 0.2, 0.35].map((share) => ({
    name: `${100 * share}% long`,
    classes: [
      { share: 1 - share, ...short },
      { share, ...long },
    ],
    ttftMs: 2000,
    tpotMs: 120,
  })),
  {
    name: "conversations, 10% long, 40 ms",
    classes: [
      { share: 0.9, ...usual },
      { share: 0.1, ...long },
    ],
    ttftMs: 2000,
    tpotMs: 40,
  },
];

/** Lengths vary by a factor of 0.5 to 1.5. */
function traceOfMix({ requestsPerS, classes }: Mix, seconds: number): RequestTrace {
  const draw = seededDraw(11);
  const uniform = (): number => (draw() + 1) / 4_294_967_297;
  const requests: ServingRequest[] = [];
  for (let atS = -Math.log(uniform()) / requestsPerS; atS < seconds; atS -= Math.log(uniform()) / requestsPerS) {
    let left = uniform();
    const chosen = classes.find(({ share }) => (left -= share) <= 0) ?? classes[0];
    if (chosen === undefined) continue;
    const spread = (mean: number): number => Math.max(1, Math.round(mean * (0.5 + uniform())));
    const lengths = { promptTokens: spread(chosen.promptTokens), outputTokens: spread(chosen.outputTokens) };
    requests.push({ arrivalMs: atS * 1000, ...lengths, pages: [], cachedTokens: 0, adapter: "" });
  }
  return { requests, pageTokens: 0 };
}

interface Type {
  readonly name: string;
  readonly price: number;
  readonly group: ReplicaGroup;
}

function typeOf(name: string, price: number, mix: Mix): Type | undefined {
  const model = findModel("llama-3-8b");
  const accelerator = findAccelerator(name);
  if (model === undefined || accelerator === undefined) throw new RangeError(`${name} is not in the catalogue`);
  const usualTokens = Math.round(
    mix.classes.reduce((sum, each) => sum + each.share * (each.promptTokens + each.outputTokens / 2), 0),
  );
  const formats = servingFormats("bf16", undefined);
  const layout = { tensor: 1, pipeline: 1, attentionData: 1, expert: 1 };
  for (let stepTokensMax = 4096; stepTokensMax >= 128; stepTokensMax /= 2) {
    const replica = {
      model,
      accelerator,
      formats,
      layout,
      engine: { ...currentEngine, stepTokensMax, sequencesMax: Math.min(256, stepTokensMax) },
    };
    if (obstacles(replica, { promptTokens: usualTokens, outputTokens: 1, prefixHitShare: 0 }).length > 0)
      return undefined;
    const built = buildReplica(replica);
    const costs = replicaCosts(built, fittedInference, usualTokens);
    if ((costs.tokensMs.at(-1) ?? 0) > mix.tpotMs && stepTokensMax > 128) continue;
    return {
      name,
      price,
      group: { name, count: 1, acceleratorsPerReplica: 1, costs, limits: replicaLimits(built, usualTokens), zone: "" },
    };
  }
  return undefined;
}

function attainment(trace: RequestTrace, types: readonly Type[], counts: readonly number[], mix: Mix): number {
  const simulation = new ServingSimulation(trace, {
    name: mix.name,
    groups: types.flatMap(({ group }, index) =>
      (counts[index] ?? 0) > 0 ? [{ ...group, count: counts[index] ?? 0 }] : [],
    ),
    router: "predicted-latency",
    seed: 1,
    start: { kind: "warm", coldStartMs: 0 },
    store: undefined,
    adapters: undefined,
    isScheduledAhead: true,
    frontEndMs: 5,
    slo: mix,
  });
  while (!simulation.advance(100_000));
  return 100 * simulation.result().slo_share;
}

const TRIES_MAX = 1500;
/** Mixes are tried from this part of the traffic: capacities are pessimistic, also for fleets of one type. */
const COVERED_LEAST = 0.4;

function offersOf(types: readonly Type[], mix: Mix): readonly ReplicaOffer[] {
  return types.map(({ name, price, group }) => ({
    name,
    pricePerHour: price,
    capacity: new ReplicaCapacity(group.costs, group.limits, mix),
    held: 0,
    max: 64,
  }));
}

const trafficOf = (mix: Mix): readonly Traffic[] =>
  mix.classes.map(({ share, promptTokens, outputTokens }) => {
    const requestsPerS = share * mix.requestsPerS;
    return { requestsPerS, promptTokensPerS: requestsPerS * promptTokens, promptTokens, outputTokens };
  });

/** The first mix in order of price that reaches the attainment in a simulation. */
function cheapest(
  trace: RequestTrace,
  types: readonly Type[],
  mix: Mix,
  wanted: number,
): { readonly mix: ReplicaMix; readonly reached: number } | undefined {
  const tried = mixesByPrice(offersOf(types, mix), trafficOf(mix), mix, COVERED_LEAST).slice(0, TRIES_MAX);
  for (const each of tried) {
    const reached = attainment(trace, types, each.counts, mix);
    if (reached >= wanted) return { mix: each, reached };
  }
  return undefined;
}

const wanted = Number(options.attainment);
function compare(mix: Mix): { readonly cheaperPct: number } {
  const trace = traceOfMix(mix, Number(options.seconds));
  const types = options.prices.split(",").flatMap((each) => {
    const [name = "", price = ""] = each.split("=");
    return typeOf(name, Number(price), mix) ?? [];
  });
  const alike = types
    .flatMap((type) => {
      const found = cheapest(trace, [type], mix, wanted);
      return found === undefined ? [] : [{ type, ...found }];
    })
    .toSorted((a, b) => a.mix.pricePerHour - b.mix.pricePerHour)[0];
  const found = cheapest(trace, types, mix, wanted);
  if (found === undefined || alike === undefined) throw new RangeError(`${mix.name}: no fleet reaches ${wanted}%`);
  const cheaperPct = 100 * (1 - Math.min(1, found.mix.pricePerHour / alike.mix.pricePerHour));
  process.stdout.write(
    `${JSON.stringify({
      mix: mix.name,
      requests_per_s: mix.requestsPerS,
      mixed: mixText(offersOf(types, mix), found.mix),
      mixed_per_hour: Number(found.mix.pricePerHour.toFixed(2)),
      mixed_attainment_pct: Number(found.reached.toFixed(2)),
      one_type: mixText(offersOf([alike.type], mix), alike.mix),
      one_type_per_hour: Number(alike.mix.pricePerHour.toFixed(2)),
      one_type_attainment_pct: Number(alike.reached.toFixed(2)),
      cheaper_pct: Number(cheaperPct.toFixed(1)),
    })}\n`,
  );
  return { cheaperPct };
}

const rates = options.rates.split(",").map(Number);
for (const mix of mixes) {
  const found = rates.map((requestsPerS) => compare({ ...mix, requestsPerS }));
  const mean = found.reduce((sum, { cheaperPct }) => sum + cheaperPct, 0) / found.length;
  const most = Math.max(...found.map(({ cheaperPct }) => cheaperPct));
  process.stdout.write(
    `${JSON.stringify({ mean_of: mix.name, cheaper_pct: Number(mean.toFixed(1)), most_cheaper_pct: Number(most.toFixed(1)) })}\n`,
  );
}
