/** Part of the recorded journal: orders of the engine, from the decision to the release of their nodes. */
import { nodeId } from "@headroom/model";
import type { BurstRule, Input, ProvisionerReport } from "@headroom/model";
import type { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site } from "../lab/make.ts";
import { code, exited, running, submit } from "./life-lines.ts";

const rule: BurstRule = {
  provisioner: "cloud",
  nodesMax: 3,
  acceleratorCount: 8,
  coresMilli: 64_000,
  memoryMib: 512 * 1024,
  leadTimeMs: 60_000,
  leadTimeP95Ms: 120_000,
  orderAfterMs: 0,
  releaseAfterMs: 0,
  nodesPerDay: 8,
  microUsdPerDay: 1_000_000_000,
};

const says = (name: string, state: ProvisionerReport["state"], more: Partial<ProvisionerReport> = {}): Input => ({
  kind: "orderReported",
  name,
  state,
  detail: "",
  ...more,
});

/** Two nodes are ordered for a gang. One of them has joined. */
export function beginBursts(drive: Drive): void {
  drive.receive(applied({ sites: [site], pools: [{ ...pool("GB10"), priceMicroUsdPerHour: 1_000_000, burst: rule }] }));
  drive.receive(submit("bursts", { gang: { accelerators: 8, workers: 2 }, acceleratorTypes: ["GB10"] }));
  drive.receive({ kind: "orderIdentified", name: "burst-GB10-1", requestId: "burst-GB10-1-k3x9m2p4qa" });
  drive.receive(says("burst-GB10-1", "ordered", { expectedAtMs: 5_000, priceMicroUsdPerHour: 2_000_000 }));
  drive.receive(says("burst-GB10-1", "arriving", { nodes: [nodeId("g81"), nodeId("g82")] }));
  drive.receive({ kind: "nodeSeen", node: node("g81", "GB10") });
}

/** The gang runs and ends, its nodes are released, and another order fails. */
export function endBursts(drive: Drive): void {
  drive.receive({ kind: "nodeSeen", node: node("g82", "GB10") });
  const bursts = [...drive.engine.state.workloads.values()].find(({ spec: { name } }) => name === "bursts");
  if (bursts === undefined) throw new Error("no workload bursts");
  drive.receive(running(`${bursts.id}.1`));
  drive.receive(exited(`${bursts.id}.1`, code(0, 0), code(1, 0)));
  drive.receive(says("burst-GB10-1", "arriving", { released: [nodeId("g81")] }));
  drive.receive(says("burst-GB10-1", "gone"));
  drive.receive(submit("in vain", { gang: { accelerators: 8, workers: 4 }, acceleratorTypes: ["GB10", "GB11"] }));
  drive.receive(applied({ pools: [{ ...pool("GB10"), burst: { ...rule, nodesMax: 6 } }] }));
  drive.receive(command({ kind: "cancelCapacityOrder", name: "burst-GB10-2", reason: "too many" }));
  drive.receive(says("burst-GB10-2", "gone"));
  drive.receive(applied({ pools: [{ ...pool("GB11"), burst: { ...rule, nodesMax: 4 } }] }));
  drive.receive(says("burst-GB11-1", "failed", { detail: "no capacity in this zone" }));
  drive.receive(says("burst-GB11-1", "gone"));
  // One of four nodes joins before the order fails. The machines of the others are stopped.
  drive.receive(applied({ pools: [{ ...pool("GB12"), burst: { ...rule, nodesMax: 4, releaseAfterMs: 600_000 } }] }));
  drive.receive(submit("in part", { gang: { accelerators: 8, workers: 4 }, acceleratorTypes: ["GB12"] }));
  drive.receive({ kind: "nodeSeen", node: node("g91", "GB12") });
  drive.receive(says("burst-GB12-1", "failed", { detail: "no capacity in this zone" }));
  drive.receive(says("burst-GB12-1", "arriving", { isRestStopped: true }));
  drive.receive(applied({ pools: [pool("GB10"), pool("GB11"), pool("GB12")] }));
}
