/** Replay of recorded work under another policy or with other teams, compared with the record. */
import { z } from "zod";
import { count, DURATION_MS_MAX, instantMs, teamSpec } from "@headroom/spec";
import { policyChoice } from "./policy.ts";

const WEEK_MS = 7 * 24 * 3_600_000;

export const replayPeriodMs = { min: 60_000, max: DURATION_MS_MAX } as const;

export const replayQuestion = z
  .strictObject({
    periodMs: z
      .int()
      .min(replayPeriodMs.min)
      .max(replayPeriodMs.max)
      .default(WEEK_MS)
      .meta({ description: "Length of the period up to now; shorter if the record is shorter." }),
    policy: policyChoice
      .optional()
      .meta({ description: "Policy of the replay; absent: the policies that were active in the period." }),
    teams: z.array(teamSpec).max(1000).default([]).meta({ description: "Changed definitions of teams." }),
  })
  .meta({
    id: "ReplayQuestion",
    description: "Replays a period of the record under another policy or with other teams. Nothing is recorded.",
  });

export const replayAccepted = z.object({ id: z.string() }).meta({ id: "ReplayAccepted" });

const figures = {
  workloads: count.meta({
    description: "Workloads that waited to start when the period began, or were submitted in it.",
  }),
  started: count.meta({ description: "Number of these workloads that started in the period." }),
  waitMeanMs: count.meta({ description: "Mean time from submission to first start, or to the end of the period." }),
  waitP50Ms: count,
  waitP95Ms: count,
  slowdown: z.number().nullable().meta({
    description:
      "Mean of (time from submission to end) ÷ (shortest run of the same workload in any timeline, at least 10 s), over workloads that ended in all timelines; null: there are none.",
  }),
  acceleratorHours: z.number().meta({ description: "Accelerator-hours allocated in the period." }),
  lostAcceleratorHours: z.number().meta({ description: "Accelerator-hours of work lost by evictions." }),
  evictions: count.meta({
    description: "Number of attempts that were evicted, or lost workers, in favour of other workloads.",
  }),
};
const replayFigures = z.object(figures).meta({ id: "ReplayFigures" });

const replaySummary = z
  .object({
    ...figures,
    utilisation: z
      .number()
      .meta({ description: "Allocated accelerator time, divided by the accelerator time of the nodes that were up." }),
    endedCount: count,
    makespanMs: count.meta({ description: "Time from the beginning of the period to the last end in it." }),
    samples: z.array(
      z.object({
        atMs: instantMs,
        heldAccelerators: z.number(),
        usableAccelerators: count,
        waitingWorkloads: count,
      }),
    ),
  })
  .meta({ id: "ReplaySummary" });

const replayGroup = z
  .object({
    name: z.string(),
    recorded: replayFigures,
    control: replayFigures,
    changed: replayFigures,
    outcome: z.enum(["wins", "loses", "same"]).meta({
      description: "Compares the mean waits of `changed` and `control`, over workloads that wait in both.",
    }),
  })
  .meta({ id: "ReplayGroup" });

export const replayReport = z
  .object({
    fromMs: instantMs.meta({
      description: "Start of the period; later than requested if earlier inputs are no longer kept.",
    }),
    toMs: instantMs,
    stepMs: count,
    recorded: replaySummary.meta({ description: "The record." }),
    control: replaySummary.meta({
      description: "The replay without the change. Its distance from the record is the error of the replay.",
    }),
    changed: replaySummary,
    teams: z.array(replayGroup).meta({ description: "Sorted by total gain of waiting time, the largest first." }),
    users: z.array(replayGroup),
    sizes: z.array(replayGroup).meta({ description: "By number of accelerators of the gang." }),
    sentence: z.string(),
    notes: z
      .array(z.string())
      .meta({ description: "Assumptions of the replay about facts that the record does not contain." }),
  })
  .meta({ id: "ReplayReport" });

export const replay = z
  .discriminatedUnion("phase", [
    z.object({ id: z.string(), phase: z.literal("running"), progress: z.number().meta({ description: "0 to 1." }) }),
    z.object({ id: z.string(), phase: z.literal("done"), report: replayReport }),
    z.object({ id: z.string(), phase: z.literal("failed"), detail: z.string() }),
  ])
  .meta({ id: "Replay" });

export type ReplayQuestion = z.output<typeof replayQuestion>;
export type ReplayQuestionInput = z.input<typeof replayQuestion>;
export type ReplayAccepted = z.output<typeof replayAccepted>;
export type ReplayReport = z.output<typeof replayReport>;
export type ReplayGroup = z.output<typeof replayGroup>;
export type ReplayFigures = z.output<typeof replayFigures>;
export type Replay = z.output<typeof replay>;
