/** Which executor runs an attempt, and what that executor can do. */
import type { ExecutorCapabilities, ExecutorId } from "../model/fleet.ts";
import type { NodeId } from "../model/ids.ts";
import type { Attempt } from "../model/workload.ts";
import type { ReadonlyState } from "./state.ts";

/** A gang lies within one executor, so its first worker tells; `null`: its node is not known any more. */
export const executorOf = (state: ReadonlyState, { workers }: Pick<Attempt, "workers">): ExecutorId | null =>
  workers[0] === undefined ? null : executorOfNode(state, workers[0].node);

export function executorOfNode({ nodes, pools }: ReadonlyState, id: NodeId): ExecutorId | null {
  const node = nodes.get(id);
  return node === undefined ? null : (pools.get(node.pool)?.executor ?? null);
}

/** An executor that has not registered is taken to be able to do everything: simulated ones are. */
export const canDo = ({ executors }: ReadonlyState, id: ExecutorId, capability: keyof ExecutorCapabilities): boolean =>
  executors.get(id)?.capabilities[capability] ?? true;
