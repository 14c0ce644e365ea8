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
    accelerators: z.number().nonnegative().meta({ description: "That it holds on the window's nodes." }),
    askedAtMs: instantMs.meta({
      description: "When it is asked to stop, early enough for its checkpoint and its grace.",
    }),
    isStopping: z.boolean(),
  })
  .meta({ id: "DrainedAttempt" });

const windowUse = z
  .object({
    nodeCount: count,
    acceleratorCount: count,
    heldFor: z.number().nonnegative().meta({ description: "Accelerators held by work for which it is kept." }),
    drained: z
      .array(drainedAttempt)
      .meta({ description: "What is asked to stop for it, the next first; at most 20 of them." }),
    drainedCount: count,
    completionCount: count.meta({
      description: "Other attempts on its nodes that are over before, by their walltimes.",
    }),
  })
  .meta({ id: "WindowUse" });

export const calendarItem = z
  .object({
    entry: calendarEntry,
    nodes: z.array(z.string()).optional().meta({ description: "Those chosen for a reservation by amount." }),
    begun: z.literal(true).optional().meta({ description: "Its time has come." }),
    use: windowUse.optional().meta({ description: "Who is on the window's nodes now; absent of tariffs." }),
    sentence: z.string(),
  })
  .meta({ id: "CalendarItem" });

export const calendarList = z.object({ items: z.array(calendarItem) }).meta({ id: "CalendarList" });
export const calendarRemoved = z.object({ name: z.string() }).meta({ id: "CalendarRemoved" });

export type WindowUse = z.output<typeof windowUse>;
export type CalendarItem = z.output<typeof calendarItem>;
export type CalendarList = z.output<typeof calendarList>;
export type CalendarRemoved = z.output<typeof calendarRemoved>;
