/** Stage 5: the plan. It says which place the preemptor gets and who gives up what for it. */
import { acceleratorsIn, partsOf } from "../model/gang.ts";
import type { GangPart } from "../model/gang.ts";
import type { Attempt, EvictionRight, Nomination, Workload } from "../model/workload.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import type { Placement } from "../cluster/request.ts";

/** Workers of an attempt that leave together, or a nomination that is withdrawn. */
export interface VictimUnit {
  readonly attempt: Attempt;
  readonly workload: Workload;
  /** Workers that the attempt keeps; those from here to before `upTo` leave. */
  readonly keeps: number;
  readonly upTo: number;
  /** The unit is a nomination, which is withdrawn whole; `attempt` stands for the one that was to start. */
  readonly nomination: Nomination | null;
}

/** What the unit gives up, by kind of worker. */
export const partsOfUnit = ({ attempt, workload, keeps, upTo }: VictimUnit): readonly GangPart[] =>
  partsOf(workload.spec.gang, attempt.workers.slice(keeps, upTo));

/** Accelerators that the unit gives up. */
export const acceleratorsOfUnit = (unit: VictimUnit): number => acceleratorsIn(partsOfUnit(unit));

export interface Victim {
  readonly attempt: Attempt;
  /** Workers that it keeps; 0: it is evicted whole. */
  readonly keeps: number;
  /** The ground of the eviction, where the strategy knows more than the reason of the plan. */
  readonly right?: EvictionRight;
  /** How many of the workers that leave have a place elsewhere in the plan; absent: none. */
  readonly moving?: number;
}

/** Where a migrated victim goes on. */
export interface Move {
  readonly attempt: Attempt;
  readonly bucket: QueueBucket;
  readonly placement: Placement;
}

export interface Plan {
  readonly preemptor: QueueBucket;
  readonly placement: Placement;
  readonly victims: readonly Victim[];
  /** Nominations that are withdrawn for it; absent: none. */
  readonly withdrawn?: readonly Nomination[];
  /** Attempts that stay where they are as opportunistic jobs; absent: none. */
  readonly relabelled?: readonly Attempt[];
  /** Absent: nothing migrates. */
  readonly moves?: readonly Move[];
}

/** Whether the plan has no victim and withdraws or relabels nothing. */
export const takesNothing = ({ victims, withdrawn = [], relabelled = [] }: Plan): boolean =>
  victims.length === 0 && withdrawn.length === 0 && relabelled.length === 0;

/** One victim for each attempt, with the fewest workers that any of its units leaves it. */
export function victimsOf(units: readonly VictimUnit[], moves: readonly Move[]): readonly Victim[] {
  const keeps = new Map<Attempt, number>();
  for (const unit of units)
    if (unit.nomination === null) keeps.set(unit.attempt, Math.min(unit.keeps, keeps.get(unit.attempt) ?? unit.keeps));
  const moving = new Map<Attempt, number>();
  for (const { attempt, placement } of moves)
    moving.set(attempt, (moving.get(attempt) ?? 0) + placement.workers.length);
  return [...keeps].map(([attempt, kept]) => ({ attempt, keeps: kept, moving: moving.get(attempt) ?? 0 }));
}
