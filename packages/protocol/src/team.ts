/** Teams: nodes of the quota tree, with what they use. */
import { z } from "zod";
import * as limits from "./limits.ts";
import { count, integer } from "./limits.ts";
import * as names from "./names.ts";
import { pageOf } from "./page.ts";

export const teamSpec = z
  .strictObject({
    name: names.teamName,
    parent: names.teamName.nullable().default(null),
    limit: z
      .record(names.acceleratorType, integer(0, limits.ACCELERATOR_LIMIT_MAX))
      .default({})
      .meta({ description: "The most accelerators of each type that the team and all below it may hold at once." }),
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
