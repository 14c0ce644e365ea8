/** Slow ranks and the bottleneck of the running attempts of a workload. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";

export const attemptPerformance = z
  .object({
    attemptId: z.string(),
    stragglers: z
      .object({
        atMs: instantMs,
        step: count.meta({ description: "The newest step that was compared." }),
        comparedRanks: count,
        ranks: z
          .array(
            z.object({
              rank: count,
              nodeId: z.string().nullable(),
              slowerPercent: z
                .number()
                .meta({ description: "Over the median of the ranks, a mean since `sinceStep`." }),
              sinceStep: count,
              part: z.object({ name: z.string(), slowerPercent: z.number() }).optional().meta({
                description:
                  "The part of the step that is slow, over the median of the same part. Absent: the step as a whole is slow.",
              }),
              sinceMs: instantMs.meta({ description: "When the rank was named." }),
            }),
          )
          .meta({ description: "The slowest first, at most 16." }),
      })
      .nullable()
      .meta({ description: "`null`: its workers report no step times." }),
    bottleneck: z
      .object({
        bound: z
          .enum(["compute", "memory", "computeOrMemory", "io", "network"])
          .meta({ description: "`computeOrMemory`: the counters of memory are not measured." }),
        share: z.number().meta({ description: "Part of a step, or of the time, from 0 to 1." }),
        ground: z
          .enum(["reported", "idle", "counters"])
          .meta({ description: "Reported parts of a step, idle accelerators, or counters of accelerators." }),
        stepSeconds: z.number().nullable(),
      })
      .nullable()
      .meta({ description: "`null`: not measured." }),
    sentences: z.array(z.string()),
  })
  .meta({ id: "AttemptPerformance" });

export const workloadPerformance = z
  .object({
    items: z.array(attemptPerformance).meta({ description: "Running attempts, at most 20." }),
  })
  .meta({ id: "WorkloadPerformance" });

export type AttemptPerformance = z.output<typeof attemptPerformance>;
export type WorkloadPerformance = z.output<typeof workloadPerformance>;
