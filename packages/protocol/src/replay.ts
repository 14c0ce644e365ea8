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
      .meta({ description: "How far back from now; less, where less is recorded." }),
    policy: policyChoice.optional().meta({ description: "Left out: those that were in force." }),
    teams: z.array(teamSpec).max(1000).default([]).meta({ description: "Teams as they would have been defined." }),
  })
  .meta({ id: "ReplayQuestion", description: "What would have been otherwise. Nothing of it is recorded." });

export const replayAccepted = z.object({ id: z.string() }).meta({ id: "ReplayAccepted" });

const figures = {
  workloads: count.meta({ description: "That waited to start when the period began, or were submitted in it." }),
  started: count.meta({ description: "Of them, those that started in it." }),
  waitMeanMs: count.meta({ description: "From submission to first start, or to the end of the period." }),
  waitP50Ms: count,
  waitP95Ms: count,
  slowdown: z.number().nullable().meta({
    description:
      "Mean time from submission to end over the shortest run of the same work in any of the courses (10 s at least), of what ended in all; null: none did.",
  }),
  acceleratorHours: z.number().meta({ description: "Held within the period." }),
  lostAcceleratorHours: z.number().meta({ description: "Of them, undone by evictions." }),
  evictions: count.meta({ description: "Attempts asked to leave, or to shrink, for others." }),
};
const replayFigures = z.object(figures).meta({ id: "ReplayFigures" });

const replaySummary = z
  .object({
    ...figures,
    utilisation: z.number().meta({ description: "Accelerator time held over what the nodes that were up had." }),
    endedCount: count,
    makespanMs: count.meta({ description: "From the beginning of the period to the last end in it." }),
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
      description: "By the mean waits, changed against control, of the work that waits in both.",
    }),
  })
  .meta({ id: "ReplayGroup" });

export const replayReport = z
  .object({
    fromMs: instantMs.meta({ description: "Later than asked for where the inputs from before are no longer kept." }),
    toMs: instantMs,
    stepMs: count,
    recorded: replaySummary.meta({ description: "What really happened." }),
    control: replaySummary.meta({
      description: "The same, replayed: how far it lies from what happened is the error of replaying.",
    }),
    changed: replaySummary,
    teams: z.array(replayGroup).meta({ description: "Who gains most waiting time in all goes first." }),
    users: z.array(replayGroup),
    sizes: z.array(replayGroup).meta({ description: "By accelerators of the whole gang." }),
    sentence: z.string(),
    notes: z.array(z.string()).meta({ description: "What could not be known, and how it was assumed." }),
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
