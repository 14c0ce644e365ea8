/** Stage 5: the plan, with the preemptor's placement and the victims whose eviction frees it. */
import { acceleratorsIn, partsOf } from "@headroom/model";
import type { GangPart, Attempt, PreemptionGround, Nomination, Workload } from "@headroom/model";
import type { QueueBucket } from "../cluster/queue.ts";
import type { Placement } from "../cluster/request.ts";

/** Workers of an attempt that are evicted or migrate together, or a nomination that is withdrawn. */
export interface VictimUnit {
  readonly attempt: Attempt;
  readonly workload: Workload;
  /**
   * Number of workers that the attempt keeps. The unit contains the workers from this index up to, but not including,
   * `upTo`.
   */
  readonly keeps: number;
  readonly upTo: number;
  /**
   * The nomination that is withdrawn. `attempt` is then the attempt that would have started. `null` if the unit is
   * running work.
   */
  readonly nomination: Nomination | null;
}

/** Resources that the unit frees, by kind of worker. */
export const partsOfUnit = ({ attempt, workload, keeps, upTo }: VictimUnit): readonly GangPart[] =>
  partsOf(workload.spec.gang, attempt.workers.slice(keeps, upTo));

/** Accelerators that the unit frees. */
export const acceleratorsOfUnit = (unit: VictimUnit): number => acceleratorsIn(partsOfUnit(unit));

export interface Victim {
  readonly attempt: Attempt;
  /** Number of workers that the attempt keeps; 0 if it is evicted completely. */
  readonly keeps: number;
  /** The ground of the eviction, if the strategy knows it more precisely than the plan's reason. */
  readonly ground?: PreemptionGround;
  /** Number of evicted workers that get another place in the plan. Absent means 0. */
  readonly migrating?: number;
}

/** The destination of a migrating victim. */
export interface Migration {
  readonly attempt: Attempt;
  readonly bucket: QueueBucket;
  readonly placement: Placement;
}

export interface Plan {
  readonly preemptor: QueueBucket;
  readonly placement: Placement;
  readonly victims: readonly Victim[];
  /** The nominations that are withdrawn for the preemptor, if any. */
  readonly withdrawn?: readonly Nomination[];
  /** The attempts that keep running in their place as opportunistic jobs, if any. */
  readonly relabelled?: readonly Attempt[];
  /** The destinations of migrating victims, if any victim migrates. */
  readonly migrations?: readonly Migration[];
}

/** Returns whether the plan has no victim and withdraws or relabels nothing. */
export const takesNothing = ({ victims, withdrawn = [], relabelled = [] }: Plan): boolean =>
  victims.length === 0 && withdrawn.length === 0 && relabelled.length === 0;

/** One victim for each attempt, with the smallest number of workers that any of its units keeps. */
export function victimsOf(units: readonly VictimUnit[], migrations: readonly Migration[]): readonly Victim[] {
  const keeps = new Map<Attempt, number>();
  for (const unit of units)
    if (unit.nomination === null) keeps.set(unit.attempt, Math.min(unit.keeps, keeps.get(unit.attempt) ?? unit.keeps));
  const migrating = new Map<Attempt, number>();
  for (const { attempt, placement } of migrations)
    migrating.set(attempt, (migrating.get(attempt) ?? 0) + placement.workers.length);
  return [...keeps].map(([attempt, kept]) => ({ attempt, keeps: kept, migrating: migrating.get(attempt) ?? 0 }));
}
