/**
 * Prefix hits and balance of the routing policies on traffic of conversations: `npm run bench prefix FILE [SPEED]`.
 * FILE is in Mooncake's format; SPEED multiplies the arrival rate. For comparison, one LRU cache has the capacity of
 * all replicas together. The load of a replica is the work that it computed. The ratio of maximum to mean load is
 * measured over the whole run and over its minutes.
 */
import { createRouter, defaultCoefficients, defaultLimits, seededDraw, type RoutingPolicy } from "../src/index.ts";
import { cacheHitShare, readTrace, type TraceRequest } from "./mooncake.ts";
import { serve, type Served } from "./serving-model.ts";

const [file = "", speedText = "1"] = process.argv.slice(2);
const trace = readTrace(file);
const blocks = trace.reduce((sum, { prefix }) => sum + prefix.count, 0);
const unlimited = cacheHitShare(trace, 1e9);
print({ cache: "unlimited", hitShare: unlimited, blocks });
print({ cache: "LRU of 5,859 blocks", hitShare: cacheHitShare(trace, 5859) });

const policies: readonly RoutingPolicy[] = ["prefix", "predicted-latency", "session", "least-work", "least-requests"];
for (const replicas of [4, 8, 16, 32]) {
  for (const blocksPerReplica of [5859, 20_000]) {
    const oracle = cacheHitShare(trace, blocksPerReplica * replicas);
    for (const policy of policies) measure(policy, replicas, blocksPerReplica, oracle);
  }
}

function measure(policy: RoutingPolicy, replicas: number, blocksPerReplica: number, oracle: number): void {
  const router = createRouter({ policy, draw: seededDraw(1) });
  const cacheTokens = blocksPerReplica * 512;
  const limits = { ...defaultLimits, kvCapacityTokens: cacheTokens };
  const engines = Array.from({ length: replicas }, (_, index) => {
    const setting = { id: `r${index}`, coefficients: defaultCoefficients, limits, cacheTokens, roundTripMs: 0.5 };
    router.addReplica({ id: setting.id, latency: defaultCoefficients, limits, roundTripMs: 0.5 });
    return setting;
  });
  // Scales the arrival rate, so that each replica has the same load for any number of replicas.
  const speed = (Number(speedText) * replicas) / 4;
  const arrivals = trace.map((request: TraceRequest) => ({
    atMs: request.atMs / speed,
    outputTokens: request.outputTokens,
    request: { promptTokens: request.promptTokens, prefix: request.prefix, sessionHash: request.prefix.hashes[1] ?? 0 },
  }));
  const { served, busyMs, endMs } = serve(router, engines, arrivals);
  const hitTokens = served.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0);
  const allTokens = served.reduce((sum, { arrival }) => sum + arrival.request.promptTokens, 0);
  const hits = served.reduce((sum, { cachedTokens }) => sum + Math.ceil(cachedTokens / 512), 0) / blocks;
  const busyShare = [...busyMs.values()].reduce((sum, each) => sum + each, 0) / replicas / endMs;
  print({
    replicas,
    blocksPerReplica,
    policy,
    oracle: round(oracle),
    hitShare: round(hits),
    ofOracle: round(hits / oracle),
    ofUnlimited: round(hits / unlimited),
    hitTokens: round(hitTokens / allTokens),
    busyShare: round(busyShare),
    maxToMeanRequests: round(spread(served, engines.length, () => 1)),
    maxToMeanTokens: round(spread(served, engines.length, workOf)),
    medianMaxToMeanTokensByMinute: round(byMinute(served, engines.length)),
    meanTtftMs: round(served.reduce((sum, { ttftMs }) => sum + ttftMs, 0) / served.length),
  });
}

function workOf({ arrival, cachedTokens }: Served): number {
  return arrival.request.promptTokens - cachedTokens + arrival.outputTokens;
}

function spread(served: readonly Served[], replicas: number, weigh: (each: Served) => number): number {
  const loads = new Map<string, number>();
  for (const each of served) loads.set(each.replicaId, (loads.get(each.replicaId) ?? 0) + weigh(each));
  return maxToMean([...loads.values(), ...new Array<number>(replicas - loads.size).fill(0)]);
}

/** Median, over the minutes of real time, of the ratio of maximum to mean load. */
function byMinute(served: readonly Served[], replicas: number): number {
  const minutes = new Map<number, Served[]>();
  for (const each of served) {
    const minute = Math.floor(each.arrival.atMs / 60_000);
    minutes.set(minute, [...(minutes.get(minute) ?? []), each]);
  }
  const spreads = [...minutes.values()].map((each) => spread(each, replicas, workOf)).toSorted((a, b) => a - b);
  return spreads[spreads.length >> 1] ?? 0;
}

function maxToMean(values: readonly number[]): number {
  return Math.max(...values) / (values.reduce((sum, each) => sum + each, 0) / values.length);
}

function round(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}

function print(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
