/**
 * `npm run bench one-simulation [-- --json]`: a week of training and endpoints on one fleet in one loop. `--accelerators
 * 1000 --endpoints 20 --rate 20 --hours 168 --load 0.9 --seed 1`. `--rate`: requests per second of all endpoints
 * together. The last records compare the queue of work with a simulation of requests, for `--compared 8` endpoints one by one, each with
 * the traffic `--compared-rate 4 --compared-hours 24` on a fleet of its own, and for all of them together.
 */
import { parseArgs } from "node:util";
import { defaultPolicy } from "@headroom/model";
import {
  buildReplica,
  currentEngine,
  findAccelerator,
  findModel,
  fittedInference,
  replicaCosts,
  replicaLimits,
  servingFormats,
} from "@headroom/perf";
import { generateTrace, topologyFreePool, usualDurations, usualGangs } from "@headroom/sim";
import type { ReplicaGroup, RequestTrace } from "@headroom/sim";
import { ElasticServing, PredictiveScaler, ReplicaCapacity, SharedFleetSimulation, tickTraffic } from "../src/index.ts";
import type { SharedEndpoint } from "../src/index.ts";
import { generatedTraffic } from "./generated-traffic.ts";

const { values: options } = parseArgs({
  options: {
    accelerators: { type: "string", default: "1000" },
    endpoints: { type: "string", default: "20" },
    rate: { type: "string", default: "20" },
    hours: { type: "string", default: "168" },
    load: { type: "string", default: "0.9" },
    seed: { type: "string", default: "1" },
    json: { type: "boolean" },
    compared: { type: "string", default: "8" },
    "compared-rate": { type: "string", default: "4" },
    "compared-hours": { type: "string", default: "24" },
  },
});
const [accelerators, count, rate] = [Number(options.accelerators), Number(options.endpoints), Number(options.rate)];
const [hours, load, seed] = [Number(options.hours), Number(options.load), Number(options.seed)];
const slo = { ttftMs: 2000, tpotMs: 100 };
const coldStartMs = 60_000;
const bounds = { min: 1, max: 32 };

function replicaGroup(): ReplicaGroup {
  const model = findModel("llama-3.1-70b");
  const accelerator = findAccelerator("H100");
  if (model === undefined || accelerator === undefined)
    throw new RangeError("the catalogue lacks llama-3.1-70b or H100");
  const layout = { tensor: 4, pipeline: 1, attentionData: 1, expert: 1 };
  const engine = { ...currentEngine, stepTokensMax: 1024, sequencesMax: 1024 };
  const built = buildReplica({ model, accelerator, formats: servingFormats("bf16", undefined), layout, engine });
  const costs = replicaCosts(built, fittedInference, 1200);
  return { name: "H100", count: 1, acceleratorsPerReplica: 4, costs, limits: replicaLimits(built, 1200), zone: "" };
}

/** Mean requests per second of `week` in `generated-traffic.ts`. */
const WEEK_RATE_MEAN = 6.0;

function trafficOf(index: number, trafficHours: number): RequestTrace {
  const pattern = index % 2 === 0 ? "week" : "bursty-week";
  const all = generatedTraffic(pattern, seed + index, trafficHours, rate / count / WEEK_RATE_MEAN);
  if (all === undefined) throw new RangeError("no such pattern");
  return all;
}

const group = replicaGroup();
const endpoints: readonly SharedEndpoint[] = Array.from({ length: count }, (_, index) => ({
  name: `endpoint-${index}`,
  traffic: tickTraffic(trafficOf(index, hours)),
  group,
  slo,
  bounds,
  coldStartMs,
  priority: 20,
}));
const jobCount = Math.ceil((hours * load * accelerators) / 33);
const { jobs } = generateTrace({ seed, jobs: jobCount, accelerators, load, gangs: usualGangs, ...usualDurations });
const fleet = topologyFreePool(accelerators);
const policy = defaultPolicy;
const begin = process.hrtime.bigint();
const simulation = new SharedFleetSimulation({ fleet, policy, jobs, endpoints });
while (!simulation.advance(1200)) process.stderr.write(`\r${Math.floor(100 * simulation.progress)}%`);
const { endpoints: each, ...whole } = simulation.result();
const wallS = Number(process.hrtime.bigint() - begin) / 1e9;
const rounded = (value: number): number => Number(value.toFixed(2));
for (const one of each) {
  const { attainment_pct, accelerator_hours, missing_accelerator_hours } = one;
  const figures = { attainment_pct, accelerator_hours, missing_accelerator_hours };
  process.stdout.write(`${JSON.stringify({ ...one, ...mapped(figures, rounded) })}\n`);
}
process.stdout.write(`${JSON.stringify({ ...mapped({ ...whole }, rounded), hours, wall_s: rounded(wallS) })}\n`);

function mapped(
  record: Readonly<Record<string, number>>,
  change: (value: number) => number,
): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]));
}

interface Hours {
  readonly requests: number;
  readonly queue: number;
}

const comparedHours = Number(options["compared-hours"]);
const capacity = new ReplicaCapacity(group.costs, group.limits, slo);
const setting = {
  group,
  slo,
  bounds,
  initialReplicas: 1,
  coldStartMs,
  tickMs: 1000,
  frontEndMs: 5,
  router: "least-work",
} as const;
const errorPct = ({ requests, queue: hoursOfQueue }: Hours): number => rounded(100 * (hoursOfQueue / requests - 1));

function compared(daySeed: number): Hours {
  const factor = Number(options["compared-rate"]) / WEEK_RATE_MEAN;
  const day = generatedTraffic("bursty-week", daySeed, comparedHours, factor);
  if (day === undefined) throw new RangeError("no such pattern");
  const requests = new ElasticServing(day, setting, new PredictiveScaler(capacity, slo)).run();
  const alone = new SharedFleetSimulation({
    fleet,
    policy,
    jobs: [],
    endpoints: endpoints.slice(0, 1).map((one) => ({ ...one, traffic: tickTraffic(day) })),
  });
  while (!alone.advance(10_000));
  const [queue] = alone.result().endpoints;
  const found = { requests: requests.acceleratorHours, queue: queue?.accelerator_hours ?? 0 };
  process.stdout.write(
    `${JSON.stringify({
      compared: `one endpoint, ${comparedHours} h`,
      requests: day.requests.length,
      requests_replicas_max: requests.replicasMax,
      queue_replicas_max: queue?.replicas_max ?? 0,
      requests_attainment_pct: rounded(requests.attainmentPct),
      queue_attainment_pct: rounded(queue?.attainment_pct ?? 0),
      requests_accelerator_hours: rounded(found.requests),
      queue_accelerator_hours: rounded(found.queue),
      hours_error_pct: errorPct(found),
    })}\n`,
  );
  return found;
}

const all = Array.from({ length: Number(options.compared) }, (_, index) => compared(seed + index));
const sum: Hours = {
  requests: all.reduce((total, { requests }) => total + requests, 0),
  queue: all.reduce((total, { queue }) => total + queue, 0),
};
process.stdout.write(
  `${JSON.stringify({
    compared: `${all.length} endpoints together, ${comparedHours} h each`,
    requests_accelerator_hours: rounded(sum.requests),
    queue_accelerator_hours: rounded(sum.queue),
    hours_error_pct: errorPct(sum),
    endpoint_hours_error_mean_abs_pct: rounded(
      all.reduce((total, one) => total + Math.abs(errorPct(one)), 0) / Math.max(1, all.length),
    ),
  })}\n`,
);
