/** Declaring things in one go: all of it or nothing, and what it comes to (or would, with `dryRun`). */
import { z } from "zod";
import { pool, site } from "./fleet.ts";
import * as limits from "./limits.ts";
import { teamSpec } from "./team.ts";
import { workloadSpec } from "./workload-spec.ts";

export const applyRequest = z
  .strictObject({
    sites: z.array(site).max(limits.APPLY_SITES_MAX).default([]),
    pools: z.array(pool).max(limits.APPLY_POOLS_MAX).default([]),
    teams: z.array(teamSpec).max(limits.APPLY_TEAMS_MAX).default([]),
    workloads: z.array(workloadSpec).max(limits.APPLY_WORKLOADS_MAX).default([]),
  })
  .meta({ id: "ApplyRequest" });

export const applyChange = z
  .object({
    kind: z.enum(["site", "pool", "team", "workload"]),
    name: z.string(),
    action: z.enum(["created", "changed", "unchanged"]),
    workloadId: z.string().nullable().meta({ description: "For workloads; null where a dry run would create one." }),
  })
  .meta({ id: "ApplyChange" });

export const applyPlan = z
  .object({ dryRun: z.boolean(), changes: z.array(applyChange) })
  .meta({ id: "ApplyPlan", description: "What was done, or, with `dryRun`, what would be." });

export type ApplyRequest = z.output<typeof applyRequest>;
export type ApplyRequestInput = z.input<typeof applyRequest>;
export type ApplyChange = z.output<typeof applyChange>;
export type ApplyPlan = z.output<typeof applyPlan>;
