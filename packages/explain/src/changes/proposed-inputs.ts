/**
 * Inputs that make proposed changes on a fork: the commands that the engine itself gives when it acts on a proposal. The
 * nodes of a proposed order join the fork at once: an order that is only planned has no effect, and the question is
 * whether the nodes would help.
 */
import { commandOfChange } from "@headroom/engine/internals";
import type { Engine } from "@headroom/engine";
import type { CapacityOrderDraft, Input, ProposedChange } from "@headroom/model";
import { counterfactualCommand } from "./counterfactuals.ts";
import { nodeLike } from "./node-like.ts";

/** Ordered nodes of one proposal that are simulated; more of them would only fill memory. */
const SIMULATED_NODES_MAX = 1_000;

export function proposedInputs({ state }: Pick<Engine, "state">, changes: readonly ProposedChange[]): readonly Input[] {
  return changes.flatMap((change) => {
    if (change.kind === "order") return orderedNodes(state, change.order);
    const body = commandOfChange(state, change);
    return body === null ? [] : [counterfactualCommand(body)];
  });
}

/** Copies of a node of the pool with the ordered number of accelerators; none if the pool has no such node. */
function orderedNodes({ nodes }: Engine["state"], { pool, nodeCount, shape }: CapacityOrderDraft): readonly Input[] {
  const like = [...nodes.values()].find(
    (node) => node.pool === pool && (shape?.acceleratorCount ?? node.acceleratorCount) === node.acceleratorCount,
  );
  if (like === undefined) return [];
  const inputs: Input[] = [];
  for (let index = 0; inputs.length < Math.min(nodeCount, SIMULATED_NODES_MAX); index++) {
    const node = nodeLike(like, index);
    if (!nodes.has(node.id)) inputs.push({ kind: "nodeSeen", node });
  }
  return inputs;
}
