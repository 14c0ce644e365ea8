/**
 * The calendar: windows, reservations and tariffs for stated times. Entries are declared with `apply` under unique
 * names.
 */
import { z } from "zod";
import { calendarEntry, count, instantMs } from "@headroom/spec";

const drainedAttempt = z
  .object({
    attemptId: z.string(),
    workloadId: z.string(),
    name: z.string(),
    team: z.string(),
    accelerators: z
      .number()
      .nonnegative()
      .meta({ description: "Accelerators that the attempt holds on the window's nodes." }),
    askedAtMs: instantMs.meta({
      description: "When the attempt is stopped, early enough for its checkpoint and its grace period.",
    }),
    isStopping: z.boolean(),
  })
  .meta({ id: "DrainedAttempt" });

const windowUse = z
  .object({
    nodeCount: count,
    acceleratorCount: count,
    heldFor: z
      .number()
      .nonnegative()
      .meta({ description: "Accelerators held by work for which the window is reserved." }),
    drained: z
      .array(drainedAttempt)
      .meta({ description: "Attempts that are stopped for the window, the next one first; at most 20." }),
    drainedCount: count,
    completionCount: count.meta({
      description: "Number of other attempts on its nodes that end before the window, by their walltimes.",
    }),
  })
  .meta({ id: "WindowUse" });

export const calendarItem = z
  .object({
    entry: calendarEntry,
    nodes: z.array(z.string()).optional().meta({ description: "Nodes chosen for a reservation by amount." }),
    begun: z.literal(true).optional().meta({ description: "Whether the entry is active now." }),
    use: windowUse.optional().meta({ description: "Attempts on the window's nodes now; absent for tariffs." }),
    sentence: z.string(),
  })
  .meta({ id: "CalendarItem" });

export const calendarList = z.object({ items: z.array(calendarItem) }).meta({ id: "CalendarList" });
export const calendarRemoved = z.object({ name: z.string() }).meta({ id: "CalendarRemoved" });

export type WindowUse = z.output<typeof windowUse>;
export type CalendarItem = z.output<typeof calendarItem>;
export type CalendarList = z.output<typeof calendarList>;
export type CalendarRemoved = z.output<typeof calendarRemoved>;
