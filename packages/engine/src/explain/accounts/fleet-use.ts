/** Used and free capacity from the indexes, for views. */
import { worldOf } from "../../engine/engine.ts";
import type { AttemptId, NodeId, TeamName } from "../../model/ids.ts";
import type { Engine } from "../../engine/ready.ts";
import { ACCELERATORS_AT, CORES_AT, MEMORY_AT } from "../../cluster/team-node.ts";

/** Attempts on the node, and its free capacity. */
export function nodeUse(
  engine: Engine,
  id: NodeId,
): {
  readonly attempts: readonly AttemptId[];
  readonly freeCount: number;
  readonly coresFreeMilli: number;
  readonly memoryFreeMib: number;
} {
  const { attempts, freeCount, coresFreeMilli, memoryFreeMib } = worldOf(engine).capacity.slot(id);
  return { attempts: [...attempts.keys()], freeCount, coresFreeMilli, memoryFreeMib };
}

/** Accelerators held by the team and its subteams, by type. */
export function teamHolds(engine: Engine, team: TeamName): ReadonlyMap<string, number> {
  return worldOf(engine).teamUse.usedByType(team);
}

/** Accelerators of the family's types held by the team and its subteams. */
export const teamHoldsOfFamily = (engine: Engine, team: TeamName, family: string): number =>
  worldOf(engine).teamUse.used(team, family);

/** Accelerators of all types, cores and memory held by the team and its subteams. */
export function teamHoldsInAll(
  engine: Engine,
  team: TeamName,
): { readonly accelerators: number; readonly coresMilli: number; readonly memoryMib: number } {
  const { used } = worldOf(engine).teamUse.node(team);
  return {
    accelerators: (used[ACCELERATORS_AT] ?? 0) / 1000,
    coresMilli: used[CORES_AT] ?? 0,
    memoryMib: used[MEMORY_AT] ?? 0,
  };
}
