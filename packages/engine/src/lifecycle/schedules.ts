/** Adds and removes schedules. The workload of a schedule is checked when it is added and at each due time. */
import { nextDueMs } from "@headroom/model";
import type { Command, Schedule, Rejection } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { World } from "../cluster/world.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";

/** Checks that the team exists and that the schedule is due at some time. Dependencies need not exist yet. */
export function scheduleAdmissionFailure(
  { state }: World,
  { name, spec, times }: Schedule,
  { teams }: Pick<Command & { readonly kind: "apply" }, "teams">,
): Rejection | null {
  const { team } = spec;
  if (!state.teams.has(team) && !teams.some((each) => each.name === team)) return { code: "unknownTeam", team };
  return nextDueMs(times, state.nowMs) === null ? { code: "neverDue", name } : null;
}

export function recordSchedule(batch: Batch, schedule: Schedule, actor: string): void {
  batch.emit({ kind: "scheduleSet", version: 2, atMs: batch.nowMs, schedule, actor });
}

/** Removes a schedule. Workloads that it has submitted continue. */
export function removeSchedule(batch: Batch, { name, actor }: Command & { readonly kind: "removeSchedule" }): Decision {
  if (!batch.world.state.schedules.has(name)) return refused({ code: "unknownSchedule", name });
  batch.emit({ kind: "scheduleRemoved", version: 1, atMs: batch.nowMs, name, actor });
  return done({ kind: "scheduleRemoved", name });
}
