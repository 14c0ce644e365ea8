/** Rollouts of endpoints: their steps, the readings of both revisions, and the verdict. */
import { count, instantMs, names, workloadChanges } from "@headroom/spec";
import { z } from "zod";
import { operation } from "./operation.ts";

export const rolloutCause = z
  .enum(["changed", "alias"])
  .meta({ id: "RolloutCause", description: "`alias`: an alias of its model names another version." });

export const rolloutAction = z.enum(["advance", "promote", "pause", "resume", "rollBack", "squeeze"]).meta({
  id: "RolloutAction",
  description:
    "`advance`: the next step; `promote`: the last one; `squeeze`: a replica may stop before its successor is placed.",
});

const figure = z
  .object({
    figure: z.enum(["errorRate", "ttft", "tpot", "quality"]),
    canaryMilli: count.nullable().meta({
      description: "Error rate, mean score, or latency as a ratio to the present revision's; null: too few requests.",
    }),
    baselineMilli: count.nullable(),
    marginMilli: count.meta({ description: "How much worse it may be." }),
    evidenceMilli: count.meta({ description: "Evidence that the margin is exceeded: 1000 condemns." }),
  })
  .meta({ id: "RolloutFigure" });

export const rolloutGround = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("requested") }),
    z.object({ kind: z.literal("ready"), replicas: count }),
    z.object({ kind: z.literal("deadline"), afterMs: count }),
    z.object({ kind: z.literal("noRoom"), forMs: count }),
    z.object({ kind: z.literal("verdict"), requests: count, figures: z.array(figure) }),
  ])
  .meta({ id: "RolloutGround", description: "Why a rollout went on, stopped or ended." });

const { run, dir, ready, servedModel } = workloadChanges.shape;

export const revisionChanges = z
  .object({ run, dir, ready, servedModel, env: z.record(z.string(), z.string()).optional() })
  .meta({ id: "RevisionChanges", description: "New values of the fields that make a revision." });

const STRATA_MAX = 64;
const SUM_MAX = 1e15;
const amount = z.number().min(-SUM_MAX).max(SUM_MAX);
const requests = z.int().min(0).max(1e12);

const strata = z
  .array(z.tuple([z.int().min(0).max(STRATA_MAX), requests, amount, amount]))
  .max(STRATA_MAX)
  .meta({ description: "[stratum, requests, sum of ln ms, sum of squares] of requests that are alike." });

export const revisionReading = z
  .strictObject({
    requests,
    errors: requests,
    ttft: strata,
    tpot: strata,
    quality: z.tuple([requests, amount, amount]).optional().meta({
      description: "[answers, sum of scores, sum of squares], scores from 0 to 1; absent: no copied request.",
    }),
  })
  .meta({ id: "RevisionReading", description: "Counters from the start of the rollout, as a gateway saw it." });

export const rolloutReading = z
  .strictObject({
    number: count,
    startedAtMs: instantMs.meta({ description: "Start of the rollout: numbers come again after a rollback." }),
    canary: revisionReading,
    baseline: revisionReading,
  })
  .meta({ id: "RolloutReading" });

export const rolloutState = z
  .object({
    number: count.meta({ description: "Number of the new revision." }),
    fromNumber: count.meta({ description: "Number of the present revision." }),
    cause: rolloutCause,
    actor: z.string(),
    changed: z.array(z.string()).meta({ description: "Fields that the new revision changes." }),
    startedAtMs: instantMs,
    deadlineAtMs: instantMs.meta({ description: "Time after which it is rolled back." }),
    steps: z.array(count).nullable().meta({ description: "In percent; null: replicas are replaced one by one." }),
    step: count,
    stepAtMs: instantMs,
    phase: z.enum(["running", "paused", "finishing", "turningBack"]),
    weightMilli: count
      .nullable()
      .meta({ description: "Share of the requests that the new revision gets now; null: all replicas are alike." }),
    shadowMilli: count.nullable().default(null).meta({
      description: "Share of the requests of which the new revision gets copies now; null: it gets none.",
    }),
    replicas: z.object({ stable: count, canary: count, stableReady: count, canaryReady: count }),
    verdict: z.enum(["worse", "suspect", "unknown", "good"]).nullable(),
    requests: z
      .object({ canary: count, baseline: count })
      .nullable()
      .meta({ description: "Requests of each revision that ended during the rollout; null: no gateway reported." }),
    figures: z.array(figure),
    sentence: z.string().meta({ description: "State and next step in words." }),
  })
  .meta({ id: "Rollout" });

export type RolloutState = z.output<typeof rolloutState>;
export type RolloutReading = z.output<typeof rolloutReading>;

export const rolloutSteered = z
  .object({ workloadId: z.string(), changed: z.boolean().meta({ description: "False: it was so already." }) })
  .meta({ id: "RolloutSteered" });
export type RolloutSteered = z.output<typeof rolloutSteered>;

const steerRollout = z
  .strictObject({ action: z.enum(["advance", "promote", "pause", "resume", "rollBack"]) })
  .meta({ id: "SteerRollout" });

export const rolloutOperations = {
  steerRollout: operation("POST /v1/endpoints/{id}/rollout", "Steer the rollout of an endpoint", rolloutSteered, {
    permission: "workloads.write",
    subject: "workload",
    params: z.strictObject({ id: names.opaqueId }),
    body: steerRollout,
    problems: ["unknownWorkload", "noRollout"],
  }),
};
export type SteerRollout = z.output<typeof steerRollout>;
