/** The simulated effect of a proposal, from the answer of the what-if or of the dry run that plays its change. */
import { EFFECT_STARTS_MAX, EFFECT_TEAMS_MAX } from "@headroom/model";
import type { ProposalEffect, TeamEffect, TeamName, WorkloadId } from "@headroom/model";
import type { Defragmentation, WhatIfAnswer } from "@headroom/protocol";
import { meanOf, startsEarlier } from "./what-if-figures.ts";

/** Horizon of the simulation in ms. Longer forecasts depend on submissions that nobody knows. */
export const PROPOSAL_HORIZON_MS: number = 12 * 3_600_000;

export function effectOfWhatIf(answer: WhatIfAnswer, atMs: number): ProposalEffect {
  const { horizonMs, earlierCount, laterCount, interruptedCount, present, changed, moved } = answer;
  const usedMilli = (timeline: WhatIfAnswer["present"]): number =>
    Math.round(1000 * meanOf(timeline, ({ heldAccelerators }) => heldAccelerators));
  return {
    atMs,
    horizonMs,
    earlierCount,
    laterCount,
    interruptedCount,
    lostAcceleratorMs: Math.max(0, Math.round(changed.lostAcceleratorMs - present.lostAcceleratorMs)),
    presentUsedMilli: usedMilli(present),
    changedUsedMilli: usedMilli(changed),
    teams: teamEffects(answer),
    starts: moved.slice(0, EFFECT_STARTS_MAX).map(({ workloadId, presentAtMs, changedAtMs }) => ({
      workloadId: workloadId as WorkloadId,
      presentAtMs,
      changedAtMs,
    })),
  };
}

function teamEffects({ moved, interrupted }: WhatIfAnswer): readonly TeamEffect[] {
  const counts = new Map<string, { earlierCount: number; laterCount: number; interruptedCount: number }>();
  const of = (team: string) => {
    const known = counts.get(team) ?? { earlierCount: 0, laterCount: 0, interruptedCount: 0 };
    counts.set(team, known);
    return known;
  };
  for (const each of moved)
    if (startsEarlier(each)) of(each.team).earlierCount++;
    else of(each.team).laterCount++;
  for (const each of interrupted) if (each.changed !== null) of(each.team).interruptedCount++;
  const sizeOf = ({ earlierCount, laterCount, interruptedCount }: Omit<TeamEffect, "team">): number =>
    earlierCount + laterCount + interruptedCount;
  return [...counts]
    .map(([team, effect]): TeamEffect => ({ team: team as TeamName, ...effect }))
    .filter((effect) => sizeOf(effect) > 0)
    .toSorted((left, right) => sizeOf(right) - sizeOf(left) || (left.team < right.team ? -1 : 1))
    .slice(0, EFFECT_TEAMS_MAX);
}

/** Migrations interrupt work, and move no start. */
export function effectOfDefragmentation(
  { migrations }: Defragmentation,
  migrationsMax: number,
  atMs: number,
): ProposalEffect {
  const made = migrations.slice(0, migrationsMax);
  const lostAcceleratorMs = Math.round(made.reduce((sum, each) => sum + each.lostAcceleratorMs, 0));
  const none = { earlierCount: 0, laterCount: 0, presentUsedMilli: 0, changedUsedMilli: 0, teams: [], starts: [] };
  return { atMs, horizonMs: 0, interruptedCount: made.length, lostAcceleratorMs, ...none };
}
