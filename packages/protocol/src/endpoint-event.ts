/** Fields of the events of endpoints: numbers of replicas, rollouts, budgets. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";
import { artifact, scaleGround } from "./attempt.ts";
import { revisionChanges, rolloutCause } from "./rollout.ts";

export const endpointScaled = {
  workloadId: z.string(),
  actor: z.string(),
  replicas: count,
  ground: scaleGround,
  stopFirst: z
    .array(z.string())
    .optional()
    .meta({ description: "Ready replicas to stop first; absent: the youngest stop first." }),
  acceleratorTypes: z
    .array(z.string())
    .optional()
    .meta({ description: "Accelerator types in the order in which missing replicas take them; absent: it stays." }),
  due: z.array(count).optional().meta({ description: "Tasks whose back-off ends with the change." }),
};

export const rolloutStarted = {
  workloadId: z.string(),
  actor: z.string(),
  number: count.meta({ description: "Number of the new revision." }),
  changes: revisionChanges,
  given: z
    .array(artifact)
    .optional()
    .meta({ description: "Artifacts that replicas of the new revision get; absent: none." }),
  cause: rolloutCause,
  deadlineAtMs: instantMs.meta({ description: "Time after which it is rolled back." }),
  steps: z
    .array(count)
    .optional()
    .meta({ description: "Shares of requests in percent; absent: replicas are replaced one after another." }),
  shadow: count
    .optional()
    .meta({ description: "Share of requests, in percent, that are copied in the step of 0%; absent: none." }),
};

export const endpointBudgetCrossed = {
  workloadId: z.string(),
  percent: count,
  limit: z.number(),
  spent: z.number(),
  periodStartMs: instantMs,
};

export const overflowCharged = {
  workloadId: z.string(),
  gateway: z.string(),
  startedAtMs: instantMs,
  microUsd: z.number(),
};
