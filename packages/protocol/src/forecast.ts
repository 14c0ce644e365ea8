/**
 * What would start work that waits, what would become of work that is not submitted yet, and when what waits will start: each
 * answered on forks of the live state by the engine itself. Nothing of it is recorded.
 */
import { z } from "zod";
import { count, instantMs, opaqueId, teamSpec } from "@headroom/spec";
import { pageOf } from "./page.ts";
import { policyChoice } from "./policy.ts";
import { verdict } from "./verdict.ts";
import { workloadSummary } from "./workload.ts";

const sentence = z.string().meta({ description: "The same for people, in plain English." });
const group = z.string().optional().meta({ description: "The group of its gang that is meant, where it has groups." });
const fromTo = { from: count, to: count };

export const change = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("release"), sentence }),
    z.object({
      kind: z.literal("dropNotBefore"),
      atMs: instantMs.meta({ description: "When it may start as it is." }),
      sentence,
    }),
    z.object({
      kind: z.literal("dropStartWindow"),
      conditions: z
        .array(z.enum(["microUsdPerKwhMax", "gramsPerKwhMax", "cheapestMs", "cleanestMs"]))
        .meta({ description: "What it would not say of power." }),
      sentence,
    }),
    z.object({ kind: z.literal("otherType"), acceleratorType: z.string(), group, sentence }),
    z.object({ kind: z.literal("dropSelector"), labels: z.array(z.string()), sentence }),
    z.object({
      kind: z.literal("widerFabric"),
      from: z.string(),
      to: z.string().nullable().meta({ description: "The level; null: anywhere." }),
      slices: z.boolean().meta({ description: "It is the slices of the gang that may lie so far apart." }),
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
            z.strictObject({ of: z.string().meta({ description: "It would leave this set." }) }),
            z.strictObject({ set: z.string(), within: z.string() }),
            z.strictObject({ set: z.string(), topologyKey: z.string() }),
          ]),
        )
        .meta({ description: "The ways of keeping apart that it would not say." }),
      sentence,
    }),
    z.object({ kind: z.literal("shorterWalltime"), fromMs: count.nullable(), toMs: count, sentence }),
    z.object({ kind: z.literal("fewerWorkers"), ...fromTo, group, sentence }),
    z.object({ kind: z.literal("fewerAccelerators"), ...fromTo, group, sentence }),
    z.object({ kind: z.literal("fewerCores"), fromMilli: count, toMilli: count, group, sentence }),
    z.object({ kind: z.literal("lessMemory"), fromMib: count, toMib: count, group, sentence }),
    z.object({ kind: z.literal("higherPriority"), from: z.int(), to: z.int(), sentence }),
    z.object({
      kind: z.literal("largerGuarantee"),
      team: z.string(),
      resource: z.string(),
      from: z.number().nullable().meta({ description: "null: the team states none." }),
      to: z.number(),
      sentence,
    }),
    z.object({
      kind: z.literal("largerLimit"),
      team: z.string(),
      resource: z.string(),
      from: z.number(),
      to: z.number(),
      user: z.string().optional().meta({ description: "It is what the team lets one user hold; absent: its limit." }),
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
          description: "All that are used up and keep it from starting; each up to the next whole GPU-hour or dollar.",
        }),
      sentence,
    }),
    z.object({
      kind: z.literal("resumeNodes"),
      nodes: z.array(z.string()).meta({ description: "Drained nodes that would take work again." }),
      sentence,
    }),
    z.object({
      kind: z.literal("laterWindow"),
      name: z.string(),
      window: z.enum(["maintenance", "reservation"]),
      fromMs: instantMs.meta({ description: "When it begins." }),
      toMs: instantMs.meta({ description: "When it would begin; it would last as long." }),
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
      count: count.meta({ description: "Running attempts, those that are expected to end first." }),
      workloadId: z.string().meta({ description: "Whose attempt ends last of them." }),
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
    atOnce: z.boolean().meta({ description: "false: as soon as those who are asked to leave have left." }),
    displaced: z
      .array(
        z.object({
          workloadId: z.string(),
          name: z.string(),
          workers: count.meta({ description: "Workers that would be asked to leave." }),
          keeps: count.meta({ description: "Workers with which it would go on; 0: it would stop." }),
          lostAcceleratorMs: z
            .number()
            .meta({ description: "Work lost: since the last checkpoint, and starting again, times accelerators." }),
        }),
      )
      .meta({ description: "Who would be asked to leave for it." }),
    sentence,
  })
  .meta({ id: "WouldStart" });

export const startingChange = z.object({ change, start: wouldStart }).meta({ id: "StartingChange" });
export const startingChanges = z
  .object({
    items: z
      .array(startingChange)
      .meta({ description: "Of each kind the smallest that starts it now, the cheapest kind first; each was tried." }),
  })
  .meta({ id: "StartingChanges" });

export const startEstimate = z
  .object({
    workloadId: z
      .string()
      .meta({ description: "Of an array some of whose tasks have started: when the next one does." }),
    atMs: instantMs.meta({ description: "When it was asked." }),
    p10AtMs: instantMs
      .nullable()
      .meta({ description: "null: beyond the horizon, or never as things are, or after `playedUntilMs`." }),
    p50AtMs: instantMs.nullable(),
    p90AtMs: instantMs.nullable(),
    playedUntilMs: instantMs.optional().meta({
      description: "The scenarios were played until then only, for so much happens in them; absent: to the horizon.",
    }),
    because: z.object({
      endsBefore: count.meta({ description: "Attempts, of what runs now and of what starts meanwhile." }),
      startsBefore: count,
      startedCount: count,
      scenarioCount: count.meta({ description: "0: it never starts as things are, and nothing was played." }),
      arrivalsReplayed: z.boolean(),
      history: z
        .object({
          runningCount: count.meta({ description: "Attempts that run now." }),
          byProgressCount: count.meta({ description: "Of them, those that report steps done and in total." }),
          unknownCount: count.meta({ description: "Of the others, those of whose family and size no run has ended." }),
          byWalltimeCount: count.meta({ description: "Of these, those with a walltime." }),
          similarRunCount: count.meta({ description: "Ended runs of the families and sizes of what runs now." }),
        })
        .optional()
        .meta({ description: "What the durations rest on; absent: nothing was played." }),
    }),
    accuracy: z
      .object({
        startCount: count.meta({ description: "The newest starts of forecast work, at most 200." }),
        medianErrorMs: count.meta({ description: "Median distance of p50AtMs from the start that came." }),
      })
      .optional()
      .meta({ description: "How far forecasts of this server were off; absent: none has come true yet." }),
    sentence,
  })
  .meta({ id: "StartEstimate" });

export const expectedStart = z
  .object({ workload: workloadSummary, estimate: startEstimate })
  .meta({ id: "ExpectedStart" });
export const expectedStartPage = pageOf(expectedStart, "ExpectedStartPage");

export const submissionForecast = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("starts"), start: wouldStart, sentence }),
    z.object({
      kind: z.literal("waits"),
      verdict,
      changes: z.array(startingChange),
      estimate: startEstimate
        .omit({ workloadId: true })
        .nullable()
        .meta({ description: "When it would start; null: the fleet could never hold it, or it was not asked." }),
      sentence,
    }),
  ])
  .meta({ id: "SubmissionForecast" });

const HOUR_MS = 3_600_000;
/** A week: beyond it what is submitted meanwhile matters more than what waits now. */
export const whatIfHorizonMs = { min: 60_000, max: 168 * HOUR_MS } as const;
const WHAT_IF_NODES_MAX = 10_000;

export const whatIfQuestion = z
  .strictObject({
    horizonMs: z
      .int()
      .min(whatIfHorizonMs.min)
      .max(whatIfHorizonMs.max)
      .default(12 * HOUR_MS),
    loseNodes: z.array(opaqueId).max(WHAT_IF_NODES_MAX).default([]),
    addNodes: z
      .array(z.strictObject({ like: opaqueId, count: z.int().min(1).max(WHAT_IF_NODES_MAX) }))
      .max(100)
      .default([])
      .meta({ description: "Nodes in every way like one that is there; what is said of one node twice adds up." }),
    teams: z.array(teamSpec).max(1000).default([]).meta({ description: "Teams as they would be defined." }),
    policy: policyChoice.optional().meta({ description: "Left out: the one in force." }),
  })
  .meta({ id: "WhatIfQuestion", description: "What would be otherwise. Nothing of it is recorded." });

const timelineSample = z
  .object({
    atMs: instantMs,
    heldAccelerators: z.number().meta({ description: "In use, on nodes that are there." }),
    usableAccelerators: count.meta({
      description: "Of the nodes that take work, with what draining nodes still have in use.",
    }),
    waitingWorkloads: count,
    waitingTasks: count.meta({ description: "Every task of an array, and 1 of what is none." }),
    waitingAccelerators: z.number(),
    startedWorkloads: count.meta({
      description: "Of what waits at the beginning, what has started until then, in whole or in part.",
    }),
    startedTasks: count,
    heldByTeam: z.record(z.string(), z.number()),
  })
  .meta({ id: "TimelineSample" });

const timeline = z
  .object({
    samples: z.array(timelineSample),
    evictions: count.meta({ description: "Attempts asked to leave, or to shrink, for others." }),
    interruptions: count.meta({
      description: "Workloads that run at the beginning and are stopped or lost before their end, to run again.",
    }),
    lostAcceleratorMs: z.number().meta({ description: "What of them is done again, times accelerators." }),
  })
  .meta({ id: "Course" });

const interruption = z
  .object({
    taskCount: count.meta({ description: "Tasks of an array; 1 of what is none." }),
    atMs: instantMs.meta({ description: "Of the first of them." }),
    againAtMs: instantMs.nullable().meta({ description: "When all of them run again; null: beyond the horizon." }),
    lostAcceleratorMs: z
      .number()
      .meta({ description: "Done again: since the last checkpoint, or since it started, times accelerators." }),
  })
  .meta({ id: "Interruption" });

export const whatIfAnswer = z
  .object({
    sequence: count.meta({ description: "The newest event of the state that both courses begin with." }),
    fromMs: instantMs,
    horizonMs: count,
    stepMs: count,
    present: timeline.meta({ description: "The next hours as things are; nobody submits anything more." }),
    changed: timeline,
    earlierCount: count,
    laterCount: count,
    moved: z
      .array(
        z.object({
          workloadId: z.string(),
          name: z.string(),
          team: z.string(),
          taskCount: count.meta({ description: "Tasks that wait, of an array; 1 of what is none." }),
          presentAtMs: instantMs
            .nullable()
            .meta({ description: "The start of the first of them as things are; null: beyond the horizon." }),
          changedAtMs: instantMs.nullable(),
          presentLastAtMs: instantMs.nullable().meta({ description: "That of the last of them." }),
          changedLastAtMs: instantMs.nullable(),
        }),
      )
      .meta({ description: "Waiting work whose start differs, in the order of submission; at most 500." }),
    interruptedCount: count.meta({ description: "Running work whose interruption differs." }),
    interrupted: z
      .array(
        z.object({
          workloadId: z.string(),
          name: z.string(),
          team: z.string(),
          present: interruption.nullable().meta({ description: "null: it is not interrupted as things are." }),
          changed: interruption.nullable(),
        }),
      )
      .meta({ description: "In the order of submission; at most 500." }),
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
export type StartEstimate = z.output<typeof startEstimate>;
export type ExpectedStart = z.output<typeof expectedStart>;
