/** Part of the recorded journal: capacity orders from the plan to the retirement of their nodes. */
import { nodeId, poolName } from "@headroom/model";
import type { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site } from "../lab/make.ts";

const arrival = { kind: "leadTime", p50Ms: 1_000, p95Ms: 2_000 } as const;
const shape = { acceleratorCount: 8, coresMilli: 64_000, memoryMib: 512 * 1024 };
const order = { pool: poolName("L40"), nodeCount: 2, arrival, shape };

/** One order is planned, one is arriving with a part of its nodes, and one is cancelled. */
export function beginOrders(drive: Drive): void {
  drive.receive(applied({ sites: [site], pools: [pool("L40")] }));
  const create = (name: string, phase: "planned" | "ordered" | "arriving"): void => {
    const price = { microUsd: 5_000_000, per: "order" } as const;
    drive.receive(
      command({ kind: "createCapacityOrder", order: { ...order, name, price }, phase, reason: "grow" }, `key-${name}`),
    );
  };
  create("rack-1", "arriving");
  create("rack-2", "planned");
  create("rack-3", "ordered");
  drive.receive({ kind: "nodeSeen", node: node("n71", "L40") });
  drive.receive(command({ kind: "cancelCapacityOrder", name: "rack-3", reason: "no budget" }));
  drive.receive(
    command({
      kind: "advanceCapacityOrder",
      name: "rack-2",
      phase: "ordered",
      reason: "signed",
      arrival: { kind: "dates", p50AtMs: 5_000, p95AtMs: 6_000 },
    }),
  );
}

/** The first order is filled, and its nodes leave. */
export function endOrders(drive: Drive): void {
  drive.receive({ kind: "nodeSeen", node: node("n72", "L40") });
  drive.receive(command({ kind: "advanceCapacityOrder", name: "rack-1", phase: null, reason: "lease ends" }));
  for (const id of ["n71", "n72"])
    drive.receive(command({ kind: "removeNode", nodeId: nodeId(id), running: "requeue" }));
}
