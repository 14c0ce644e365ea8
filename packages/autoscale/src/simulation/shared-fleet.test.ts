import { defaultPolicy } from "@headroom/model";
import { tabulated, usualLimits } from "@headroom/perf";
import { topologyFreePool } from "@headroom/sim";
import type { ReplicaGroup, TraceJob } from "@headroom/sim";
import { describe, expect, it } from "vitest";
import { SharedFleetSimulation, type SharedFleetResult } from "./shared-fleet.ts";
import type { TickTraffic } from "./tick-traffic.ts";

const costs = {
  tokensMs: tabulated(1024, (tokens) => 20 + tokens * 0.1),
  contextMs: 4e-5,
  pairMs: 2e-6,
  sampledMs: 0.01,
};
const limits = { ...usualLimits, stepTokensMax: 1024, blockCount: 30_000 };
const group: ReplicaGroup = { name: "r", count: 1, acceleratorsPerReplica: 2, costs, limits, zone: "" };

/** Two hours: from the half hour on ten times the requests of before. */
function traffic(perS: number): TickTraffic {
  const arrivals = Float64Array.from({ length: 7200 }, (_, second) => (second > 1800 ? 10 * perS : perS));
  return {
    arrivals,
    promptTokens: arrivals.map((each) => 1000 * each),
    outputTokens: arrivals.map((each) => 100 * each),
  };
}

function run(accelerators: number, jobs: readonly TraceJob[]): SharedFleetResult {
  const endpoint = {
    name: "chat",
    traffic: traffic(2),
    group,
    slo: { ttftMs: 2000, tpotMs: 100 },
    bounds: { min: 1, max: 8 },
    coldStartMs: 60_000,
    priority: 20,
  };
  const fleet = topologyFreePool(accelerators);
  const simulation = new SharedFleetSimulation({ fleet, policy: defaultPolicy, jobs, endpoints: [endpoint] });
  while (!simulation.advance(1000));
  return simulation.result();
}

const job = (id: number, submittedAtMs: number, accelerators: number): TraceJob => ({
  id: String(id),
  submittedAtMs,
  durationMs: 1_800_000,
  accelerators,
  coresMilli: 0,
  memoryMib: 0,
  acceleratorTypes: [],
});

describe("training and endpoints on one fleet", () => {
  it("scales the endpoint up, a cold start late, and lets jobs wait for its replicas", () => {
    const jobs = Array.from({ length: 12 }, (_, index) => job(index, 600_000 * index, 4));
    const alone = run(16, []);
    const shared = run(16, jobs);
    const empty = run(64, jobs);
    expect(alone.endpoints[0]?.replicas_max).toBeGreaterThan(1);
    expect(alone.attainment_pct).toBeGreaterThan(90);
    expect(alone.attainment_pct).toBeLessThan(100);
    expect(empty.mean_wait_s).toBe(0);
    expect(empty.jobs_started).toBe(12);
    expect(shared.mean_wait_s).toBeGreaterThan(0);
    expect(shared.utilization_pct).toBeLessThanOrEqual(100);
    expect(run(16, jobs)).toEqual(shared);
  });
});
