/** Verdicts: the reason why work waits, in the engine's numbers and as a sentence. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";
import { prediction } from "./attempt.ts";
import { orderPhase } from "./capacity-order.ts";
import { pageOf, type PageAnswer } from "./page.ts";
import { workloadKinds, workloadSummary } from "./workload.ts";

const sentence = z.string().meta({ description: "The reason as a sentence." });

const group = z.string().optional().meta({
  description: "The task group that does not fit beside the other groups of the gang; absent: the gang has no groups.",
});

/** Number of accelerators; a fraction counts as its part. */
const partial = z.number().min(0);

const fleetLack = z
  .discriminatedUnion("of", [
    z.object({ of: z.literal("type") }).meta({ description: "The fleet has no nodes of an accepted type." }),
    z
      .object({ of: z.literal("part"), profile: z.string() })
      .meta({ description: "The fleet has no device with this MIG profile." }),
    z
      .object({
        of: z.enum(["accelerators", "acceleratorMemory", "cores", "memory", "networkGbps"]),
        perWorker: partial,
        perNodeMax: count,
      })
      .meta({
        description:
          "A worker needs more than any accepted node has, in accelerators, thousandths of a core, MiB of memory or Gbit/s.",
      }),
    z.object({ of: z.enum(["nodeSelector", "spread", "fabric", "executor", "power"]) }).meta({
      description:
        "The placement constraint of this name cannot be met on the empty fleet; `executor`: no single executor has enough nodes for the gang; `power`: caps on power or cooling.",
    }),
  ])
  .meta({ id: "FleetLack" });

const closedCapacity = z
  .object({
    freeCount: count,
    nodeCount: count,
    nodes: z.array(z.string()).meta({ description: "The first of the closed nodes." }),
    name: z.string().meta({ description: "The first calendar window on these nodes." }),
    window: z.enum(["maintenance", "reservation"]),
    startMs: instantMs,
    endMs: instantMs,
  })
  .optional()
  .meta({
    description:
      "Free accelerators on accepted nodes that calendar windows close to the work; `freeCount` of the reason does not include them. Absent: none.",
  });

export const blockedReason = z
  .discriminatedUnion("kind", [
    z
      .object({
        kind: z.literal("exceedsFleet"),
        group,
        acceleratorTypes: z.array(z.string()),
        workers: count,
        placeableWorkers: count,
        neededCount: partial.meta({
          description: "Total number of free accelerators; a fraction counts as its fraction.",
        }),
        fleetCount: count.meta({ description: "Accelerators of the most frequent accepted type, on accepted nodes." }),
        lack: fleetLack.optional().meta({
          description:
            "Missing resource or constraint; absent: the group would fit alone, or only the constraints together cannot be met.",
        }),
        sentence,
      })
      .meta({ description: "The gang would not fit on the nodes that are up now, even if these nodes were empty." }),
    z
      .object({
        kind: z.literal("acceleratorShortfall"),
        group,
        acceleratorTypes: z.array(z.string()),
        neededCount: count,
        freeCount: count,
        fleetCount: count,
        closed: closedCapacity,
        sentence,
      })
      .meta({ description: "Too few accelerators are free on accepted nodes." }),
    z
      .object({
        kind: z.literal("workerShortfall"),
        group,
        workers: count,
        placeableWorkers: count,
        binding: z
          .enum(["accelerators", "cores", "memory", "networkGbps", "room", "spread", "fabric", "executor"])
          .meta({
            description:
              "The resource or constraint that is too small. `room`: cores and memory are each free, but not together on one node; `spread`, `fabric`: capacity is free, but the constraint is not met; `executor`: it is free on several executors, and a gang lies within one.",
          }),
        neededPerWorker: partial.meta({
          description:
            "Amount in thousandths of a core or MiB of memory if `binding` is one of them, else in accelerators.",
        }),
        freeCount: count.meta({
          description: "Wholly free accelerators of the accepted type with the most free capacity, on accepted nodes.",
        }),
        closed: closedCapacity,
        sentence,
      })
      .meta({
        description:
          "The total is enough, but the free accelerators are scattered, lack cores or memory beside them, or miss a placement constraint.",
      }),
    z
      .object({
        kind: z.literal("partShortfall"),
        group,
        profile: z.string(),
        sliceCount: count.meta({ description: "Memory slices of one MIG slice of the profile." }),
        workers: count,
        placeableWorkers: count,
        misalignedCount: count.meta({
          description: "Accelerators with enough free slices in positions where the profile cannot start.",
        }),
        sentence,
      })
      .meta({ description: "Too few accelerators have free slices in positions where the profile can start." }),
    z.object({ kind: z.literal("minRuntime"), workloadId: z.string(), untilMs: instantMs, sentence }).meta({
      description:
        "A victim is protected by its minimum runtime until this time; with several victims, the latest of their times.",
    }),
    z
      .object({
        kind: z.literal("antiAffinity"),
        workloadIds: z.array(z.string()).meta({ description: "Workloads in conflict, but only the first ones." }),
        workers: count,
        placeableWorkers: count,
        sentence,
      })
      .meta({ description: "Capacity is free, but anti-affinity excludes it." }),
    z
      .object({
        kind: z.literal("dataRule"),
        rule: z.string(),
        pools: z.array(z.string()).meta({ description: "Pools that admit work under the rule." }),
        workers: count,
        placeableWorkers: count,
        sentence,
      })
      .meta({ description: "Capacity is free, but not in pools that admit the data rule." }),
    z
      .object({
        kind: z.literal("workloadKind"),
        workloadKind: z.enum(workloadKinds),
        pools: z.array(z.string()).meta({ description: "Pools that take work of this kind." }),
        workers: count,
        placeableWorkers: count,
        sentence,
      })
      .meta({ description: "Capacity is free, but not in pools that take this kind of workload." }),
    z
      .object({
        kind: z.literal("powerCap"),
        of: z.enum(["power", "cooling"]),
        domain: z.string().meta({ description: "The domain with the cap, such as `rack r3`." }),
        capWatts: count,
        usedWatts: count.meta({ description: "Draw of the nodes of the domain and of all work placed there." }),
        neededWatts: count.nullable().meta({
          description:
            "Draw of the workers that would be placed there without the cap; null: their pool does not state it.",
        }),
        workers: count,
        placeableWorkers: count,
        sentence,
      })
      .meta({ description: "Accelerators are free, but a domain has no power or cooling left for them." }),
    z
      .object({
        kind: z.literal("image"),
        image: z.string(),
        pools: z.array(z.string()).meta({ description: "Pools whose executor runs container images." }),
        workers: count,
        placeableWorkers: count,
        sentence,
      })
      .meta({ description: "Capacity is free, but not in pools that run container images." }),
    z
      .object({
        kind: z.literal("secrets"),
        pools: z
          .array(z.string())
          .meta({ description: "Pools whose executor gives the workers the secrets that they name." }),
        workers: count,
        placeableWorkers: count,
        sentence,
      })
      .meta({ description: "Capacity is free, but not in pools that give the workers their secrets." }),
    z
      .object({
        kind: z.literal("transfers"),
        direction: z.enum(["in", "out"]).meta({ description: "`in`: inputs in stores; `out`: uploads." }),
        pools: z.array(z.string()).meta({ description: "Pools whose executor makes these transfers." }),
        from: z
          .string()
          .optional()
          .meta({ description: "A directory that the work names, which keeps it out of pools that upload." }),
        workers: count,
        placeableWorkers: count,
        sentence,
      })
      .meta({
        description: "Capacity is free, but not in pools whose executor brings inputs from stores, or uploads.",
      }),
    z.object({
      kind: z.literal("teamLimit"),
      bound: z.enum(["limit", "user", "guarantee", "unguaranteed", "borrowing", "budget"]).meta({
        description:
          "The limit that is reached: the team's limit; its limit per user; its guarantee, for non-preemptible work; `unguaranteed`: capacity that the unused guarantees of other teams do not need, for non-preemptible work (`usedCount`: the sum of the use by non-preemptible work and of guarantees beyond it, of `limitCount` in the fleet); its borrowing limit; a budget.",
      }),
      user: z.string().optional().meta({ description: "The user whose limit is reached." }),
      team: z.string(),
      acceleratorType: z.string(),
      resource: z
        .string()
        .meta({ description: "The limited resource: an accelerator type, or another resource that teams limit." }),
      limitCount: z.number(),
      usedCount: z.number(),
      neededCount: z.number(),
      sentence,
    }),
    z
      .object({
        kind: z.literal("reservedTopology"),
        team: z
          .string()
          .nullable()
          .meta({ description: "The team that owns the reserved topology; null: no team above it owns any." }),
        neededCount: count,
        ownedCount: count,
        heldCount: count,
        sentence,
      })
      .meta({ description: "The workload uses its team's reserved topology, but fits none of the free cells." }),
    z
      .object({ kind: z.literal("behindHead"), headWorkloadId: z.string(), aheadCount: count, sentence })
      .meta({ description: "The head of the queue does not fit, and the policy starts no work behind it." }),
    z.object({ kind: z.literal("held"), sentence }),
    z.object({
      kind: z.literal("waitsFor"),
      workloadId: z.string(),
      on: z.enum(["ok", "failed", "any", "artifact"]),
      artifact: z.string().optional().meta({ description: "Name of the artifact, if the dependency is an artifact." }),
      othersCount: count.meta({ description: "Number of further dependencies that are not met." }),
      sentence,
    }),
    z.object({ kind: z.literal("notBefore"), atMs: instantMs, sentence }),
    z
      .object({
        kind: z.literal("startWindow"),
        microUsdPerKwh: z.int().nullable().meta({ description: "Price now; null: no tariff states one." }),
        microUsdPerKwhMax: z.int().nullable().meta({ description: "Limit that the workload states; null: none." }),
        gramsPerKwh: count.nullable(),
        gramsPerKwhMax: count.nullable(),
        cheapestMs: count
          .optional()
          .meta({ description: "Length of the cheapest time that the workload waits for, before its latest start." }),
        cleanestMs: count.optional().meta({
          description: "Length of the time with the least carbon that the workload waits for, before its latest start.",
        }),
        opensAtMs: instantMs
          .nullable()
          .meta({ description: "Next start window by the tariffs; null: the tariffs state none." }),
        latestStartAtMs: instantMs
          .nullable()
          .meta({ description: "Time after which the workload starts at any price; null: none." }),
        sentence,
      })
      .meta({ description: "The price or the carbon intensity of power exceeds the workload's limit." }),
    z
      .object({
        kind: z.literal("reservation"),
        workloadId: z.string(),
        startMs: instantMs,
        expectedEndMs: instantMs,
        prediction: prediction.optional(),
        awaitsNodes: z
          .literal(true)
          .optional()
          .meta({ description: "The protected start waits for ordered nodes, and idle capacity is held for it." }),
        sentence,
      })
      .meta({ description: "The workload would fit, but would delay a protected start." }),
    z
      .object({
        kind: z.literal("budget"),
        team: z.string(),
        resource: z.enum(["gpuHours", "money"]),
        limit: z.number().meta({ description: "Accelerator-hours or micro-dollars." }),
        spent: z.number(),
        renewsAtMs: instantMs.nullable(),
        sentence,
      })
      .meta({ description: "The budget of its team or of one above it is used up." }),
    z
      .object({
        kind: z.literal("window"),
        name: z.string(),
        window: z.enum(["maintenance", "reservation"]),
        startMs: instantMs,
        endMs: instantMs,
        expectedEndMs: instantMs,
        sentence,
      })
      .meta({ description: "The workload would fit, but could run into a calendar window that excludes it." }),
    z
      .object({
        kind: z.literal("hotSparesKept"),
        acceleratorTypes: z.array(z.string()),
        nodes: count,
        suffice: z
          .literal(false)
          .optional()
          .meta({ description: "false: the spares alone are not enough, and the following reasons also apply." }),
        sentence,
      })
      .meta({ description: "The workload would fit if these nodes were not kept as hot spares." }),
    z
      .object({ kind: z.literal("nominated"), nodes: z.array(z.string()), sentence })
      .meta({ description: "A place is nominated; the workload starts when the terminating work on it has ended." }),
    z.object({ kind: z.literal("backoff"), untilMs: instantMs, failures: count, sentence }),
    z
      .object({ kind: z.literal("taskLimit"), tasksAtOnce: count, sentence })
      .meta({ description: "As many tasks of the array run as it may have at one time." }),
  ])
  .meta({ id: "BlockedReason" });

const neverStarts = z.literal(true).optional().meta({
  description:
    "Present if the workload can never start while fleet, limits and budgets stay as they are, whatever other work ends.",
});

export const expectedCapacity = z
  .object({
    orders: z
      .array(z.object({ name: z.string(), pool: z.string(), phase: orderPhase, nodes: count, lateMs: count }))
      .meta({
        description: "The orders that are needed, with the nodes that are still to come; first the first expected.",
      }),
    p50AtMs: instantMs.meta({ description: "When the last of them is expected." }),
    p95AtMs: instantMs,
    sentence,
  })
  .meta({
    id: "ExpectedCapacity",
    description:
      "Capacity orders with whose nodes the fleet could hold the workload. They are no capacity until the nodes have joined.",
  });

export const verdict = z
  .discriminatedUnion("kind", [
    z.object({
      kind: z.literal("blocked"),
      sentence,
      neverStarts,
      reasons: z.array(blockedReason).meta({ description: "Reasons; the first one is the main one." }),
      deadline: z.object({ deadlineMs: instantMs, earliestEndMs: instantMs }).optional().meta({
        description:
          "Deadline that the workload will miss or has missed, computed from its earliest start and its walltime.",
      }),
      expectedCapacity: expectedCapacity.optional().meta({
        description: "Present if the fleet cannot hold the workload now, and could with nodes that are ordered.",
      }),
      wakeOn: z.array(z.string()).meta({ description: "Kinds of event that can change this answer." }),
    }),
    z.object({ kind: z.literal("placeable"), sentence }),
    z.object({ kind: z.literal("notWaiting"), sentence }),
  ])
  .meta({ id: "Verdict" });

export const queueEntry = z
  .object({
    position: count.meta({ description: "Position in queue order; 0 is considered first." }),
    workload: workloadSummary,
    reason: blockedReason
      .nullable()
      .meta({ description: "The main reason; null: the workload starts within a moment." }),
    neverStarts,
  })
  .meta({ id: "QueueEntry" });

export const holdReason = z
  .object({
    held: count,
    waitsFor: count.meta({ description: "Workloads with an unmet dependency." }),
    notBefore: count.meta({ description: "Workloads whose `notBefore` is in the future." }),
    startWindow: count.meta({
      description: "Workloads whose limit on the price or carbon of power is exceeded now.",
    }),
    backoff: count.meta({ description: "Workloads in back-off after a failure." }),
    nominated: count.meta({
      description: "A place is nominated; the workload starts when the terminating work on it has ended.",
    }),
  })
  .meta({ id: "HoldReason", description: "Pending workloads that are not in the queue, by hold reason." });

export const queuePage = pageOf(queueEntry, "QueueEntryPage")
  .extend({
    waiting: z
      .object({ workloads: count, tasks: count, accelerators: partial })
      .meta({ description: "Totals over the whole queue, not only this page." }),
    holdReason: holdReason
      .optional()
      .meta({ description: "Pending workloads of the same filter that are not in the queue; present if requested." }),
  })
  .meta({ id: "QueuePage" });

export type BlockedReason = z.output<typeof blockedReason>;
export type Verdict = z.output<typeof verdict>;
export type QueueEntry = z.output<typeof queueEntry>;
export type HoldReason = z.output<typeof holdReason>;
export type QueuePage = PageAnswer<z.output<typeof queuePage>>;

/** Whether the workload can never start while fleet, limits and budgets stay as they are, and no ordered nodes change that. */
export const canNeverStart = (verdict: Verdict): boolean =>
  verdict.kind === "blocked" && verdict.neverStarts === true && verdict.expectedCapacity === undefined;
