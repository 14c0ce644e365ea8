/** Random commands about capacity orders. Some nodes that were removed join again and count against them. */
import type { CapacityOrderPhase, Command } from "@headroom/model";
import { ORDER_PHASES } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Luck } from "./luck.ts";
import { label, type World } from "./world.ts";

type Common = Pick<Command, "commandId" | "actor" | "idempotencyKey">;

/** `null`: no command this time. */
export function orderCommand(
  luck: Luck,
  { fleet, salt, state }: Pick<World, "fleet"> & { readonly salt: string; readonly state: ReadonlyState },
  common: Common,
): Command | null {
  if (!luck.chance(12)) return null;
  const name = label(`order-${luck.below(5)}`, salt);
  const order = state.capacityOrders.get(name);
  const p50Ms = luck.pick([0, 60_000, 86_400_000]);
  const reason = "random";
  const isOver = order === undefined || order.phase === "gone" || order.phase === "cancelled";
  if (isOver || luck.chance(10)) {
    const { pool } = luck.pick(fleet.nodes);
    const arrival = { kind: "leadTime", p50Ms, p95Ms: 2 * p50Ms } as const;
    const phase = luck.pick<"planned" | "ordered" | "arriving">(["planned", "ordered", "arriving", "arriving"]);
    const nodeCount = luck.between(1, 3);
    return { ...common, kind: "createCapacityOrder", order: { name, pool, nodeCount, arrival }, phase, reason };
  }
  if (luck.chance(15)) return { ...common, kind: "cancelCapacityOrder", name, reason };
  const arrival = { kind: "dates", p50AtMs: state.nowMs + p50Ms, p95AtMs: state.nowMs + 2 * p50Ms } as const;
  const phase = luck.pick<Exclude<CapacityOrderPhase, "cancelled"> | null>([null, null, luck.pick(ORDER_PHASES)]);
  return {
    ...common,
    kind: "advanceCapacityOrder",
    name,
    phase,
    reason,
    ...(luck.chance(30) ? { arrival } : {}),
  };
}
