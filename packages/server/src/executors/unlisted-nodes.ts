/** Nodes that are missing from the inventories of one executor, each with the time since when. */
import { withdrawnDetail } from "@headroom/model";
import type { ExecutorId, NodeId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Inventory, NodeSignals } from "@headroom/executors";

/** Signals of nodes that people have taken out of service at the cluster. */
const CLOSED_CODE = /^(?:slurm-drain|k8s-cordoned|k8s-taint-.*)$/;

/** Why the node is lost. `answer`: the newest signals of its executor; `null`: it has none. */
export function unlistedDetail(id: NodeId, answer: NodeSignals | null): string {
  const own = (answer?.signals ?? []).filter(({ nodeId }) => nodeId === id);
  const closed = own.find(({ code }) => CLOSED_CODE.test(code));
  const isFaulty = own.some(({ severity }) => severity === "critical");
  return closed === undefined || isFaulty ? "the executor no longer lists it" : withdrawnDetail(closed.detail);
}

export class UnlistedNodes {
  readonly #executor: ExecutorId;
  readonly #lostAfterMs: number;
  /** Times are from `performance.now()`, so that a jump of the clock loses no node. */
  #sinceMs: ReadonlyMap<NodeId, number> = new Map();

  constructor(executor: ExecutorId, lostAfterMs: number) {
    this.#executor = executor;
    this.#lostAfterMs = lostAfterMs;
  }

  /**
   * Nodes that have been missing long enough. If they are still not lost after the same time, they are returned again.
   */
  overdue({ nodes, pools }: ReadonlyState, inventory: Inventory): readonly NodeId[] {
    const listed = new Set(inventory.nodes.map(({ id }) => id));
    const nowMs = performance.now();
    const missingSinceMs = new Map<NodeId, number>();
    const overdue: NodeId[] = [];
    for (const { id, pool, health } of nodes.values()) {
      if (pools.get(pool)?.executor !== this.#executor || listed.has(id) || health === "lost") continue;
      const sinceMs = this.#sinceMs.get(id) ?? nowMs;
      const isOverdue = nowMs - sinceMs >= this.#lostAfterMs;
      missingSinceMs.set(id, isOverdue ? nowMs : sinceMs);
      if (isOverdue) overdue.push(id);
    }
    this.#sinceMs = missingSinceMs;
    return overdue;
  }
}
