/** Schedules: workloads that are submitted at recurring times. `apply` declares them. */
import { z } from "zod";
import { instantMs, schedule } from "@headroom/spec";
import { workloadPhase } from "./workload.ts";

const scheduleRun = z
  .object({
    dueAtMs: instantMs,
    atMs: instantMs.meta({
      description: "Time at which the due time was processed; it is later if the control plane did not run then.",
    }),
    workloadId: z.string().nullable().meta({ description: "Id of the workload that was submitted; null: none was." }),
    left: z.string().meta({ description: "Why nothing was submitted." }),
    phase: workloadPhase
      .optional()
      .meta({ description: "Phase of the workload that was submitted; absent: the workload is no longer kept." }),
  })
  .meta({ id: "ScheduleRun" });

export const scheduleItem = z
  .object({
    schedule,
    cron: z.string(),
    actor: z.string().meta({ description: "User who declared the schedule and owns its runs." }),
    nextAtMs: instantMs.nullable(),
    nextAtsMs: z.array(instantMs).meta({ description: "The next due times, at most five." }),
    runs: z.array(scheduleRun).meta({ description: "The last due times, the newest first." }),
    lastWorkloadId: z.string().optional(),
  })
  .meta({ id: "ScheduleItem" });

export const scheduleList = z.object({ items: z.array(scheduleItem) }).meta({ id: "ScheduleList" });
export const scheduleRemoved = z.object({ name: z.string() }).meta({ id: "ScheduleRemoved" });

export type ScheduleItem = z.output<typeof scheduleItem>;
export type ScheduleList = z.output<typeof scheduleList>;
export type ScheduleRemoved = z.output<typeof scheduleRemoved>;
