/** Capacity orders in the demo: the same views and commands as in the server. */
import type { Engine } from "@headroom/engine";
import { planOrder } from "@headroom/explain";
import type { OrderCommandBody } from "@headroom/explain";
import { ProblemError, adviceQuery, advanceRequest, orderRequest, refuse } from "@headroom/protocol";
import type { HeadroomClient, OrderSet } from "@headroom/protocol";
import * as views from "@headroom/views";
import { accepted } from "../workers/accepted.ts";
import type { DemoWorld } from "./demo-world.ts";

type OrderReading = Pick<HeadroomClient, "endpoints" | "listCapacityOrders" | "getCapacityOrder" | "adviseOrders">;
type OrderCommands = Pick<HeadroomClient, "createCapacityOrder" | "advanceCapacityOrder" | "cancelCapacityOrder">;

export const orderReading = (world: Pick<DemoWorld, "engine" | "nowMs" | "endpoints">): OrderReading => ({
  endpoints: async () => views.endpointListView(world.engine, { nowMs: world.nowMs, readings: world.endpoints }),
  listCapacityOrders: async (query = {}) => {
    const { items, nextCursor } = views.orderList(world.engine, query, world.nowMs);
    return { items: [...items], nextCursor };
  },
  adviseOrders: async (query = {}) => {
    const texts = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    );
    const asked = accepted(adviceQuery.safeParse(Object.fromEntries(texts)));
    views.checkAdviceQuery(world.engine, asked);
    return views.orderAdviceView(world.engine, asked, world.nowMs);
  },
  getCapacityOrder: async (name) => {
    const order = views.orderView(world.engine, name, world.nowMs);
    if (order === null) throw refuse("unknownCapacityOrder", `There is no capacity order ${name}.`);
    return order;
  },
});

export function orderCommands(engine: Engine, run: DemoWorld["command"]): OrderCommands {
  const set = async (wanted: OrderCommandBody, dryRun: boolean | undefined): Promise<OrderSet> => {
    const name = wanted.kind === "createCapacityOrder" ? wanted.order.name : wanted.name;
    const forecast = planOrder(engine, wanted);
    if (forecast.kind === "refused") throw new ProblemError(views.rejectionProblem(forecast.rejection));
    if (dryRun !== true) run(wanted);
    return { name, phase: forecast.phase, dryRun: dryRun === true };
  };
  return {
    createCapacityOrder: async (body, { dryRun } = {}) =>
      set(views.createOrderCommand(accepted(orderRequest.safeParse(body))), dryRun),
    advanceCapacityOrder: async (name, body, { dryRun } = {}) =>
      set(views.advanceOrderCommand(name, accepted(advanceRequest.safeParse(body))), dryRun),
    cancelCapacityOrder: async (name, { reason = "" }, { dryRun } = {}) =>
      set({ kind: "cancelCapacityOrder", name, reason }, dryRun),
  };
}
