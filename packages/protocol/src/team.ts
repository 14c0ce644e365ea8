/** Teams: nodes of the quota tree, with what they use. */
import { z } from "zod";
import * as limits from "./limits.ts";
import { count, integer } from "./limits.ts";
import * as names from "./names.ts";
import { pageOf } from "./page.ts";

const amounts = z.record(names.acceleratorType, z.number().min(0).max(limits.ACCELERATOR_LIMIT_MAX));

export const teamSpec = z
  .strictObject({
    name: names.teamName,
    parent: names.teamName.nullable().default(null),
    limit: z
      .record(names.acceleratorType, integer(0, limits.ACCELERATOR_LIMIT_MAX))
      .default({})
      .meta({
        description:
          "The most that the team and all below it may hold at once: by accelerator type, `accelerators` (all types), `cores` (thousandths), `memory` (MiB).",
      }),
    guarantee: amounts.optional().meta({ description: "What the team gets back whenever it asks, by resource." }),
    weight: z
      .number()
      .min(0)
      .max(1_000_000)
      .optional()
      .meta({ description: "Its part of what no guarantee covers, against its siblings; 1 if left out." }),
    lendingLimit: amounts.optional().meta({ description: "How much of its guarantee others may use; all if left out." }),
    borrowingLimit: amounts.optional().meta({ description: "How much beyond its guarantee it may use." }),
    priority: integer(-limits.PRIORITY_MAX, limits.PRIORITY_MAX).optional(),
    preemption: z
      .strictObject({
        within: z.enum(["never", "lowerPriority"]),
        reclaim: z.enum(["never", "lowerPriority", "any"]),
        whileBorrowing: z.strictObject({ priorityMax: integer(-limits.PRIORITY_MAX, limits.PRIORITY_MAX) }).optional(),
      })
      .optional()
      .meta({ description: "Whose work its waiting work may evict." }),
    shapes: z
      .array(
        z.strictObject({
          within: z.string(),
          accelerators: integer(1, limits.ACCELERATOR_LIMIT_MAX),
          count: integer(1, limits.ACCELERATOR_LIMIT_MAX),
          nodes: z.array(z.string()).optional(),
        }),
      )
      .max(64)
      .optional()
      .meta({ description: "Accelerators that hang together, owned by the team." }),
  })
  .meta({ id: "TeamSpec" });

export const team = teamSpec
  .extend({
    limit: z.record(z.string(), count),
    held: z
      .record(z.string(), count)
      .meta({ description: "Accelerators held now by the team and all below it, by type." }),
  })
  .meta({ id: "Team" });

export const teamPage = pageOf(team, "TeamPage");
export const teamRemoved = z.object({ team: z.string() }).meta({ id: "TeamRemoved" });

export type TeamSpec = z.output<typeof teamSpec>;
export type Team = z.output<typeof team>;
export type TeamRemoved = z.output<typeof teamRemoved>;
