/** The executor of an attempt, and its capabilities. */
import { uploadDirsOf } from "@headroom/model";
import type { Attempt, ExecutorAbility, ExecutorId, NodeId, WorkloadSpec } from "@headroom/model";
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
export const canDo = ({ executors }: ReadonlyState, id: ExecutorId, ability: ExecutorAbility): boolean =>
  executors.get(id)?.capabilities[ability] ?? true;

/** Whether an executor has an ability that earlier builds did not have. One that registered without saying so has not. */
export const hasNewAbility = ({ executors }: ReadonlyState, id: ExecutorId, ability: "images" | "secrets"): boolean => {
  const known = executors.get(id);
  return known === undefined || known.capabilities[ability] === true;
};

/** Whether an executor brings inputs from stores. One that registered without saying so does, as earlier builds assumed. */
export const bringsInputs = ({ executors }: ReadonlyState, id: ExecutorId): boolean =>
  executors.get(id)?.capabilities.inputs !== false;

/** Whether an executor uploads what work produces. One that registered without saying so does, as earlier builds assumed. */
export const uploads = ({ executors }: ReadonlyState, id: ExecutorId): boolean =>
  executors.get(id)?.capabilities.uploads !== false;

/** The directory that keeps an executor from uploading what the work makes, since nothing is read there. `null`: there is none. */
export function closedUploadDir({ executors }: ReadonlyState, id: ExecutorId, spec: WorkloadSpec): string | null {
  const open = executors.get(id)?.capabilities.uploadsFrom;
  if (open === undefined) return null;
  return uploadDirsOf(spec).find((each) => !open.some((directory) => isBelow(directory, each))) ?? null;
}

/** A path with steps upwards is below nothing. */
const isBelow = (directory: string, path: string): boolean =>
  `${path}/`.startsWith(directory.endsWith("/") ? directory : `${directory}/`) && !path.split("/").includes("..");

/** Whether an executor of the fleet runs work with the rights of its submitter. */
export function mapsSubmitters({ executors }: ReadonlyState): boolean {
  for (const { capabilities } of executors.values()) if (capabilities.submitters === true) return true;
  return false;
}
