/** Teams: nodes of the quota tree, with their usage. */
import { z } from "zod";
import { count, instantMs, teamSpec } from "@headroom/spec";
import { pageOf } from "./page.ts";

const paceForecast = {
  gpuHoursPerDay: z.number().nonnegative(),
  microUsdPerDay: z.number().nonnegative(),
  usedUpAtMs: instantMs.nullable().meta({
    description:
      "When the first bound of the budget is used up at this pace; null: not before it begins anew, or never.",
  }),
};

const budgetForecast = z
  .object({
    now: z.object(paceForecast).meta({ description: "What runs goes on as it is; nothing else starts or ends." }),
    lately: z
      .object({ sinceMs: instantMs, ...paceForecast })
      .nullable()
      .meta({
        description:
          "At the mean since then: since the beginning of the day in UTC a week ago, or since it is counted; null: for less than an hour.",
      }),
  })
  .meta({ id: "BudgetForecast", description: "When a budget will be used up, at two paces." });

const held = z.record(z.string(), z.number().nonnegative());

export const team = teamSpec
  .extend({
    account: z
      .object({
        gpuHours: z.number(),
        microUsd: z.number(),
        periodStartMs: count,
        renewsAtMs: count.nullable(),
        isSpent: z.boolean().meta({ description: "It was recorded as used up." }),
        atMs: instantMs.meta({ description: "All of this as of then." }),
        forecast: budgetForecast.optional().meta({ description: "Absent: there is nothing left of it." }),
      })
      .optional()
      .meta({ description: "What is used up of its budget in this period." }),
    held: held.meta({ description: "Accelerators held now by the team and all below it, by type." }),
    entitlement: held.optional().meta({
      description:
        "What it may claim by what everybody asks for now, by resource: the larger of its guarantee and its fair share, within its limit. Absent: the policy compares no teams.",
    }),
    decayedUsage: z
      .object({ accelerators: z.number().nonnegative(), coresMilli: count, memoryMib: count })
      .optional()
      .meta({
        description:
          "What they held on average lately, by the half-life of the policy; absent: past use does not count.",
      }),
    heldInAll: z
      .object({ accelerators: z.number().nonnegative(), coresMilli: count, memoryMib: count })
      .meta({ description: "The same in all, with cores and memory." }),
  })
  .meta({ id: "Team" });

export const teamPage = pageOf(team, "TeamPage");
export const teamRemoved = z.object({ team: z.string() }).meta({ id: "TeamRemoved" });

export type Team = z.output<typeof team>;
export type TeamRemoved = z.output<typeof teamRemoved>;
