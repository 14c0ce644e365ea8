/** The fleet: nodes and accelerators, free capacity, and the teams that hold the rest. */
import { z } from "zod";
import { count, INSTANT_MS_MAX, instantMs, integer, limits, names, pool, site } from "@headroom/spec";
import { pageOf, queryBoolean } from "./page.ts";
import { nodeQualification } from "./qualification.ts";

export const acceleratorCounts = z
  .object({
    total: count,
    held: count.meta({ description: "Accelerators allocated to attempts." }),
    free: count.meta({ description: "Free accelerators on schedulable nodes." }),
    unavailable: count.meta({
      description: "Free accelerators on nodes that are lost, draining, in maintenance or spares.",
    }),
    foreign: count.optional().meta({
      description: "Accelerators that work uses which Headroom does not run; absent: none.",
    }),
  })
  .meta({ id: "AcceleratorCounts" });

export const nodeCounts = z.object({
  total: count,
  up: count,
  lost: count,
  draining: count,
  qualifying: count
    .optional()
    .meta({ description: "Nodes that take no work until they have qualified; absent: none." }),
  inMaintenance: count.meta({ description: "Nodes on which a maintenance window is open now." }),
});

export const fleet = z
  .object({
    sites: z.array(site),
    pools: z.array(
      pool
        .extend({
          nodes: count,
          accelerators: acceleratorCounts,
          qualifying: count.optional().meta({ description: "Number of nodes that have to qualify; absent: none." }),
          hotSparesKept: count.optional().meta({ description: "Number of spare nodes; absent: none." }),
        })
        .meta({ id: "PoolUse" }),
    ),
    acceleratorTypes: z.array(z.object({ type: z.string(), accelerators: acceleratorCounts })),
    nodes: nodeCounts,
    accelerators: acceleratorCounts,
    caps: z
      .array(
        z.object({
          of: z.enum(["power", "cooling"]),
          level: z.string(),
          path: z.array(z.string()).meta({ description: "The site, and the domain below it." }),
          capWatts: count,
          drawWatts: count.meta({ description: "Declared draw of its nodes and of the work that is placed there." }),
        }),
      )
      .optional()
      .meta({ description: "Domains with a cap, the fullest first; at most 1,000. Absent: no site has caps." }),
  })
  .meta({ id: "Fleet", description: "Totals of the fleet. The nodes come in pages from /v1/nodes." });

export const nodeHolder = z
  .object({
    accelerators: z
      .string()
      .meta({ description: 'Indices of accelerators as ranges: "0-3,6"; empty for a worker without accelerators.' }),
    slice: count.optional().meta({ description: "First memory slice of its MIG slice; absent: it has no MIG slice." }),
    profile: z.string().optional().meta({ description: "The MIG profile of the slice." }),
    attemptId: z.string(),
    worker: count.meta({ description: "Rank." }),
    workloadId: z.string(),
    workloadName: z.string(),
    team: z.string(),
    phase: z.enum(["launching", "running", "stopping"]),
  })
  .meta({ id: "NodeHolder" });

const nodePhase = z
  .object({
    name: z.enum(["inService", "qualifying", "draining", "removing", "lost"]).meta({
      description:
        "`inService`: the node takes work; `qualifying`: it takes no new work until it has passed the suite of its pool; `draining`: it takes no new work; `removing`: it is removed when its last work has ended; `lost`: its executor does not reach it. A lost node stays lost while it is drained or removed.",
    }),
    sinceMs: instantMs.optional().meta({ description: "Absent: not recorded." }),
    actor: z.string().optional().meta({ description: "The user who caused the phase; absent: not recorded." }),
  })
  .meta({ id: "NodePhase" });

export const node = z
  .object({
    id: z.string(),
    pool: z.string(),
    site: z.string(),
    fabric: z
      .array(z.string())
      .meta({ description: "The node's domain at each level of the site's fabric, widest first." }),
    acceleratorType: z.string(),
    acceleratorsChanged: z.literal(true).optional().meta({
      description:
        "Accelerators that were found and differ from the recorded ones. No new work is placed on the node until it is empty and the new ones are recorded. Absent: the recorded ones were found.",
    }),
    acceleratorCount: count,
    freeAccelerators: z.string().meta({ description: "Indices of free accelerators, as ranges." }),
    coresMilli: count,
    coresFreeMilli: z.int(),
    memoryMib: count,
    memoryFreeMib: z.int(),
    networkGbps: count.optional().meta({
      description: "Network bandwidth in Gbps that workers can reserve; absent: the node's pool states none.",
    }),
    networkFreeGbps: z.int().optional(),
    phase: nodePhase,
    health: z.enum(["up", "lost"]),
    draining: z.boolean(),
    suspended: z.literal(true).optional().meta({
      description:
        "The node gets no new work, because its executor is not reachable, was removed or is only followed; absent: its executor takes work.",
    }),
    foreignUse: z
      .object({
        accelerators: z.string().meta({ description: "Indices of the accelerators that count as used, as ranges." }),
        coresMilli: count,
        memoryMib: count,
      })
      .optional()
      .meta({
        id: "ForeignUse",
        description:
          "Amounts that work uses which Headroom does not run, as the node's executor reports; absent: none, or it does not report them.",
      }),
    qualification: nodeQualification.optional().meta({
      description: "The qualification that the node has not passed yet; absent: none.",
    }),
    hotSpare: z
      .literal(true)
      .optional()
      .meta({ description: "Whether the node is a spare, kept to replace lost nodes; absent: it is not." }),
    maintenance: z
      .object({ name: z.string(), untilMs: instantMs })
      .optional()
      .meta({ description: "The maintenance window that is open on the node now; absent: none." }),
    notice: z
      .object({
        goneAtMs: instantMs,
        overAtMs: instantMs.meta({ description: "The time at which the drain ends if the node is still there." }),
        reason: z.string().optional(),
      })
      .optional()
      .meta({
        id: "Notice",
        description: "The time at which the provider takes the node back; absent: none is known.",
      }),
    joinedAtMs: instantMs,
    labels: z.record(z.string(), z.string()).meta({ description: "Labels for node selectors and spreading." }),
    holders: z.array(nodeHolder),
  })
  .meta({ id: "Node" });

export const nodePage = pageOf(node, "NodePage");
export const nodeAccepted = z.object({ nodeId: z.string() }).meta({ id: "NodeAccepted" });

const stoppedFirst = z.number().int().nonnegative().meta({
  description: "Workloads that are stopped and requeued first. 0: the removal is complete.",
});
export const nodeRemoved = z.object({ nodeId: z.string(), workloads: stoppedFirst }).meta({ id: "NodeRemoved" });
const removedNodes = z.number().int().nonnegative().meta({ description: "Number of nodes that are removed with it." });
export const poolRemoved = z
  .object({ pool: z.string(), nodes: removedNodes, workloads: stoppedFirst })
  .meta({ id: "PoolRemoved" });
export const siteRemoved = z
  .object({
    site: z.string(),
    pools: z.number().int().nonnegative().meta({ description: "Number of pools that are removed with it." }),
    nodes: removedNodes,
    workloads: stoppedFirst,
  })
  .meta({ id: "SiteRemoved" });
export const removalQuery = z.strictObject({
  force: queryBoolean.optional().meta({
    description:
      "Stop the work on the nodes, with its grace period, and requeue it; the removal follows. Without it, a removal is refused while work runs there.",
  }),
});

export const drainRequest = z
  .strictObject({
    running: z.enum(["wait", "requeue"]).default("wait").meta({
      description:
        "`wait`: running work finishes; `requeue`: running work is stopped with its grace period and queued again.",
    }),
  })
  .meta({ id: "DrainRequest" });

export const noticeRequest = z
  .strictObject({
    goneAtMs: integer(0, INSTANT_MS_MAX).optional().meta({ description: "The time at which the node leaves." }),
    inMs: integer(0, limits.DURATION_MS_MAX).optional().meta({
      description: "Time from the acceptance of the request until the node leaves; used instead of `goneAtMs`.",
    }),
    reason: names.reason.optional(),
  })
  .refine(({ goneAtMs, inMs }) => (goneAtMs === undefined) !== (inMs === undefined), {
    message: "must say either goneAtMs or inMs",
  })
  .meta({ id: "NoticeRequest" });
export const noticeAccepted = z.object({ nodeId: z.string(), goneAtMs: instantMs }).meta({ id: "NoticeAccepted" });

export type AcceleratorCounts = z.output<typeof acceleratorCounts>;
export type Fleet = z.output<typeof fleet>;
export type NodeHolder = z.output<typeof nodeHolder>;
export type Node = z.output<typeof node>;
export type NodePhase = z.output<typeof nodePhase>;
export type NodeRemoved = z.output<typeof nodeRemoved>;
export type PoolRemoved = z.output<typeof poolRemoved>;
export type SiteRemoved = z.output<typeof siteRemoved>;
export type NodeAccepted = z.output<typeof nodeAccepted>;
export type NoticeRequestInput = z.input<typeof noticeRequest>;
export type NoticeAccepted = z.output<typeof noticeAccepted>;
