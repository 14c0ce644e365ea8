/** Objects that several events have. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";
import { workerAllocation } from "./attempt.ts";

export const nodeSpec = z
  .object({
    id: z.string(),
    pool: z.string(),
    fabric: z.array(z.string()),
    acceleratorCount: count,
    coresMilli: count,
    memoryMib: count,
    labels: z.record(z.string(), z.string()).optional(),
    workersMax: count.optional(),
    acceleratorGroups: z.array(count).optional(),
  })
  .meta({ id: "NodeSpec" });

export const evictionReason = z.enum(["preempted", "reclaimed", "migrated", "incomplete"]);

/** The rule by which a plan evicts a victim, and the shares of both teams before and after. */
export const evictionPlan = z
  .object({
    workloadId: z.string(),
    task: count,
    reason: evictionReason,
    victims: z.array(
      z.object({
        attemptId: z.string(),
        keeps: count,
        team: z.string(),
        teamShareBeforeMilli: count,
        teamShareAfterMilli: count,
        ground: z.enum(["withinTeam", "reclaimGuarantee", "reclaimShare", "reclaimWhileBorrowing"]).optional(),
        migrates: z.literal(true).optional(),
      }),
    ),
    preemptor: z.object({ team: z.string(), shareBeforeMilli: count, shareAfterMilli: count }).optional(),
    pairsGathered: count.optional(),
  })
  .meta({ id: "EvictionPlan" });

export const nomination = z
  .object({
    attemptId: z.string(),
    workloadId: z.string(),
    task: count,
    number: count,
    acceleratorType: z.string(),
    workers: z.array(workerAllocation),
    growth: z.boolean(),
    atMs: instantMs,
    notBeforeMs: instantMs.optional(),
    afterAttempt: z.string().optional(),
  })
  .meta({ id: "Nomination" });

export type EvictionPlan = z.output<typeof evictionPlan>;
