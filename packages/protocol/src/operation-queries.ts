/** Parameters of paths, listings and streams. */
import { z } from "zod";
import { limits, names } from "@headroom/spec";
import { pageQuery, queryBoolean, queryInteger } from "./page.ts";
import { workloadKinds } from "./workload.ts";
import { isWorkloadPhase, workloadPhases } from "./workload-phases.ts";

export const byId = z.strictObject({ id: names.opaqueId });
export const byTeam = z.strictObject({ name: names.teamName });

export const queueQuery = pageQuery.extend({
  team: names.teamName.optional(),
  kind: z.enum(workloadKinds).optional(),
  name: names.workloadName.optional(),
  search: z.string().min(1).max(limits.SEARCH_CHARS_MAX).optional(),
});

/** One phase, or several with commas between them. */
const phaseList = z
  .string()
  .max(limits.SEARCH_CHARS_MAX)
  .regex(new RegExp(`^(?:${workloadPhases.join("|")})(?:,(?:${workloadPhases.join("|")}))*$`), {
    message: `must be one of ${workloadPhases.join(", ")}, or several of them with commas`,
  })
  .meta({ description: `Phases, with commas between them: ${workloadPhases.join(", ")}.` })
  .transform((text) => text.split(",").filter((each) => isWorkloadPhase(each)));

export const workloadQuery = queueQuery.extend({
  phase: phaseList.optional(),
  actor: z
    .string()
    .min(1)
    .max(limits.SEARCH_CHARS_MAX)
    .optional()
    .meta({ description: "User who submitted the workload." }),
  node: names.opaqueId.optional().meta({
    description: "Node on which an attempt of the workload runs, or on which an ended attempt ran that is still kept.",
  }),
  submittedFromMs: queryInteger(0, 999_999_999_999_999).optional(),
  endedFromMs: queryInteger(0, 999_999_999_999_999)
    .optional()
    .meta({ description: "Only workloads that ended at or after this instant." }),
  order: z.enum(["newest", "oldest"]).optional(),
});

/** Upper bound of `tailLines`. Without `tailLines` the whole log is returned. */
const TAIL_LINES_MAX = 100_000;

export const logQuery = z.strictObject({
  attempt: names.opaqueId.optional(),
  worker: queryInteger(0, limits.WORKERS_MAX).optional(),
  stream: z.enum(["stdout", "stderr"]).optional(),
  follow: queryBoolean.optional(),
  tailLines: queryInteger(0, TAIL_LINES_MAX).optional(),
  sinceMs: queryInteger(0, 999_999_999_999_999).optional(),
});

export const eventQuery = z.strictObject({
  from: z
    .union([
      z.literal("next", { error: "must be next or a whole number from 1 on" }),
      queryInteger(1, 999_999_999_999_999),
    ])
    .optional()
    .meta({ description: "First sequence number, default 1; `next`: only future events." }),
});

export const stopQuery = z.strictObject({
  task: queryInteger(0, limits.TASKS_MAX - 1)
    .optional()
    .meta({ description: "Stop only this task of an array: it is not tried again, and the others continue." }),
});
