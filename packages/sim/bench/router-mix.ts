/**
 * Compares routers on a mix of two accelerators, one 2.5 times as fast as the other: `node
 * packages/sim/bench/router-mix.ts`. For each routing policy it finds, by bisection, the highest arrival rate at which
 * 95% of the requests meet both latency objectives, and compares this rate with that of routing by fewest requests.
 * Request lengths are those of Azure's conversation trace of 2023.
 */
import { tabulated, usualLimits } from "@headroom/perf";
import { seededDraw } from "@headroom/routing";
import { routingPolicies, ServingSimulation, sped } from "../src/index.ts";
import type { ReplicaGroup, RequestTrace, ServingRequest, ServingVariant } from "../src/index.ts";

const requestCount = 12_000;
const metShare = 0.95;
const nominations = { ttftMs: 1000, tpotMs: 50 };
const rounds = 11;

/** Traffic with one arrival a second; the function `sped` scales the traffic to other rates. */
function traffic(seed: number): RequestTrace {
  const draw = seededDraw(seed);
  const uniform = (): number => (draw() + 1) / 4_294_967_297;
  const about = (mean: number, most: number): number =>
    Math.min(most, Math.max(1, Math.round(-mean * Math.log(uniform()))));
  let arrivalMs = 0;
  const requests: ServingRequest[] = [];
  for (let index = 0; index < requestCount; index += 1) {
    arrivalMs -= 1000 * Math.log(uniform());
    const lengths = { promptTokens: about(1155, 8000), outputTokens: about(211, 1500) };
    requests.push({ arrivalMs, ...lengths, pages: [], cachedTokens: 0, adapter: "" });
  }
  return { requests, pageTokens: 0 };
}

function replicas(name: string, slowness: number): ReplicaGroup {
  const costs = {
    tokensMs: tabulated(2048, (tokens) => slowness * (8 + tokens / 25)),
    contextMs: slowness * 5e-5,
    pairMs: slowness * 2e-6,
    sampledMs: slowness * 0.02,
  };
  const limits = { ...usualLimits, blockCount: 20_000 };
  return { name, count: 4, acceleratorsPerReplica: 1, costs, limits, zone: "" };
}

function share(trace: RequestTrace, rate: number, router: ServingVariant["router"]): number {
  const simulation = new ServingSimulation(sped(trace, rate), {
    name: router,
    groups: [replicas("fast", 1), replicas("slow", 2.5)],
    router,
    seed: 1,
    start: { kind: "warm", coldStartMs: 0 },
    store: undefined,
    adapters: undefined,
    isScheduledAhead: true,
    frontEndMs: 5,
    slo: nominations,
  });
  while (!simulation.advance(10_000));
  return simulation.result().slo_share;
}

function highestRate(trace: RequestTrace, router: ServingVariant["router"]): number {
  let low = 1;
  let high = 400;
  for (let round = 0; round < rounds; round += 1) {
    const middle = Math.sqrt(low * high);
    if (share(trace, middle, router) >= metShare) low = middle;
    else high = middle;
  }
  return low;
}

const traces = [1, 2, 3].map(traffic);
const rates = routingPolicies.map((router) => {
  const found = traces.map((trace) => highestRate(trace, router));
  return { router, rate: found.reduce((sum, one) => sum + one, 0) / found.length };
});
const base = rates.find(({ router }) => router === "least-requests")?.rate ?? Number.NaN;
for (const { router, rate } of rates) {
  process.stdout.write(
    `${router.padEnd(18)} ${rate.toFixed(1)} requests/s at 95% within the SLO, ${(rate / base).toFixed(3)} of least-requests\n`,
  );
}
