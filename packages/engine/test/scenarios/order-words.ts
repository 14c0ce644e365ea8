/** Words of capacity orders in scenarios. */
import type { CapacityOrderPhase, Command, OrderArrival } from "@headroom/model";
import { command, pool } from "../lab/make.ts";
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

/** `; then with rack-7, expected at 35d (P95 56d)`. */
export const expectedText = ({ orders, p50AtMs, p95AtMs }: ExpectedCapacity): string =>
  `; fits with ${orders.map(({ name }) => name).join(" and ")}, expected at ${durationText(p50AtMs)} (P95 ${durationText(p95AtMs)})`;
