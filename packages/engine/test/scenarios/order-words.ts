/** Words of capacity orders in scenarios. */
import { nodeId } from "@headroom/model";
import type { CapacityOrderPhase, Command, Event, Input, OrderArrival, ProvisionerReport } from "@headroom/model";
import { applied, command, pool, site } from "../lab/make.ts";
import type { ExpectedCapacity } from "@headroom/explain";
import { durationMs, durationText, wordsOf } from "./words.ts";

/** `p50=5d p95=8d` are lead times, `on=5d by=8d` dates. */
function arrivalOf(fields: ReadonlyMap<string, string>): OrderArrival | undefined {
  const ms = (field: string): number => durationMs(fields.get(field) ?? "0");
  if (fields.has("p50")) return { kind: "leadTime", p50Ms: ms("p50"), p95Ms: ms("p95") };
  return fields.has("on") ? { kind: "dates", p50AtMs: ms("on"), p95AtMs: ms("by") } : undefined;
}

/** `rack-7 type=H100 nodes=4 gpu=8 p50=5d p95=8d [as=ordered]`; without `gpu`, the shape of the pool's first node. */
export function orderOf(text: string): Command {
  const { plain, fields } = wordsOf(text);
  const gpu = fields.get("gpu");
  const shape =
    gpu === undefined ? {} : { shape: { acceleratorCount: Number(gpu), coresMilli: 64_000, memoryMib: 524_288 } };
  return command({
    kind: "createCapacityOrder",
    order: {
      name: plain[0] ?? "",
      pool: pool(fields.get("type") ?? "H100").name,
      nodeCount: Number(fields.get("nodes") ?? 1),
      arrival: arrivalOf(fields) ?? { kind: "leadTime", p50Ms: 0, p95Ms: 0 },
      ...shape,
    },
    phase: (fields.get("as") ?? "planned") as "planned" | "ordered" | "arriving",
    reason: "",
  });
}

/** `rack-7 [arriving] [p50=… p95=…|on=… by=…]`; without a phase, the next one. */
export function advanceOf(text: string): Command {
  const { plain, fields } = wordsOf(text);
  const [name = "", phase = null] = plain;
  return command({
    kind: "advanceCapacityOrder",
    name,
    phase: phase as Exclude<CapacityOrderPhase, "cancelled"> | null,
    reason: "",
    arrival: arrivalOf(fields),
  });
}

/** `spot max=4 lead=4m after=30s idle=5m [p95=…] [price=2] [daily=8] [usd=100] [gpu=8]`: a pool for which nodes are ordered. */
export function burstPoolOf(text: string): Command {
  const { plain, fields } = wordsOf(text);
  const ms = (field: string, otherwise: string): number => durationMs(fields.get(field) ?? otherwise);
  const number = (field: string): number => Number(fields.get(field) ?? 0);
  const burst = {
    provisioner: fields.get("by") ?? "test",
    nodesMax: number("max"),
    acceleratorCount: Number(fields.get("gpu") ?? 8),
    coresMilli: 64_000,
    memoryMib: 524_288,
    leadTimeMs: ms("lead", "4m"),
    leadTimeP95Ms: ms("p95", fields.get("lead") ?? "4m"),
    orderAfterMs: ms("after", "30s"),
    releaseAfterMs: ms("idle", "5m"),
    ...(fields.has("daily") ? { nodesPerDay: number("daily") } : {}),
    ...(fields.has("usd") ? { microUsdPerDay: number("usd") * 1_000_000 } : {}),
  };
  const priceMicroUsdPerHour = number("price") * 1_000_000;
  return applied({ sites: [site], pools: [{ ...pool(plain[0] ?? ""), priceMicroUsdPerHour, burst }] });
}

/** `ORDER arriving [nodes=s1,s2] [released=s1] [on=5m] [price=2]`: what a provisioner says. */
export function reportOf(text: string): Input {
  const { plain, fields } = wordsOf(text);
  const [name = "", state = "ordered", ...detail] = plain;
  const ids = (field: string) => (fields.get(field) ?? "").split(",").map(nodeId);
  return {
    kind: "orderReported",
    name,
    state: state as ProvisionerReport["state"],
    detail: detail.join(" "),
    ...(fields.has("nodes") ? { nodes: ids("nodes") } : {}),
    ...(fields.has("released") ? { released: ids("released") } : {}),
    ...(fields.has("rest") ? { isRestStopped: true } : {}),
    ...(fields.has("on") ? { expectedAtMs: durationMs(fields.get("on") ?? "") } : {}),
    ...(fields.has("price") ? { priceMicroUsdPerHour: Number(fields.get("price")) * 1_000_000 } : {}),
  };
}

type BurstEvent = Extract<
  Event,
  {
    readonly kind:
      | `capacityOrder${"Decided" | "Identified" | "Reported" | "Failed" | "RestStopped"}`
      | "capacityNodesReleased";
  }
>;

export function burstText(event: BurstEvent): string {
  switch (event.kind) {
    case "capacityOrderDecided": {
      const { order, ground } = event;
      const dearer = ground.dearerPools.map(({ pool: of, nodes }) => ` rather than ${nodes} of ${of}`).join("");
      return `order ${order.name} of ${order.nodeCount} nodes for ${order.pool}${dearer} for ${ground.taskCount} tasks of ${ground.workloads.join(" ")}, which waited ${durationText(ground.waitedMs)}`;
    }
    case "capacityOrderReported":
      return `order ${event.name} is ${event.phase} as reported${event.nodes === undefined ? "" : `: ${event.nodes.join(" ")}`}`;
    case "capacityOrderIdentified":
      return `order ${event.name} is known to its provisioner as ${event.requestId}`;
    case "capacityOrderRestStopped":
      return `order ${event.name} has no machine left that did not join`;
    case "capacityOrderFailed":
      return `order ${event.name} failed: ${event.detail}; no order before ${durationText(event.retryAtMs)}`;
    case "capacityNodesReleased":
      return `${event.nodes.join(" ") || "no nodes"} of order ${event.name} released: ${event.reason} for ${durationText(event.idleMs)}${event.isWhole ? "; the order is leaving" : ""}`;
  }
}

/** `; then with rack-7, expected at 35d (P95 56d)`. */
export const expectedText = ({ orders, p50AtMs, p95AtMs }: ExpectedCapacity): string =>
  `; fits with ${orders.map(({ name }) => name).join(" and ")}, expected at ${durationText(p50AtMs)} (P95 ${durationText(p95AtMs)})`;
