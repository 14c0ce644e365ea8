/** The fleet with the nodes of outstanding orders: the basis of further orders, and of places that are held for ordered work. */
import { expectedArrival, isOutstanding, takesNodes } from "@headroom/model";
import type { CapacityOrder } from "@headroom/model";
import type { World } from "../cluster/world.ts";
import { ExtendedFleet } from "./extended-fleet.ts";

/** An order of a person counts from the time when it is arriving or nearly so: others may never come. */
const COUNTED_AHEAD_MS = 900_000;

/** `end` of the fleet must be called. */
export function fleetWithExpectedNodes(world: World, nowMs: number): ExtendedFleet {
  const fleet = new ExtendedFleet(world);
  const { capacityOrders, pools } = world.state;
  for (const order of capacityOrders.values()) {
    const pool = pools.get(order.pool);
    const count = order.nodeCount - order.joinedCount;
    if (pool === undefined || count <= 0 || !isCounted(order, nowMs)) continue;
    fleet.join({ pool, shape: order.shape, order: order.name, count });
  }
  return fleet;
}

const isCounted = (order: CapacityOrder, nowMs: number): boolean =>
  isOutstanding(order) &&
  (takesNodes(order) ||
    (order.phase === "ordered" && expectedArrival(order, nowMs).p50AtMs <= nowMs + COUNTED_AHEAD_MS));
