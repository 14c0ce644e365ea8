/** Executors with their pools, nodes and attempts. */
import type { Engine } from "@headroom/engine";
import { executorOf } from "@headroom/engine";
import type { ExecutorId } from "@headroom/model";
import type { Executor, Status } from "@headroom/protocol";

/** State of an executor; one without a record has always answered. */
export function executorPhase(
  { state }: Pick<Engine, "state">,
  id: ExecutorId,
): Pick<Executor, "phase" | "sinceMs" | "reason" | "mode"> {
  const known = state.executorStates.get(id);
  if (known === undefined) return { phase: "reachable", mode: "run" };
  const { phase, mode, sinceMs, reason } = known;
  return { phase, mode, sinceMs, ...(reason === "" ? {} : { reason }) };
}

/** Executors that hold back new work, for the status. */
export function silentExecutors({ state }: Pick<Engine, "state">): Status["executors"] {
  return [...state.executorStates.values()].flatMap(({ executor: name, phase, sinceMs, reason }) =>
    phase === "reachable" ? [] : [{ name, phase, sinceMs, ...(reason === "" ? {} : { reason }) }],
  );
}

export type ExecutorUse = Pick<Executor, "pools" | "nodes" | "accelerators" | "attempts">;

interface Counted {
  readonly pools: string[];
  nodes: number;
  accelerators: number;
  attempts: number;
}

/** Pools, nodes and attempts of each executor, by id. Executors without pools are absent. */
export function executorUse({ state }: Pick<Engine, "state">): ReadonlyMap<ExecutorId, ExecutorUse> {
  const uses = new Map<ExecutorId, Counted>();
  for (const { name, executor } of state.pools.values()) {
    const known = uses.get(executor);
    if (known === undefined) uses.set(executor, { pools: [name], nodes: 0, accelerators: 0, attempts: 0 });
    else known.pools.push(name);
  }
  for (const { pool, acceleratorCount } of state.nodes.values()) {
    const use = uses.get(state.pools.get(pool)?.executor ?? "");
    if (use === undefined) continue;
    use.nodes++;
    use.accelerators += acceleratorCount;
  }
  for (const attempt of state.attempts.values()) {
    const use = uses.get(executorOf(state, attempt) ?? "");
    if (use !== undefined) use.attempts++;
  }
  return uses;
}

export const NO_EXECUTOR_USE: ExecutorUse = { pools: [], nodes: 0, accelerators: 0, attempts: 0 };
