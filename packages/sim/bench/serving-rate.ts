/**
 * Measures simulated requests a minute on one core: `node packages/sim/bench/serving-rate.ts`. A million requests
 * arrive at random times on eight replicas at about 70% of their capacity. Their lengths are those of Azure's
 * conversation trace of 2023 (mean 1,155 prompt and 211 output tokens). One run uses a router without predictions, one
 * a router with predictions. Times are CPU times, so other load on the machine does not count.
 */
import { tabulated, usualLimits } from "@headroom/perf";
import { seededDraw } from "@headroom/routing";
import { ServingSimulation } from "../src/index.ts";
import type { RequestTrace, ServingRequest, ServingVariant } from "../src/index.ts";

const requestCount = 1_000_000;
const meanGapMs = 12;

function trafficOf(count: number): RequestTrace {
  const draw = seededDraw(1);
  const uniform = (): number => (draw() + 1) / 4_294_967_297;
  const about = (mean: number): number => Math.max(1, Math.round(-mean * Math.log(uniform())));
  let arrivalMs = 0;
  const requests: ServingRequest[] = [];
  for (let index = 0; index < count; index += 1) {
    arrivalMs -= meanGapMs * Math.log(uniform());
    const lengths = { promptTokens: about(1155), outputTokens: about(211) };
    requests.push({ arrivalMs, ...lengths, pages: [], cachedTokens: 0, adapter: "" });
  }
  return { requests, pageTokens: 0 };
}

function variantOf(router: ServingVariant["router"]): ServingVariant {
  const costs = {
    tokensMs: tabulated(8192, (tokens) => 7 + tokens / 30),
    contextMs: 4e-5,
    pairMs: 2e-6,
    sampledMs: 0.01,
  };
  const limits = { ...usualLimits, stepTokensMax: 8192, blockCount: 25_000 };
  return {
    name: router,
    groups: [{ name: "replica", count: 8, acceleratorsPerReplica: 1, costs, limits, zone: "" }],
    router,
    seed: 1,
    start: { kind: "warm", coldStartMs: 0 },
    store: undefined,
    adapters: undefined,
    isScheduledAhead: true,
    frontEndMs: 5,
    slo: { ttftMs: 1000, tpotMs: 50 },
  };
}

const trace = trafficOf(requestCount);
for (const router of ["least-requests", "predicted-latency"] as const) {
  const begin = process.cpuUsage();
  const simulation = new ServingSimulation(trace, variantOf(router));
  while (!simulation.advance(10_000));
  const { user, system } = process.cpuUsage(begin);
  const seconds = (user + system) / 1e6;
  const { steps, busy_share, slo_share } = simulation.result();
  const perMinute = (requestCount / seconds) * 60;
  process.stdout.write(
    `${router}: ${requestCount} requests, ${steps} steps in ${seconds.toFixed(1)} s of CPU: ` +
      `${(perMinute / 1e6).toFixed(2)} M requests a minute (busy ${busy_share.toFixed(2)}, SLO ${slo_share.toFixed(3)})\n`,
  );
}
