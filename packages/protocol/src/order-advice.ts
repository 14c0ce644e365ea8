/** Advice on orders: the nodes with which waiting work would start. */
import { z } from "zod";
import { count, instantMs, limits, names } from "@headroom/spec";
import { nodeShape } from "./capacity-order.ts";
import { queryInteger } from "./page.ts";

/** Nodes of one pool in an answer without `nodes`. */
export const ADVISED_NODES_DEFAULT = 64;

export const adviceQuery = z.strictObject({
  pool: names.poolName.optional().meta({ description: "Only nodes of this pool." }),
  workload: z.string().min(1).max(64).optional().meta({
    description: "Id of the workload that the nodes are for. Work ahead of it in the queue gets its places first.",
  }),
  nodes: queryInteger(1, limits.ORDER_NODES_MAX)
    .default(ADVISED_NODES_DEFAULT)
    .meta({ description: "Most nodes of one pool." }),
});

const cost = { nodes: count, microUsdPerHour: count.meta({ description: "0: the pool has no price." }) };

const advisedOrder = z
  .object({
    pool: z.string(),
    ...cost,
    shape: nodeShape,
    leadTime: z
      .object({ p50Ms: count, p95Ms: count })
      .nullable()
      .meta({ description: "From the pool's `burst` rule or its newest order; null: neither states one." }),
    expected: z
      .object({ p50AtMs: instantMs, p95AtMs: instantMs })
      .nullable()
      .meta({ description: "When the nodes are expected if they are ordered now." }),
    taskCount: count.meta({ description: "Tasks that would start on the nodes." }),
    workloadCount: count,
    workloads: z.array(z.string()).meta({ description: "At most 20 of their ids." }),
    others: z
      .array(z.object({ pool: z.string(), ...cost }))
      .meta({ description: "Other pools that could hold the same work, and what it would take." }),
  })
  .meta({ id: "AdvisedOrder" });

export const orderAdvice = z
  .object({
    atMs: instantMs,
    orders: z.array(advisedOrder),
    taskCountWithout: count.meta({
      description: "Waiting tasks that need no order: free nodes, coming nodes or a protected start hold them.",
    }),
    unserved: z.array(z.object({ workload: z.string(), reason: z.enum(["limit", "noPool"]) })).meta({
      description:
        "At most 20 workloads that no order starts. `limit`: a quota or budget holds them. `noPool`: no pool has such nodes, or not enough.",
    }),
    unservedCount: count,
    isComplete: z.boolean().meta({ description: "False: the queue is longer than what was looked at." }),
    sentence: z.string(),
  })
  .meta({ id: "OrderAdvice" });

export type OrderAdvice = z.output<typeof orderAdvice>;
export type AdviceQuery = z.output<typeof adviceQuery>;
