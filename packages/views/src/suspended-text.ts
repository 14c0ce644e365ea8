/** Nodes that could hold waiting work and get none, because of the state of their executor. */
import { whySuspended } from "@headroom/model";
import type { ExecutorState, Node, WorkloadSpec } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { writeInstant } from "@headroom/protocol";
import { roomOn } from "./fleet-cause.ts";
import { plural } from "./plain-text.ts";

type FleetWithExecutors = Pick<ReadonlyState, "nodes" | "pools" | "executorStates">;

/** ` 2 nodes of the executor hpc could hold a worker, but …`; empty if no node is suspended by its executor. */
export function suspendedSentence({ nodes, pools, executorStates }: FleetWithExecutors, spec: WorkloadSpec): string {
  if (executorStates.size === 0 || spec.gang.taskGroups !== undefined || spec.gang.profile !== undefined) return "";
  const able = (node: Node): boolean => node.suspended === true && node.health === "up" && roomOn(node, spec) > 0;
  return [...executorStates.values()]
    .map((state) => {
      const found = [...nodes.values()].filter(
        (node) => pools.get(node.pool)?.executor === state.executor && able(node),
      ).length;
      return found === 0
        ? ""
        : ` ${plural(found, "node")} of the executor ${state.executor} could hold a worker, but ${whyText(state)}.`;
    })
    .join("");
}

/** `the executor is unreachable since …: no answer within 30 s`. */
function whyText(state: ExecutorState): string {
  switch (whySuspended(state)) {
    case "configured":
      return "the executor has not answered yet";
    case "unreachable":
      return `the executor is unreachable since ${writeInstant(state.sinceMs)}: ${state.reason}`;
    case "removed":
      return `the executor was removed at ${writeInstant(state.sinceMs)}`;
    case "followed":
      return "the executor is only followed, so nothing is placed there";
    case null:
      return "the nodes do not take work yet";
  }
}
