/** What each team's work that may be evicted holds in all: sums that bound what any plan could take. */
import type { TeamName } from "../../model/ids.ts";
import { workloadOf } from "../../state/entities.ts";
import { bookedSequenceOf } from "../../state/world.ts";
import type { World } from "../../state/world.ts";

export interface EvictableSum {
  readonly attempts: number;
  /** At most: a share counts as the accelerator that it is of. */
  readonly accelerators: number;
  readonly priorityMin: number;
}

export type EvictableSums = ReadonlyMap<TeamName, EvictableSum>;

/** Remembered until somebody is given something, or gives it back. */
export function evictableSums(world: World): EvictableSums {
  const bookedSequence = bookedSequenceOf(world);
  const known = world.evictableSums;
  if (known !== null && known.bookedSequence === bookedSequence) return known.value;
  const value = new Map<TeamName, EvictableSum>();
  for (const [team, attempts] of world.evictable) {
    let accelerators = 0;
    let priorityMin = Number.POSITIVE_INFINITY;
    for (const { workloadId, workers } of attempts) {
      const { gang, priority } = workloadOf(world, workloadId).spec;
      accelerators += workers.length * gang.accelerators;
      priorityMin = Math.min(priorityMin, priority);
    }
    value.set(team, { attempts: attempts.size, accelerators, priorityMin });
  }
  world.evictableSums = { bookedSequence, value };
  return value;
}
