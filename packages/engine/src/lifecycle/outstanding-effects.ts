/** The effects that a crash may have swallowed. Executors are idempotent by attempt, so asking again is always right. */
import type { Effect } from "../contract/effects.ts";
import { workloadOf } from "../cluster/entities.ts";
import { canResize } from "../cluster/holdings.ts";
import type { World } from "../cluster/world.ts";
import type { Attempt } from "../model/workload.ts";
import { checkpointOf, growthOf, launchOf, replaceOf, shrinkOf, stopOf } from "../transitions/attempt-effects.ts";

export function outstandingEffects(world: World): readonly Effect[] {
  return [...world.state.attempts.values()]
    .toSorted((left, right) => left.placedSequence - right.placedSequence)
    .flatMap((attempt) => effectsOf(world, attempt));
}

function effectsOf(world: World, attempt: Attempt): Effect[] {
  const effects: Effect[] = [];
  if (attempt.launchAtMs !== undefined) return effects;
  if (attempt.startedAtMs === null) effects.push(launchOf(world, attempt));
  const { stop } = attempt;
  if (stop === null && mayHaveGrown(world, attempt)) effects.push(growthOf(world, attempt, attempt.workers));
  if (stop?.checkpointUntilMs !== undefined) effects.push(checkpointOf(world, attempt, stop.checkpointUntilMs));
  else if (stop !== null) effects.push(stopOf(world, attempt, stop.reason));
  else if (attempt.joining !== undefined) effects.push(replaceOf(world, attempt, attempt.joining));
  if (stop === null && attempt.terminating !== undefined) effects.push(shrinkOf(world, attempt));
  return effects;
}

/** Executors say that an attempt runs, and not with how many workers: each is named again. */
const mayHaveGrown = (world: World, attempt: Attempt): boolean =>
  workloadOf(world, attempt.workloadId).spec.gang.minWorkers !== undefined && canResize(world.state, attempt);
