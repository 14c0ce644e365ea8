/** Says how much capacity of work that is not submitted yet could be reclaimed, and what a restart costs. */
import { WHOLE_MILLI, mayEvict, milliOf, preemptibilityOf, rulesOf, submittedTaskCount } from "@headroom/model";
import type { Team, WorkloadSpec } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { teamHoldsInAll } from "@headroom/explain";
import { durationText, plural } from "./plain-text.ts";

/**
 * The sentences. `""`: nothing can be reclaimed, because no team has a guarantee to reclaim it for, or the work stays
 * within its own guarantee. `askedBefore`: accelerators of its team's work that is submitted together with it, before
 * it.
 */
export function reclaimSentence(engine: Engine, spec: WorkloadSpec, askedBefore = 0): string {
  const reclaimable = reclaimableOf(engine, spec, askedBefore);
  if (reclaimable === null) return "";
  const { asked, above, who } = reclaimable;
  const least = spec.minRuntimeMs === undefined ? "" : ` after it ran ${durationText(spec.minRuntimeMs)}`;
  const more = spec.restartCostMs === undefined ? "" : ` and ${durationText(spec.restartCostMs)}`;
  const lost =
    spec.checkpointOnRequest === true ? "at most the last checkpoint's age" : "the work since its last checkpoint";
  return ` It requests ${plural(asked, "accelerator")}, and ${above} of them would be above the guarantee of team ${spec.team}: ${who} can reclaim that${least}. A restart costs ${lost}${more}.`;
}

/** The same fact in one short sentence, for the notice of a submission; `""`: nothing can be reclaimed. */
export function reclaimNote(engine: Engine, spec: WorkloadSpec, askedBefore = 0): string {
  const reclaimable = reclaimableOf(engine, spec, askedBefore);
  if (reclaimable === null) return "";
  const { asked, above } = reclaimable;
  return `${above} of ${plural(asked, "accelerator")} would be above the guarantee of team ${spec.team}; other teams can reclaim them.`;
}

interface Reclaimable {
  readonly asked: number;
  readonly above: number;
  readonly who: string;
}

function reclaimableOf(engine: Engine, spec: WorkloadSpec, askedBefore: number): Reclaimable | null {
  const { state } = engine;
  const rules = rulesOf(state.policy);
  const others = [...state.teams.values()].filter(
    ({ name, guarantee }) => name !== spec.team && guarantee !== undefined,
  );
  const preemptibility = preemptibilityOf(rules, spec);
  if (!mayEvict(rules) || others.length === 0 || preemptibility === "never") return null;
  const asked = acceleratorsAsked(spec);
  // A team that is declared together with the work holds nothing yet.
  const held = state.teams.has(spec.team) ? teamHoldsInAll(engine, spec.team).accelerators : 0;
  const after = held + askedBefore + asked;
  const above = Math.min(asked, Math.max(0, Math.ceil(after - guaranteedTo(state.teams.get(spec.team)))));
  if (above === 0) return null;
  const who = preemptibility === "always" ? "other teams within their entitlement" : "a team below its own guarantee";
  return { asked, above, who };
}

/** Accelerators of any type. If they are stated by type, the sum. */
export function guaranteedTo(team: Team | undefined): number {
  const { accelerators, cores: _cores, memory: _memory, ...types } = (team?.guarantee ?? {}) as Record<string, number>;
  return accelerators ?? Object.values(types).reduce((sum, count) => sum + count, 0);
}

/** Accelerators of all tasks of the work. */
export function acceleratorsAsked(spec: WorkloadSpec): number {
  const groups = spec.gang.taskGroups ?? [spec.gang];
  const milli = groups.reduce((sum, group) => sum + group.workers * group.accelerators * milliOf(group), 0);
  return Math.ceil(milli / WHOLE_MILLI) * submittedTaskCount(spec);
}
