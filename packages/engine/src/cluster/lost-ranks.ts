/** Whether a gang continues with replacements for lost workers, and the ranks on a node. */

import type { NodeId } from "../model/ids.ts";
import { type Attempt, ranksOf } from "../model/workload.ts";
import { workloadOf } from "./entities.ts";
import { canReplace } from "./holdings.ts";
import type { World } from "./world.ts";

/** It opted in, its workers are alike, it runs, and nothing else changes about it. */
export function mayReplace(world: World, attempt: Attempt): boolean {
  const { spec } = workloadOf(world, attempt.workloadId);
  const isSteady = attempt.stop === null && attempt.terminating === undefined && attempt.startedAtMs !== null;
  return (
    spec.onNodeLoss === "replace" && spec.gang.taskGroups === undefined && isSteady && canReplace(world.state, attempt)
  );
}

export const ranksOn = (attempt: Attempt, nodeId: NodeId): readonly number[] =>
  ranksOf(attempt).filter((_, index) => attempt.workers[index]?.node === nodeId);
