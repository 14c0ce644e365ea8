/** Output of an attempt's processes, and the resources that they use. */
import { z } from "zod";
import { acceleratorReading } from "./accelerator-readings.ts";
import { count, instantMs } from "@headroom/spec";

export const logChunk = z
  .object({
    attemptId: z.string(),
    worker: count.meta({ description: "Rank." }),
    stream: z.enum(["stdout", "stderr"]),
    atMs: instantMs
      .nullable()
      .meta({ description: "Time at which its first byte was written, accurate to about 5 ms; null: unknown." }),
    text: z.string().meta({
      description: "The text as it was written, in pieces of at most 64 KiB. A line can be split over two pieces.",
    }),
  })
  .meta({ id: "LogChunk" });

export const attemptUsage = z
  .object({
    attemptId: z.string(),
    task: count,
    number: count,
    workers: z.array(
      z.object({
        worker: count,
        cpuMs: count.meta({ description: "Processor time used since the worker started." }),
        rssMib: count.meta({ description: "Resident memory now." }),
        peakRssMib: count,
        node: z.string().optional(),
        accelerators: z.array(acceleratorReading).optional().meta({
          description: "Newest readings of its accelerators, by their indices on the node; absent: there are none.",
        }),
      }),
    ),
  })
  .meta({ id: "AttemptUsage" });

export const workloadUsage = z
  .object({
    workloadId: z.string(),
    atMs: instantMs,
    attempts: z.array(attemptUsage).meta({ description: "Active attempts, at most the newest 100." }),
  })
  .meta({ id: "WorkloadUsage" });

export type LogChunk = z.output<typeof logChunk>;
export type AttemptUsage = z.output<typeof attemptUsage>;
export type WorkloadUsage = z.output<typeof workloadUsage>;
