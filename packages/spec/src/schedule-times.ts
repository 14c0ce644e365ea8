/** Recurring due times: a cron expression in the engine's form. */
import { z } from "zod";
import * as notation from "./encoding/notation.ts";
import { integer } from "./limits.ts";

const ascending = (from: number, to: number) =>
  z
    .array(integer(from, to))
    .min(1)
    .refine((list) => list.every((each, index) => index === 0 || each > (list[index - 1] ?? each)), {
      message: "must be in ascending order, without repetition",
    });

export const scheduleTimes = z
  .strictObject({
    minutes: ascending(0, 59).meta({ description: "Minutes of the hour." }),
    hours: ascending(0, 23).meta({ description: "Hours of the day in UTC." }),
    daysOfMonth: ascending(1, 31).meta({ description: "Days of the month; 1 is the first day." }),
    months: ascending(1, 12).meta({ description: "1 is January." }),
    daysOfWeek: ascending(0, 6).meta({ description: "0 is Sunday." }),
  })
  .meta({
    id: "ScheduleTimes",
    description:
      "A parsed cron expression in UTC. If days of the month and days of the week are both restricted, it is due on days that match either.",
  });
export type ScheduleTimes = z.output<typeof scheduleTimes>;

export const cronNotation = notation.cron(scheduleTimes);
