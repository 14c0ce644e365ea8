/** History of one workload, from its events, with the rules by which it was evicted or others were evicted for it. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";
import { evictionPlan } from "./event.ts";

export const historyItem = z
  .object({
    sequence: z.int().positive().meta({ description: "Of the event that records it." }),
    atMs: instantMs,
    sentence: z.string(),
    attemptIds: z
      .array(z.string())
      .meta({ description: "Those of its attempts that it is about; none: the workload." }),
    plan: evictionPlan.optional().meta({ description: "Whose place was taken for whom; absent: nobody's." }),
  })
  .meta({ id: "HistoryItem" });

export const workloadHistory = z
  .object({
    items: z.array(historyItem).meta({ description: "In their order." }),
    attempts: z
      .array(z.object({ id: z.string(), task: count, number: count }))
      .meta({ description: "Its attempts that the events name." }),
    isCut: z.boolean().meta({ description: "Its beginning is too long ago to be read." }),
  })
  .meta({ id: "WorkloadHistory" });

export type HistoryItem = z.output<typeof historyItem>;
export type WorkloadHistory = z.output<typeof workloadHistory>;
