/**
 * Forecasts: changes that would start waiting work, the outcome of a submission, and expected starts. The engine
 * computes each on a fork of the live state, and nothing is recorded.
 */
import { z } from "zod";
import { count, instantMs, limits, names, opaqueId, powerCapNotation, site, teamSpec } from "@headroom/spec";
import { pageOf } from "./page.ts";
import { policyChoice } from "./policy.ts";
import { expectedCapacity, verdict } from "./verdict.ts";
import { notices, workloadSummary } from "./workload.ts";

const sentence = z.string().meta({ description: "The change as a sentence." });
const group = z.string().optional().meta({ description: "The task group of the gang; absent: the gang has none." });
const fromTo = { from: count, to: count };

export const change = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("release"), sentence }),
    z.object({
      kind: z.literal("dropNotBefore"),
      atMs: instantMs.meta({ description: "Earliest start that the request states." }),
      sentence,
    }),
    z.object({
      kind: z.literal("dropStartWindow"),
      conditions: z
        .array(z.enum(["microUsdPerKwhMax", "gramsPerKwhMax", "cheapestMs", "cleanestMs"]))
        .meta({ description: "The power request without which it would start." }),
      sentence,
    }),
    z.object({ kind: z.literal("otherType"), acceleratorType: z.string(), group, sentence }),
    z.object({ kind: z.literal("dropSelector"), labels: z.array(z.string()), sentence }),
    z.object({
      kind: z.literal("widerFabric"),
      from: z.string(),
      to: z.string().nullable().meta({ description: "Topology level; null: the workers can be anywhere." }),
      slices: z.boolean().meta({ description: "Whether the level applies to the slices of the gang." }),
      group,
      sentence,
    }),
    z.object({ kind: z.literal("widerSpread"), topologyKey: z.string(), ...fromTo, sentence }),
    z.object({ kind: z.literal("preemptible"), sentence }),
    z.object({
      kind: z.literal("dropAntiAffinity"),
      terms: z
        .array(
          z.union([
            z.strictObject({ exclusive: z.literal(true) }),
            z.strictObject({
              of: z.string().meta({ description: "Workload set to which the work would no longer belong." }),
            }),
            z.strictObject({ set: z.string(), within: z.string() }),
            z.strictObject({ set: z.string(), topologyKey: z.string() }),
          ]),
        )
        .meta({ description: "The spread and anti-affinity rules without which the work would start." }),
      sentence,
    }),
    z.object({ kind: z.literal("shorterWalltime"), fromMs: count.nullable(), toMs: count, sentence }),
    z.object({ kind: z.literal("fewerWorkers"), ...fromTo, group, sentence }),
    z.object({ kind: z.literal("fewerAccelerators"), ...fromTo, group, sentence }),
    z.object({ kind: z.literal("fewerCores"), fromMilli: count, toMilli: count, group, sentence }),
    z.object({ kind: z.literal("lessMemory"), fromMib: count, toMib: count, group, sentence }),
    z.object({ kind: z.literal("lessNetwork"), fromGbps: count, toGbps: count, group, sentence }),
    z.object({ kind: z.literal("higherPriority"), from: z.int(), to: z.int(), sentence }),
    z.object({
      kind: z.literal("largerGuarantee"),
      team: z.string(),
      resource: z.string(),
      from: z.number().nullable().meta({ description: "The team's guarantee; null: the team states none." }),
      to: z.number(),
      sentence,
    }),
    z.object({
      kind: z.literal("largerLimit"),
      team: z.string(),
      resource: z.string(),
      from: z.number(),
      to: z.number(),
      user: z.string().optional().meta({ description: "The team's limit per user; absent: the team's own limit." }),
      sentence,
    }),
    z.object({
      kind: z.literal("largerBudget"),
      budgets: z
        .array(
          z.object({
            team: z.string(),
            resource: z.enum(["gpuHours", "money"]).meta({ description: "Money in micro-dollars." }),
            from: z.number(),
            to: z.number(),
          }),
        )
        .meta({
          description:
            "All budgets that are used up and block the work, each rounded up to the next GPU-hour or dollar.",
        }),
      sentence,
    }),
    z.object({
      kind: z.literal("resumeNodes"),
      nodes: z.array(z.string()).meta({ description: "Drained nodes that would be schedulable again." }),
      sentence,
    }),
    z.object({
      kind: z.literal("laterWindow"),
      name: z.string(),
      window: z.enum(["maintenance", "reservation"]),
      fromMs: instantMs.meta({ description: "Its start." }),
      toMs: instantMs.meta({ description: "New start of the window; its duration stays." }),
      sentence,
    }),
    z.object({ kind: z.literal("fewerHotSpares"), pool: z.string(), ...fromTo, sentence }),
    z.object({
      kind: z.literal("admitData"),
      rule: z.string(),
      pools: z.array(z.string()).meta({ description: "Pools that would admit work under the rule." }),
      sentence,
    }),
    z.object({
      kind: z.literal("afterEnds"),
      count: count.meta({ description: "Running attempts, earliest expected end first." }),
      workloadId: z.string().meta({ description: "The attempt with the latest end." }),
      expectedAtMs: instantMs,
      sentence,
    }),
    z.object({ kind: z.literal("moreNodes"), count, acceleratorType: z.string(), like: z.string(), sentence }),
  ])
  .meta({ id: "Change" });

export const wouldStart = z
  .object({
    acceleratorType: z.string(),
    nodes: z.array(z.string()),
    atOnce: z.boolean().meta({ description: "false: the work starts once the preempted work has ended." }),
    displaced: z
      .array(
        z.object({
          workloadId: z.string(),
          name: z.string(),
          workers: count.meta({ description: "Number of workers that would be stopped." }),
          keeps: count.meta({ description: "Number of workers with which it would continue; 0: it would stop." }),
          lostAcceleratorMs: z.number().meta({
            description: "Lost work in accelerator-time: the work since the last checkpoint, and the restart.",
          }),
        }),
      )
      .meta({ description: "The work that would be preempted for it." }),
    sentence,
  })
  .meta({ id: "WouldStart" });

export const startingChange = z.object({ change, start: wouldStart }).meta({ id: "StartingChange" });
export const startingChanges = z
  .object({
    items: z.array(startingChange).meta({
      description:
        "For each kind of change, the smallest one that starts the work now; the cheapest kind first. Each change was simulated.",
    }),
  })
  .meta({ id: "StartingChanges" });

export const expectedTransfer = z
  .object({
    mib: count.meta({ description: "Bytes that are not on the node yet, in MiB." }),
    stores: z.array(z.string()).meta({ description: "Stores from which they come." }),
    unknownCount: count.meta({ description: "Inputs of unknown size, which size, times and cost leave out." }),
    p10Ms: count.nullable().meta({ description: "Time of the transfer; null: unknown." }),
    p50Ms: count.nullable(),
    p90Ms: count.nullable(),
    readingCount: count.meta({
      description: "Measured transfers behind the times; 0: the store's declared throughput, or nothing.",
    }),
    egressMicroUsd: count.meta({ description: "Cost of the bytes that leave the site of their store." }),
    sentence,
  })
  .meta({ id: "ExpectedTransfer" });

export const startEstimate = z
  .object({
    workloadId: z.string().meta({ description: "For an array with some tasks started: the start of the next task." }),
    atMs: instantMs.meta({ description: "Time of the request." }),
    p10AtMs: instantMs.nullable().meta({
      description: "Expected start; null: the work does not start within the horizon, or before `playedUntilMs`.",
    }),
    p50AtMs: instantMs.nullable(),
    p90AtMs: instantMs.nullable(),
    playedUntilMs: instantMs.optional().meta({
      description:
        "Simulated time at which the scenarios were cut off because of their size; absent: the whole horizon was simulated.",
    }),
    because: z.object({
      endsBefore: count.meta({ description: "Number of attempts, running now or started within the horizon." }),
      startsBefore: count,
      startedCount: count,
      scenarioCount: count.meta({
        description: "Number of scenarios; 0: the work can never start, and nothing was simulated.",
      }),
      arrivalsReplayed: z.boolean(),
      history: z
        .object({
          runningCount: count.meta({ description: "Number of running attempts." }),
          byProgressCount: count.meta({ description: "Number of running attempts that report progress." }),
          unknownCount: count.meta({
            description:
              "Number of running attempts that report no progress and have no completed run of their family and size.",
          }),
          byWalltimeCount: count.meta({ description: "Number of `unknownCount` attempts with a walltime." }),
          similarRunCount: count.meta({
            description: "Number of completed runs of the families and sizes of running work.",
          }),
        })
        .optional()
        .meta({ description: "Where the run times come from; absent: nothing was simulated." }),
    }),
    accuracy: z
      .object({
        startCount: count.meta({ description: "Number of the newest starts of work with a forecast, at most 200." }),
        medianErrorMs: count.meta({ description: "Median distance of p50AtMs from the start that came." }),
      })
      .optional()
      .meta({ description: "Errors of earlier forecasts of this server; absent: no forecast has ended yet." }),
    expectedCapacity: expectedCapacity.optional().meta({
      description: "Ordered nodes without which the work cannot start; no scenario counts on them. Absent: none.",
    }),
    transfer: expectedTransfer.optional().meta({
      description: "Inputs that are brought to the node after the placement; absent: none.",
    }),
    workers: z.object({ p10AtMs: instantMs, p50AtMs: instantMs, p90AtMs: instantMs.nullable() }).optional().meta({
      description:
        "Start of the workers: placement and transfer together; absent: no transfer, or its time is unknown.",
    }),
    sentence,
  })
  .meta({ id: "StartEstimate" });

export const expectedStart = z
  .object({ workload: workloadSummary, estimate: startEstimate })
  .meta({ id: "ExpectedStart" });
export const expectedStartPage = pageOf(expectedStart, "ExpectedStartPage");

export const submissionForecast = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("starts"), start: wouldStart, notices, sentence }),
    z.object({
      kind: z.literal("waits"),
      verdict,
      changes: z.array(startingChange),
      estimate: startEstimate
        .omit({ workloadId: true })
        .nullable()
        .meta({ description: "Predicted start; null: the fleet could never hold it, or no prediction was requested." }),
      notices,
      sentence,
    }),
  ])
  .meta({ id: "SubmissionForecast" });

const HOUR_MS = 3_600_000;
/** Maximum length of a forecast: a week. Beyond it, later submissions matter more than present waiting work. */
export const whatIfHorizonMs = { min: 60_000, max: 168 * HOUR_MS } as const;
const WHAT_IF_NODES_MAX = 10_000;

const WHAT_IF_POOLS_MAX = 100;
const WHAT_IF_CAPS_MAX = 100;
/**
 * Maximum number of nodes that one question adds, over all pools and copies. A node costs about 6 KB in each of the two
 * timelines, so this is a few hundred MiB, and it is five times the largest fleet of one site.
 */
export const WHAT_IF_ADDED_NODES_MAX = 50_000;

export const lostDomain = z.strictObject({
  level: z.string().min(1).max(limits.ID_CHARS_MAX).optional().meta({
    description:
      "`node`, `site`, `pool`, a level of the fabric such as `leaf`, or the key of a node label such as `rack` or `power`; absent: any.",
  }),
  name: z.string().min(1).max(limits.ID_CHARS_MAX).meta({
    description: "Name of the failure domain. For a fabric domain, the end of its path is enough: `spine-1/leaf-2`.",
  }),
});

const addedPool = z.strictObject({
  name: names.poolName,
  site: names.siteName.optional().meta({ description: "An existing or added site; absent: the only site." }),
  acceleratorType: z
    .union([names.acceleratorType, z.literal("")])
    .default("")
    .meta({
      description: "Any accelerator type, also one that the fleet does not have; empty: the pool has no accelerators.",
    }),
  nodes: z.int().min(1).max(WHAT_IF_NODES_MAX),
  acceleratorsPerNode: z.int().min(0).max(limits.ACCELERATORS_PER_NODE_MAX).default(0),
  coresMilli: z.int().min(0).max(limits.CORES_MILLI_MAX).default(limits.CORES_MILLI_MAX),
  memoryMib: z.int().min(0).max(limits.MEMORY_MIB_MAX).default(limits.MEMORY_MIB_MAX),
  priceMicroUsdPerHour: z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(0),
  nodesPerDomain: z
    .int()
    .min(1)
    .max(WHAT_IF_NODES_MAX)
    .optional()
    .meta({ description: "Nodes in each domain of the lowest fabric level; absent: all of them in one." }),
  labels: names.labels.optional(),
});

interface AddedNodes {
  readonly addPools: readonly { readonly nodes: number }[];
  readonly addNodes: readonly { readonly count: number }[];
}

/** Number of nodes that a question adds. */
const addedNodeCount = ({ addPools, addNodes }: AddedNodes): number =>
  addPools.reduce((sum, { nodes }) => sum + nodes, 0) + addNodes.reduce((sum, { count }) => sum + count, 0);

export const whatIfQuestion = z
  .strictObject({
    horizonMs: z
      .int()
      .min(whatIfHorizonMs.min)
      .max(whatIfHorizonMs.max)
      .default(12 * HOUR_MS),
    lose: z.array(lostDomain).max(WHAT_IF_NODES_MAX).default([]).meta({
      description: "Nodes and failure domains that are lost, by the names of the recorded topology.",
    }),
    addSites: z.array(site).max(WHAT_IF_POOLS_MAX).default([]),
    addPools: z
      .array(addedPool)
      .max(WHAT_IF_POOLS_MAX)
      .default([])
      .meta({ description: "New pools; their nodes lie in new fabric domains of their site." }),
    caps: z.array(powerCapNotation.wire).max(WHAT_IF_CAPS_MAX).default([]).meta({
      description: "Caps on power and cooling at every site with the domain, in place of its cap on the same domain.",
    }),
    loseNodes: z.array(opaqueId).max(WHAT_IF_NODES_MAX).default([]),
    addNodes: z
      .array(z.strictObject({ like: opaqueId, count: z.int().min(1).max(WHAT_IF_NODES_MAX) }))
      .max(100)
      .default([])
      .meta({ description: "Nodes that copy an existing node. Several entries for a node add up." }),
    orders: z.array(names.orderName).max(100).default([]).meta({
      description: "Capacity orders whose nodes are in the fleet from the beginning, whatever their dates.",
    }),
    proposals: z
      .array(opaqueId)
      .max(100)
      .default([])
      .meta({ description: "Proposals whose changes are made at the beginning." }),
    teams: z.array(teamSpec).max(1000).default([]).meta({ description: "New definitions of teams." }),
    policy: policyChoice.optional().meta({ description: "Policy of the forecast; absent: the active policy." }),
    arrivals: z.enum(["recorded", "none"]).default("recorded").meta({
      description:
        "`recorded`: submissions of the recent past recur during the forecast, at most 5,000 and with at most 20,000 tasks; `none`: nothing is submitted.",
    }),
  })
  .refine((question) => addedNodeCount(question) <= WHAT_IF_ADDED_NODES_MAX, {
    message: `must add at most ${WHAT_IF_ADDED_NODES_MAX} nodes over all pools and copies; ask about a part of them`,
  })
  .meta({ id: "WhatIfQuestion", description: "Hypothetical changes. None of them is recorded." });

const timelineSample = z
  .object({
    atMs: instantMs,
    heldAccelerators: z.number().meta({ description: "Accelerators that are allocated, on nodes that have not left." }),
    usableAccelerators: count.meta({
      description: "Accelerators of schedulable nodes, and the allocated ones of draining nodes.",
    }),
    waitingWorkloads: count,
    waitingTasks: count.meta({ description: "Number of tasks of arrays, plus 1 for each other workload." }),
    waitingAccelerators: z.number(),
    startedWorkloads: count.meta({
      description: "Number of workloads that waited at the beginning and have started by then, wholly or partly.",
    }),
    startedTasks: count,
    heldByTeam: z.record(z.string(), z.number()),
  })
  .meta({ id: "TimelineSample" });

const arrivedWork = z
  .object({
    count: count.meta({ description: "Recurring submissions that the scheduler accepted." }),
    startedCount: count,
    meanWaitMs: count.meta({
      description:
        "Mean time from submission to the first start, or to the end of the forecast; 0 without submissions.",
    }),
  })
  .meta({ id: "ArrivedWork" });

const arrivals = z
  .object({
    recordedFromMs: instantMs.meta({
      description: "Beginning of the recorded time whose submissions recur. It ends at the beginning of the forecast.",
    }),
    recordedCount: count.meta({ description: "Submissions in the recorded time, without those of schedules." }),
    recurringCount: count.meta({ description: "Submissions that recur during the forecast." }),
    untilMs: instantMs.meta({
      description: "End of the forecast, or the time from which no submission recurs because of the maximum.",
    }),
  })
  .meta({ id: "RecurringArrivals" });

const timeline = z
  .object({
    samples: z.array(timelineSample),
    arrived: arrivedWork,
    evictions: count.meta({ description: "Attempts preempted or shrunk for other workloads." }),
    interruptions: count.meta({
      description: "Workloads that ran at the beginning, are stopped or lost before their end, and later run again.",
    }),
    lostAcceleratorMs: z.number().meta({ description: "Repeated work in accelerator-time." }),
  })
  .meta({ id: "Course" });

const interruption = z
  .object({
    taskCount: count.meta({ description: "Number of tasks of an array; 1 for other work." }),
    atMs: instantMs.meta({ description: "Start of the first task." }),
    againAtMs: instantMs
      .nullable()
      .meta({ description: "Time at which all of them run again; null: after the horizon." }),
    lostAcceleratorMs: z.number().meta({
      description: "Repeated work in accelerator-time: the work since the last checkpoint, or since the start.",
    }),
  })
  .meta({ id: "Interruption" });

export const whatIfAnswer = z
  .object({
    sequence: count.meta({
      description: "Sequence number of the newest event in the state from which both simulations start.",
    }),
    fromMs: instantMs,
    horizonMs: count,
    stepMs: count,
    arrivals: arrivals
      .nullable()
      .meta({ description: "Recorded submissions that recur in both forecasts; null: none were requested." }),
    present: timeline.meta({ description: "Forecast of the coming hours without the changes." }),
    changed: timeline,
    earlierCount: count,
    laterCount: count,
    moved: z
      .array(
        z.object({
          workloadId: z.string(),
          name: z.string(),
          team: z.string(),
          taskCount: count.meta({ description: "Number of waiting tasks of an array; 1 for other work." }),
          presentAtMs: instantMs
            .nullable()
            .meta({ description: "Start of the first task without the changes; null: after the horizon." }),
          changedAtMs: instantMs.nullable(),
          presentLastAtMs: instantMs.nullable().meta({ description: "Start of the last task." }),
          changedLastAtMs: instantMs.nullable(),
        }),
      )
      .meta({ description: "Waiting work whose start differs, in the order of submission; at most 500." }),
    interruptedCount: count.meta({ description: "Running work whose interruption differs between the two timelines." }),
    interrupted: z
      .array(
        z.object({
          workloadId: z.string(),
          name: z.string(),
          team: z.string(),
          present: interruption
            .nullable()
            .meta({ description: "Interruption without the changes; null: the work is not interrupted." }),
          changed: interruption.nullable(),
        }),
      )
      .meta({ description: "Workloads in the order of submission; at most 500." }),
    sentence,
  })
  .meta({ id: "WhatIfAnswer" });

export type WhatIfQuestion = z.output<typeof whatIfQuestion>;
export type WhatIfQuestionInput = z.input<typeof whatIfQuestion>;
export type WhatIfAnswer = z.output<typeof whatIfAnswer>;
export type Change = z.output<typeof change>;
export type WouldStart = z.output<typeof wouldStart>;
export type StartingChange = z.output<typeof startingChange>;
export type StartingChanges = z.output<typeof startingChanges>;
export type SubmissionForecast = z.output<typeof submissionForecast>;
export type ExpectedTransfer = z.output<typeof expectedTransfer>;
export type StartEstimate = z.output<typeof startEstimate>;
export type ExpectedStart = z.output<typeof expectedStart>;
