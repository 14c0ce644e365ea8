/** Rows of the operations table about capacity orders. */
import { names } from "@headroom/spec";
import { z } from "zod";
import {
  advanceRequest,
  cancelOrderRequest,
  capacityOrder,
  orderDryRun,
  orderPage,
  orderQuery,
  orderRequest,
  orderSet,
} from "./capacity-order.ts";
import { adviceQuery, orderAdvice } from "./order-advice.ts";
import { operation } from "./operation.ts";
import { commandProblems } from "./operation-problems.ts";

const byOrder = z.strictObject({ name: names.orderName });

export const orderOperations = {
  listCapacityOrders: operation("GET /v1/capacity-orders", "Orders of nodes that are coming", orderPage, {
    permission: "fleet.read",
    subject: "any",
    query: orderQuery,
    problems: ["invalidCursor"],
  }),
  adviseOrders: operation("GET /v1/order-advice", "Nodes with which waiting work would start", orderAdvice, {
    permission: "plan.read",
    query: adviceQuery,
    problems: ["unknownPoolName", "unknownWorkload", "overloaded", "tookTooLong"],
  }),
  getCapacityOrder: operation("GET /v1/capacity-orders/{name}", "One capacity order with its changes", capacityOrder, {
    permission: "fleet.read",
    subject: "any",
    params: byOrder,
    problems: ["unknownCapacityOrder"],
  }),
  createCapacityOrder: operation("POST /v1/capacity-orders", "Record an order of nodes for a pool", orderSet, {
    permission: "fleet.write",
    query: orderDryRun,
    body: orderRequest,
    status: 201,
    problems: ["capacityOrderExists", "tooManyCapacityOrders", "unknownPool", "unknownNodeShape", ...commandProblems],
  }),
  advanceCapacityOrder: operation(
    "POST /v1/capacity-orders/{name}/advance",
    "Bring an order to a later phase, or change when its nodes are expected",
    orderSet,
    {
      permission: "fleet.write",
      params: byOrder,
      query: orderDryRun,
      body: advanceRequest,
      problems: ["unknownCapacityOrder", "cannotAdvanceOrder", ...commandProblems],
    },
  ),
  cancelCapacityOrder: operation(
    "POST /v1/capacity-orders/{name}/cancel",
    "Cancel an order whose nodes have not all come",
    orderSet,
    {
      permission: "fleet.write",
      params: byOrder,
      query: orderDryRun,
      body: cancelOrderRequest,
      problems: ["unknownCapacityOrder", "cannotAdvanceOrder", ...commandProblems],
    },
  ),
};
