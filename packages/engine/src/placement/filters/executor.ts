/**
 * Places a gang within one executor, because no executor can connect its workers with those of another. Executors are
 * tried one after another; growth stays with the gang's executor.
 */
import type { ExecutorId } from "@headroom/model";
import type { PlacementRequest } from "../../cluster/placement-request.ts";
import { growingAttempt, isInGroups } from "../../cluster/request.ts";
import type { World } from "../../cluster/world.ts";
import { executorOf, executorOfNode } from "../../state/executors.ts";
import { betweenWorkers } from "./between-workers.ts";
import type { Filter } from "./filter.ts";

export const executor: Filter = {
  signature: null,
  basis: "fleet",
  appliesTo: applies,
  check: (world, request) => {
    const wanted = executorWanted(world, request);
    return ({ node }) => wanted === null || executorOfNode(world.state, node.id) === wanted;
  },
  wakeOn: [],
  ...betweenWorkers("executor", (request, world) =>
    applies(world, request) ? request.with({ ignores: "executor" }) : null,
  ),
};

function applies({ executors }: World, request: PlacementRequest): boolean {
  if (executors.length < 2 || request.ignores === "executor") return false;
  return request.executor !== null || request.workers > 1 || request.grows !== null || isInGroups(request);
}

/**
 * The executor of the gang's running workers, or else the executor that is being tried. It is `null` if any executor
 * will do.
 */
function executorWanted(world: World, request: PlacementRequest): ExecutorId | null {
  const attempt = growingAttempt(world, request);
  const workers = attempt === null || attempt.workers.length === 0 ? request.beside : attempt.workers;
  return workers.length > 0 ? executorOf(world.state, { workers }) : request.executor;
}

/**
 * Variants of the request, one for each executor, if the gang might otherwise use several. Otherwise the request
 * itself.
 */
export function withinOneExecutor(world: World, request: PlacementRequest): readonly PlacementRequest[] {
  if (!applies(world, request) || executorWanted(world, request) !== null) return [request];
  return world.executors.map((id) => request.with({ executor: id }));
}
