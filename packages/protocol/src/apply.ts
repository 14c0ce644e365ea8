/**
 * Applies documents atomically: all of them or none. The answer states the effects, or with `dryRun` the expected
 * effects.
 */
import { z } from "zod";
import {
  calendarEntry,
  limits,
  pipeline,
  pool,
  schedule,
  site,
  sliceFaultsIn,
  stepSpecs,
  submittedSpec,
  teamSpec,
  type Pipeline,
  type TeamSpec,
} from "@headroom/spec";
import { applyWarning } from "./apply-warning.ts";
import { submissionForecast } from "./forecast.ts";
import { notices } from "./workload.ts";
import { changeableField } from "./workload-changes.ts";

interface PipelineFault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

interface Fault {
  readonly index: number;
  readonly message: string;
}

/**
 * Problems of the teams in one request: cycles, and nesting deeper than names allow. The engine checks the teams above
 * them.
 */
function nestingFaults(teams: readonly TeamSpec[]): Fault[] {
  const parents = new Map(teams.map(({ name, parent }) => [name, parent]));
  return teams.flatMap(({ name }, index): Fault[] => {
    const path = [name];
    for (let at = parents.get(name); at !== null && at !== undefined; at = parents.get(at)) {
      // A cycle is reported at the teams of the cycle, not at teams below it.
      if (at !== name && path.includes(at)) return [];
      path.push(at);
      if (at === name) return [{ index, message: `must not contain each other: ${path.join(" > ")}` }];
      if (path.length > limits.TEAM_DEPTH_MAX) {
        return [{ index, message: `must be nested at most ${limits.TEAM_DEPTH_MAX} deep: ${path.join(" > ")}` }];
      }
    }
    return [];
  });
}

function pipelineFaults(declared: Pipeline): PipelineFault[] {
  return stepSpecs(declared).flatMap(({ at, spec }) =>
    sliceFaultsIn(spec).map(({ path, message }) => ({ path: ["steps", at, "spec", ...path], message })),
  );
}

export const applyRequest = z
  .strictObject({
    sites: z.array(site).max(limits.APPLY_SITES_MAX).default([]),
    pools: z.array(pool).max(limits.APPLY_POOLS_MAX).default([]),
    teams: z.array(teamSpec).max(limits.APPLY_TEAMS_MAX).default([]),
    workloads: z.array(submittedSpec).max(limits.APPLY_WORKLOADS_MAX).default([]),
    schedules: z.array(schedule).max(limits.APPLY_CALENDAR_MAX).optional(),
    pipelines: z.array(pipeline).max(limits.APPLY_PIPELINES_MAX).optional(),
    calendar: z.array(calendarEntry).max(limits.APPLY_CALENDAR_MAX).optional(),
  })
  .check(({ value, issues }) => {
    for (const { index, message } of nestingFaults(value.teams)) {
      issues.push({ code: "custom", input: value, path: ["teams", index, "parent"], message });
    }
    for (const [index, { spec }] of (value.schedules ?? []).entries())
      for (const { path, message } of sliceFaultsIn(spec))
        issues.push({ code: "custom", input: value, path: ["schedules", index, "spec", ...path], message });
    for (const [index, each] of (value.pipelines ?? []).entries())
      for (const { path, message } of pipelineFaults(each))
        issues.push({ code: "custom", input: value, path: ["pipelines", index, ...path], message });
  })
  .meta({ id: "ApplyRequest" });

export const applyChange = z
  .object({
    kind: z.enum(["site", "pool", "team", "workload", "calendar", "schedule", "pipeline"]),
    name: z.string(),
    action: z.enum(["created", "changed", "unchanged"]),
    workloadId: z.string().nullable().meta({ description: "Id of the workload; null if a dry run would create it." }),
    fields: z.array(changeableField).optional().meta({
      description: "Fields of a workload that change in place; absent: it is submitted, or does not change.",
    }),
    notices: notices.meta({ description: "Warnings about a workload that is or would be created; absent: none." }),
    forecast: submissionForecast.optional().meta({
      description:
        "With `forecast`: the predicted start of the workload that would be created, after the workloads before it in the request.",
    }),
  })
  .meta({ id: "ApplyChange" });

export const applyPlan = z
  .object({
    dryRun: z.boolean(),
    changes: z.array(applyChange),
    warnings: z
      .array(applyWarning)
      .optional()
      .meta({ description: "Warnings about documents that were accepted; absent: there are none." }),
  })
  .meta({
    id: "ApplyPlan",
    description: "Changes, one for each document; with `dryRun`, the changes that would be made.",
  });

export type ApplyRequest = z.output<typeof applyRequest>;
export type ApplyRequestInput = z.input<typeof applyRequest>;
export type ApplyChange = z.output<typeof applyChange>;
export type ApplyPlan = z.output<typeof applyPlan>;
