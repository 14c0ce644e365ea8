/** Parts of the events of pipelines. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";

export const runTrigger = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("manual") }),
    z.object({ kind: z.literal("clock"), dueAtMs: instantMs }),
    z.object({ kind: z.literal("webhook") }),
    z.object({ kind: z.literal("backfill"), date: z.string() }),
  ])
  .meta({ id: "RunTrigger", description: "The cause of the run." });

/** Why a step has its phase, as it was recorded. */
export const stepReason = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("workload"), phase: z.enum(["failed", "cancelled"]) }),
    z.object({ kind: z.literal("upstream"), step: z.string() }),
    z.object({ kind: z.literal("condition"), index: count, found: z.string().nullable() }),
    z.object({ kind: z.literal("timedOut"), timeoutMs: count }),
    z.object({ kind: z.literal("cached"), runId: z.string() }),
    z.object({ kind: z.literal("approved"), actor: z.string(), reason: z.string() }),
    z.object({ kind: z.literal("rejected"), actor: z.string(), reason: z.string() }),
    z.object({ kind: z.literal("refused"), code: z.string() }),
    z.object({ kind: z.literal("fanOut"), cause: z.enum(["missing", "notAList", "tooMany"]) }),
    z.object({ kind: z.literal("tooManyArtifacts"), count }),
    z.object({ kind: z.literal("cancelled") }),
  ])
  .meta({ id: "StepReason" });

export const endedStepPhase = z.enum(["succeeded", "cached", "skipped", "failed", "cancelled"]);
export const endedRunPhase = z.enum(["succeeded", "failed", "cancelled"]);

export type RunTrigger = z.output<typeof runTrigger>;
export type StepReason = z.output<typeof stepReason>;
