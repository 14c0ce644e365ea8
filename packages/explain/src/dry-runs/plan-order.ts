/** The dry run of a command about a capacity order: its phase afterwards, or the reason of a refusal. */
import { planCapacityOrder, worldOf } from "@headroom/engine/internals";
import type { Engine } from "@headroom/engine";
import type { CapacityOrderPhase, Command, Rejection } from "@headroom/model";
import { counterfactualCommand } from "../changes/counterfactuals.ts";

type OrderKind = "createCapacityOrder" | "advanceCapacityOrder" | "cancelCapacityOrder";
type Common = "commandId" | "actor" | "idempotencyKey";

/** A command about a capacity order, without its caller. */
export type OrderCommandBody = {
  [Kind in OrderKind]: Omit<Extract<Command, { readonly kind: Kind }>, Common>;
}[OrderKind];

export type OrderForecast =
  | { readonly kind: "set"; readonly phase: CapacityOrderPhase }
  | { readonly kind: "refused"; readonly rejection: Rejection };

export function planOrder(engine: Engine, body: OrderCommandBody): OrderForecast {
  const command = counterfactualCommand(body) as Parameters<typeof planCapacityOrder>[1];
  const decision = planCapacityOrder(worldOf(engine), command);
  if (decision.kind === "refused") return decision;
  return { kind: "set", phase: decision.result.kind === "capacityOrderSet" ? decision.result.phase : "planned" };
}
