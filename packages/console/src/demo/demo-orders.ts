/** The demo's capacity orders. */
import { poolName } from "@headroom/model";
import type { CapacityOrderSpec } from "@headroom/model";

const DAY_MS = 86_400_000;

interface DemoOrder extends Omit<CapacityOrderSpec, "shape"> {
  readonly phase: "planned" | "ordered" | "arriving";
  readonly reason: string;
}

export const demoOrders = (nowMs: number): readonly DemoOrder[] => [
  {
    name: "oslo-rack-3",
    pool: poolName("h200"),
    nodeCount: 8,
    arrival: { kind: "leadTime", p50Ms: 35 * DAY_MS, p95Ms: 56 * DAY_MS },
    price: { microUsd: 2_400_000_000_000, per: "order" },
    phase: "ordered",
    reason: "search doubles by spring",
  },
  {
    name: "frankfurt-lease",
    pool: poolName("h100"),
    nodeCount: 4,
    arrival: { kind: "dates", p50AtMs: nowMs - 3 * DAY_MS, p95AtMs: nowMs + 7 * DAY_MS },
    price: { microUsd: 1_900_000, per: "acceleratorHour" },
    phase: "arriving",
    reason: "the carrier is delayed",
  },
];
