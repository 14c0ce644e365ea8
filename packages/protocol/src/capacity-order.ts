/** Capacity orders: nodes that are coming, from the plan to their retirement. An order is no capacity. */
import { z } from "zod";
import { INSTANT_MS_MAX, count, instantMs, integer, limits, names } from "@headroom/spec";
import { pageOf, pageQuery, queryBoolean } from "./page.ts";

export const orderPhases = [
  "planned",
  "ordered",
  "arriving",
  "qualifying",
  "inService",
  "leaving",
  "gone",
  "cancelled",
] as const;

export const orderPhase = z.enum(orderPhases).meta({
  id: "CapacityOrderPhase",
  description:
    "Phases in their order; `cancelled` ends an order whose nodes have not all come. Nodes that join count in `arriving` and `qualifying`.",
});

export const nodeShape = z
  .strictObject({
    acceleratorCount: integer(0, limits.ACCELERATORS_PER_NODE_MAX),
    coresMilli: integer(0, limits.CORES_MILLI_MAX),
    memoryMib: integer(0, limits.MEMORY_MIB_MAX),
  })
  .meta({ id: "NodeShape", description: "Amounts of each ordered node." });

const leadTimeMs = integer(0, limits.DURATION_MS_MAX);
const dateMs = integer(0, INSTANT_MS_MAX);
const notLater = "p95 must not be before p50";

export const orderArrival = z
  .discriminatedUnion("kind", [
    z
      .strictObject({ kind: z.literal("leadTime"), p50Ms: leadTimeMs, p95Ms: leadTimeMs })
      .refine(({ p50Ms, p95Ms }) => p95Ms >= p50Ms, { message: notLater }),
    z
      .strictObject({ kind: z.literal("dates"), p50AtMs: dateMs, p95AtMs: dateMs })
      .refine(({ p50AtMs, p95AtMs }) => p95AtMs >= p50AtMs, { message: notLater }),
  ])
  .meta({
    id: "OrderArrival",
    description:
      "When the nodes are expected: the middle of the estimate (p50), and what 95% of such orders keep (p95). A lead time counts from the order; while the order is planned, from now.",
  });

export const orderPrice = z
  .strictObject({
    microUsd: integer(0, limits.BUDGET_MICRO_USD_MAX),
    per: z.enum(["order", "acceleratorHour"]),
  })
  .meta({ id: "OrderPrice", description: "For all nodes together, or per accelerator and hour." });

const spec = {
  name: names.orderName,
  pool: names.poolName,
  nodeCount: integer(1, limits.ORDER_NODES_MAX),
  arrival: orderArrival,
  price: orderPrice.optional(),
};

/** The order as the journal has it. */
export const recordedOrder = z.object({ ...spec, shape: nodeShape }).meta({ id: "RecordedOrder" });

export const orderRequest = z
  .strictObject({
    ...spec,
    shape: nodeShape.optional().meta({ description: "Absent: the shape of the pool's first node." }),
    phase: z.enum(["planned", "ordered", "arriving"]).optional().meta({ description: "Default: `planned`." }),
    reason: names.reason.optional(),
  })
  .meta({ id: "CapacityOrderRequest" });

export const advanceRequest = z
  .strictObject({
    phase: orderPhase.exclude(["cancelled"]).optional().meta({
      description: "A later phase; absent: the next one. With `arrival`, the present phase: only the dates change.",
    }),
    arrival: orderArrival.optional(),
    reason: names.reason.optional(),
  })
  .meta({ id: "AdvanceOrderRequest" });

export const cancelOrderRequest = z
  .strictObject({ reason: names.reason.optional() })
  .meta({ id: "CancelOrderRequest" });

const orderChange = z
  .object({
    atMs: instantMs,
    phase: orderPhase,
    actor: z.string().nullable().meta({ description: "null: the engine, because nodes joined or left." }),
    reason: z.string(),
    arrival: orderArrival.optional(),
  })
  .meta({ id: "OrderChange" });

export const burstGround = z
  .object({
    workloads: z
      .array(z.string())
      .meta({ description: "Waiting workloads for which the nodes are ordered; at most 200." }),
    workloadCount: count,
    taskCount: count.meta({ description: "Tasks of these workloads that the nodes hold." }),
    waitedMs: count.meta({ description: "Longest wait among them." }),
    extraNodes: count.meta({ description: "Extra nodes of the pool before the order, in the fleet or coming." }),
    microUsdPerHour: count.meta({ description: "Cost of the ordered nodes in an hour." }),
    dearerPools: z
      .array(z.object({ pool: z.string(), nodes: count, microUsdPerHour: count }))
      .meta({ description: "Other pools that could have held the work, and what they would have cost." }),
  })
  .meta({ id: "BurstGround", description: "Why the engine ordered nodes." });

const automaticOrder = z
  .object({
    provisioner: z.string(),
    decidedAtMs: instantMs,
    releaseAfterMs: count.meta({ description: "A node that is idle for this time is released." }),
    ground: burstGround.omit({ workloads: true }).meta({ id: "OrderGround" }),
    nodeNames: z.array(z.string()).meta({ description: "Machines that the provisioner named; at most 1,000." }),
    detail: z.string().meta({ description: "The newest statement of the provisioner." }),
    requestId: z.string().nullable().optional().meta({
      description:
        "The id under which the provisioner knows the order. null: not drawn yet; absent: it is known by its name.",
    }),
    missingCount: count.optional().meta({
      description: "Nodes of a failed order that never joined, and whose machines may exist.",
    }),
  })
  .meta({ id: "AutomaticOrder" });

export const capacityOrder = z
  .object({
    name: z.string(),
    pool: z.string(),
    phase: orderPhase,
    nodeCount: count,
    joinedCount: count.meta({ description: "Nodes of the order that are in the fleet now." }),
    shape: nodeShape,
    arrival: orderArrival,
    price: orderPrice.optional(),
    orderedAtMs: instantMs.nullable().meta({ description: "null: not ordered yet." }),
    expected: z
      .object({ p50AtMs: instantMs, p95AtMs: instantMs })
      .nullable()
      .meta({ description: "When the nodes are expected; null: none is still to come." }),
    lateMs: count.meta({ description: "How long ago the p50 date passed while nodes are still to come; 0: not late." }),
    nodes: z.array(z.string()).meta({ description: "Ids of the order's nodes in the fleet; at most 1,000." }),
    changes: z.array(orderChange).meta({ description: "The newest changes, oldest first; at most 20." }),
    automatic: automaticOrder.nullable().meta({ description: "null: a person made the order." }),
    sentence: z.string(),
  })
  .meta({ id: "CapacityOrder" });

export const orderPage = pageOf(capacityOrder, "CapacityOrderPage");
export const orderSet = z
  .object({ name: z.string(), phase: orderPhase, dryRun: z.boolean() })
  .meta({ id: "CapacityOrderSet" });

export const orderQuery = pageQuery.extend({
  pool: names.poolName.optional(),
  all: queryBoolean.optional().meta({ description: "Also orders that are over: gone or cancelled." }),
});

export const orderDryRun = z.strictObject({
  dryRun: queryBoolean.optional().meta({ description: "Nothing is recorded; the answer is the same." }),
});

export type CapacityOrder = z.output<typeof capacityOrder>;
export type CapacityOrderPhase = z.output<typeof orderPhase>;
export type OrderArrival = z.output<typeof orderArrival>;
export type OrderPrice = z.output<typeof orderPrice>;
export type OrderPage = z.output<typeof orderPage>;
export type OrderSet = z.output<typeof orderSet>;
export type OrderRequest = z.output<typeof orderRequest>;
export type OrderRequestInput = z.input<typeof orderRequest>;
export type AdvanceRequest = z.output<typeof advanceRequest>;
export type AdvanceRequestInput = z.input<typeof advanceRequest>;
export type OrderQuery = z.output<typeof orderQuery>;
