/**
 * History of one workload, from its events. It has the rules by which the workload was evicted, or other work was
 * evicted for it.
 */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";
import { evictionPlan } from "./event-parts.ts";

export const historyItem = z
  .object({
    sequence: z.int().positive().meta({ description: "Sequence number of the event." }),
    atMs: instantMs,
    sentence: z.string(),
    attemptIds: z.array(z.string()).meta({
      description: "Attempts of the workload that the event is about; empty: the event is about the workload.",
    }),
    plan: evictionPlan
      .optional()
      .meta({ description: "The preempted workload and the workload that got its place; absent: no preemption." }),
  })
  .meta({ id: "HistoryItem" });

export const workloadHistory = z
  .object({
    items: z.array(historyItem).meta({ description: "Oldest first." }),
    attempts: z
      .array(z.object({ id: z.string(), task: count, number: count }))
      .meta({ description: "Attempts of the workload that the events name." }),
    isCut: z.boolean().meta({ description: "The oldest events of the workload are no longer available." }),
  })
  .meta({ id: "WorkloadHistory" });

export type HistoryItem = z.output<typeof historyItem>;
export type WorkloadHistory = z.output<typeof workloadHistory>;
