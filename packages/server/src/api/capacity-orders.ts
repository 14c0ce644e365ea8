/** Commands about capacity orders, or with `dryRun` their effect. */
import { planOrder } from "@headroom/explain";
import type { OrderCommandBody } from "@headroom/explain";
import { ProblemError } from "@headroom/protocol";
import type { OrderSet } from "@headroom/protocol";
import { advanceOrderCommand, createOrderCommand, rejectionProblem } from "@headroom/views";
import { command } from "./calls.ts";
import type { Call } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";

type OrderCall = Call<"createCapacityOrder" | "advanceCapacityOrder" | "cancelCapacityOrder">;

async function set(
  plane: ControlPlane,
  call: Pick<OrderCall, "query" | "actor" | "idempotencyKey">,
  wanted: OrderCommandBody,
): Promise<OrderSet> {
  if (call.query.dryRun !== true) {
    const { name, phase } = await command(plane, call, wanted, "capacityOrderSet");
    return { name, phase, dryRun: false };
  }
  const forecast = await plane.driver.read((engine) => planOrder(engine, wanted));
  if (forecast.kind === "refused") throw new ProblemError(rejectionProblem(forecast.rejection));
  return {
    name: wanted.kind === "createCapacityOrder" ? wanted.order.name : wanted.name,
    phase: forecast.phase,
    dryRun: true,
  };
}

export const createCapacityOrder = (plane: ControlPlane, call: Call<"createCapacityOrder">): Promise<OrderSet> =>
  set(plane, call, createOrderCommand(call.body));

export const advanceCapacityOrder = (plane: ControlPlane, call: Call<"advanceCapacityOrder">): Promise<OrderSet> =>
  set(plane, call, advanceOrderCommand(call.params.name, call.body));

export const cancelCapacityOrder = (plane: ControlPlane, call: Call<"cancelCapacityOrder">): Promise<OrderSet> =>
  set(plane, call, { kind: "cancelCapacityOrder", name: call.params.name, reason: call.body.reason ?? "" });
