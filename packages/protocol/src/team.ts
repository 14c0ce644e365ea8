/** Teams: nodes of the quota tree, with their usage. */
import { z } from "zod";
import { count, instantMs, teamSpec } from "@headroom/spec";
import { pageOf } from "./page.ts";

const paceForecast = {
  gpuHoursPerDay: z.number().nonnegative(),
  microUsdPerDay: z.number().nonnegative(),
  usedUpAtMs: instantMs.nullable().meta({
    description:
      "Time at which the first bound of the budget is used up at this rate; null: not before the next period begins, or never.",
  }),
};

const budgetForecast = z
  .object({
    now: z
      .object(paceForecast)
      .meta({ description: "Rate of the work that runs now, as if nothing else started or ended." }),
    lately: z
      .object({ sinceMs: instantMs, ...paceForecast })
      .nullable()
      .meta({
        description:
          "Mean pace since `sinceMs`: the beginning of the day (UTC) a week ago, or the time since which usage is counted; null: usage is counted for less than an hour.",
      }),
  })
  .meta({ id: "BudgetForecast", description: "Time at which a budget will be used up, at two rates." });

const held = z.record(z.string(), z.number().nonnegative());

export const team = teamSpec
  .extend({
    account: z
      .object({
        gpuHours: z.number(),
        microUsd: z.number(),
        periodStartMs: count,
        renewsAtMs: count.nullable(),
        isSpent: z.boolean().meta({ description: "Whether the budget is recorded as used up." }),
        atMs: instantMs.meta({ description: "Time of these figures." }),
        forecast: budgetForecast
          .optional()
          .meta({ description: "Forecast of the budget; absent: the budget is used up." }),
      })
      .optional()
      .meta({ description: "Usage of the team's budget in this period." }),
    held: held.meta({ description: "Accelerators that the team and all teams below it hold now, by type." }),
    entitlement: held.optional().meta({
      description:
        "Present entitlement by resource: the larger of guarantee and fair share, within the limit. Absent: the policy does not compare teams.",
    }),
    decayedUsage: z
      .object({ accelerators: z.number().nonnegative(), coresMilli: count, memoryMib: count })
      .optional()
      .meta({
        description:
          "Usage history: average usage, decayed by the half-life of the policy; absent: usage history does not count.",
      }),
    fairShare: z
      .object({
        weightShare: z.number().meta({ description: "Part of the fleet by weight alone, down the tree of teams." }),
        usageShare: z.number().meta({ description: "Part of the decayed accelerator usage of its siblings." }),
        weightLeft: z.number().meta({
          description:
            "Factor on the weight after usage history, for accelerators: part / (part + usage above guarantee).",
        }),
      })
      .optional()
      .meta({ description: "The share that follows from usage history; absent: usage history does not count." }),
    heldInAll: z
      .object({ accelerators: z.number().nonnegative(), coresMilli: count, memoryMib: count })
      .meta({ description: "Resources that the team and all teams below it hold now, in total." }),
  })
  .meta({ id: "Team" });

export const teamPage = pageOf(team, "TeamPage");
export const teamRemoved = z.object({ team: z.string() }).meta({ id: "TeamRemoved" });

export type Team = z.output<typeof team>;
export type TeamRemoved = z.output<typeof teamRemoved>;
