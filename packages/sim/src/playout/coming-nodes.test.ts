import { expect, it } from "vitest";
import { commandId, nodeId, poolName, siteName, teamName } from "@headroom/model";
import type { BurstRule, Input } from "@headroom/model";
import { createEngine } from "@headroom/engine";
import { estimateStarts, usualEstimateOptions } from "../estimate/estimate-starts.ts";

const burst: BurstRule = {
  provisioner: "test",
  nodesMax: 4,
  acceleratorCount: 8,
  coresMilli: 8_000,
  memoryMib: 1_024,
  leadTimeMs: 240_000,
  leadTimeP95Ms: 600_000,
  orderAfterMs: 0,
  releaseAfterMs: 0,
};
const by = { commandId: commandId("c1"), actor: "ann", idempotencyKey: null };
const pool = {
  name: poolName("spot"),
  site: siteName("dc"),
  executor: "simulated",
  acceleratorType: "H100",
  priceMicroUsdPerHour: 0,
  burst,
};
const spec = {
  kind: "train",
  name: "a",
  team: teamName("default"),
  run: "true",
  dir: null,
  env: {},
  gang: { workers: 2, accelerators: 8, coresMilli: 0, memoryMib: 0 },
  acceleratorTypes: [],
  priority: 0,
  walltimeMs: 3_600_000,
  retries: { max: 0, backoffMs: 1, backoffMaxMs: 1 },
  graceTimeoutMs: 1,
  checkpointDir: null,
} as const;

it("a forecast starts work when the nodes are expected that the engine ordered for it", () => {
  const engine = createEngine();
  const nowMs = Date.UTC(2026, 10, 20);
  const receive = (...inputs: readonly Input[]): void => {
    engine.receive(inputs, nowMs);
    engine.advance();
  };
  const sites = [{ name: siteName("dc"), fabricLevels: [] }];
  receive({ kind: "apply", sites, pools: [pool], teams: [], workloads: [], ...by });
  receive({ kind: "submitWorkload", spec, ...by });
  const report = { kind: "orderReported", name: "burst-spot-1", state: "arriving", detail: "" } as const;
  receive({ ...report, nodes: [nodeId("m1")], expectedAtMs: nowMs + 300_000 });
  const before = engine.digest();
  const [estimate] = estimateStarts(engine, { ...usualEstimateOptions, nowMs, seed: 1, calibration: null });
  expect(estimate?.p50AtMs).toBe(nowMs + 300_000);
  expect(engine.digest()).toBe(before);
});
