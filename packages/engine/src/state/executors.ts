/** The executor of an attempt, and its capabilities. */
import type { ExecutorCapabilities, ExecutorId, NodeId, Attempt } from "@headroom/model";
import type { ReadonlyState } from "./state.ts";

/**
 * Id of the executor of an attempt, or `null` if the node of its first worker is no longer known. All workers of a gang
 * have the same executor.
 */
export const executorOf = (state: ReadonlyState, { workers }: Pick<Attempt, "workers">): ExecutorId | null =>
  workers[0] === undefined ? null : executorOfNode(state, workers[0].node);

export function executorOfNode({ nodes, pools }: ReadonlyState, id: NodeId): ExecutorId | null {
  const node = nodes.get(id);
  return node === undefined ? null : (pools.get(node.pool)?.executor ?? null);
}

/**
 * Whether an executor has a capability. An executor that has not registered, such as a simulated one, counts as having
 * every capability.
 */
export const canDo = ({ executors }: ReadonlyState, id: ExecutorId, capability: keyof ExecutorCapabilities): boolean =>
  executors.get(id)?.capabilities[capability] ?? true;

/** Whether an executor runs workers in container images. One that registered without saying so does not. */
export const runsImages = ({ executors }: ReadonlyState, id: ExecutorId): boolean => {
  const known = executors.get(id);
  return known === undefined || known.capabilities.images === true;
};

/** Whether an executor brings inputs from stores. One that registered without saying so does, as earlier builds assumed. */
export const bringsInputs = ({ executors }: ReadonlyState, id: ExecutorId): boolean =>
  executors.get(id)?.capabilities.inputs !== false;

/** Whether an executor uploads what work produces. One that registered without saying so does, as earlier builds assumed. */
export const uploads = ({ executors }: ReadonlyState, id: ExecutorId): boolean =>
  executors.get(id)?.capabilities.uploads !== false;

/** Whether an executor of the fleet runs work with the rights of its submitter. */
export function mapsSubmitters({ executors }: ReadonlyState): boolean {
  for (const { capabilities } of executors.values()) if (capabilities.submitters === true) return true;
  return false;
}
