/** Decides whether a gang continues with replacements for its lost workers, and lists the ranks on a node. */

import { ranksOf } from "@headroom/model";
import type { NodeId, Attempt } from "@headroom/model";
import { workloadOf } from "./entities.ts";
import { canReplace } from "./holdings.ts";
import type { World } from "./world.ts";

/**
 * Whether lost workers may be replaced: the workload permits it, its workers are alike, and the attempt runs and is
 * neither stopping nor shrinking.
 */
export function mayReplace(world: World, attempt: Attempt): boolean {
  const { spec } = workloadOf(world, attempt.workloadId);
  const isSteady = attempt.stop === null && attempt.terminating === undefined && attempt.startedAtMs !== null;
  return (
    spec.onNodeLoss === "replace" && spec.gang.taskGroups === undefined && isSteady && canReplace(world.state, attempt)
  );
}

export const ranksOn = (attempt: Attempt, nodeId: NodeId): readonly number[] =>
  ranksOf(attempt).filter((_, index) => attempt.workers[index]?.node === nodeId);
