/** Resources that are held or requested but not used, according to reports of attempts and executors. */
import { z } from "zod";
import { count } from "@headroom/spec";

const common = {
  workloadId: z.string(),
  name: z.string(),
  team: z.string(),
  actor: z.string(),
  wastedAcceleratorMs: z
    .number()
    .nullable()
    .meta({ description: "Idle accelerator-milliseconds; null: the idle resource is not an accelerator." }),
  sentence: z.string().meta({ description: "The finding as a sentence." }),
};
const ofAttempt = { attemptId: z.string(), heldCount: count, forMs: count };

export const waste = z
  .discriminatedUnion("kind", [
    z.object({ kind: z.literal("unusedAccelerators"), ...common, ...ofAttempt, mostBusyCount: count }),
    z.object({ kind: z.literal("idle"), ...common, ...ofAttempt }),
    z.object({ kind: z.literal("noProgress"), ...common, ...ofAttempt }),
    z.object({
      kind: z.literal("memoryTooLarge"),
      ...common,
      attemptId: z.string(),
      peakMib: count,
      capacityMib: count,
    }),
    z.object({
      kind: z.literal("walltimeTooLong"),
      ...common,
      walltimeMs: count,
      longestMs: count,
      runCount: count.meta({ description: "Number of such runs that succeeded." }),
    }),
  ])
  .meta({ id: "Waste" });

export const wasteList = z
  .object({
    items: z.array(waste).meta({ description: "Most accelerator time first; at most 500." }),
    wastedAcceleratorMs: z.number(),
    toldCount: count.meta({ description: "Running attempts that report accelerator utilization." }),
    runningCount: count.meta({ description: "Running attempts that hold accelerators." }),
    sentence: z.string(),
  })
  .meta({ id: "WasteList" });

export type Waste = z.output<typeof waste>;
export type WasteList = z.output<typeof wasteList>;
