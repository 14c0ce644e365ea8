/** Executors that are declared, answer, fall silent and are removed. Their nodes are suspended meanwhile. */
import { whySuspended } from "@headroom/model";
import type { ExecutorEvent, ExecutorId, ExecutorState } from "@headroom/model";
import type { WritableNode } from "../state/mutable-state.ts";
import { changeHistory } from "./imported-histories.ts";
import type { Appliers, WritableWorld } from "./writable.ts";

export const executorEvents: Appliers<ExecutorEvent> = {
  executorDeclared(world, { executor, mode, atMs }) {
    const known = world.state.executorStates.get(executor);
    const isNew = known === undefined || known.phase === "removed";
    const phase = isNew ? ({ phase: "configured", sinceMs: atMs, reason: "" } as const) : known;
    set(world, { ...phase, executor, mode, isDeclared: true });
  },
  executorLost(world, { executor, detail, atMs }) {
    set(world, { ...stateOf(world, executor), phase: "unreachable", sinceMs: atMs, reason: detail });
  },
  executorReturned(world, { executor, atMs }) {
    set(world, { ...stateOf(world, executor), phase: "reachable", sinceMs: atMs, reason: "" });
  },
  executorRemoved(world, { executor, atMs }) {
    set(world, { ...stateOf(world, executor), phase: "removed", sinceMs: atMs, reason: "" });
    forgetUnused(world);
    changeHistory(world, () => world.state.importedHistories.delete(executor));
  },
  historyImported(world, { history, actor, atMs }) {
    changeHistory(world, () =>
      world.state.importedHistories.set(history.executor, { ...history, importedAtMs: atMs, actor }),
    );
  },
  // The attempts that it ends have events of their own.
  executorAbandoned() {},
};

const stateOf = ({ state }: WritableWorld, executor: ExecutorId): ExecutorState =>
  state.executorStates.get(executor) ?? {
    executor,
    mode: "run",
    phase: "reachable",
    sinceMs: 0,
    reason: "",
    isDeclared: false,
  };

function set(world: WritableWorld, next: ExecutorState): void {
  const { state } = world;
  state.executorStates.set(next.executor, next);
  const isSuspended = whySuspended(next) !== null;
  for (const node of state.nodes.values())
    if (state.pools.get(node.pool)?.executor === next.executor) suspend(world, node, isSuspended);
}

function suspend(world: WritableWorld, node: WritableNode, isSuspended: boolean): void {
  if (isSuspended === (node.suspended === true)) return;
  world.capacity.update(node, () => {
    if (isSuspended) node.suspended = true;
    else delete node.suspended;
    node.revision = world.state.sequence;
  });
}

/** Whether nodes of this executor get no new work. */
export function isExecutorSuspended({ state }: WritableWorld, executor: ExecutorId): boolean {
  const known = state.executorStates.get(executor);
  return known !== undefined && whySuspended(known) !== null;
}

/** Brings nodes up to date with the executor that their pool names now. */
export function suspendLikeExecutor(world: WritableWorld, nodes: readonly WritableNode[], executor: ExecutorId): void {
  const isSuspended = isExecutorSuspended(world, executor);
  for (const node of nodes) suspend(world, node, isSuspended);
}

/** Removed executors whose last pool has left are forgotten. */
export function forgetUnused({ state }: WritableWorld): void {
  for (const { executor, phase } of state.executorStates.values()) {
    if (phase !== "removed" || [...state.pools.values()].some((pool) => pool.executor === executor)) continue;
    state.executorStates.delete(executor);
    state.executors.delete(executor);
  }
}
