/** Executors of random worlds that fall silent and answer again. Their work runs on meanwhile, and reports itself. */
import type { Input } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Luck } from "./luck.ts";

/** `null`: no executor changes this time. */
export function silence(luck: Luck, { pools, executorStates }: ReadonlyState): Input | null {
  const silent = [...executorStates.values()].filter(({ phase }) => phase === "unreachable");
  const [first] = silent;
  if (first !== undefined) return luck.chance(40) ? { kind: "executorReachable", executor: first.executor } : null;
  const known = [...new Set([...pools.values()].map(({ executor }) => executor))];
  if (known.length === 0 || !luck.chance(4)) return null;
  return { kind: "executorUnreachable", executor: luck.pick(known), detail: "no answer" };
}

/** Foreign work comes and goes on the nodes of an executor. `null`: no change this time. */
export function foreignWork(luck: Luck, { nodes, pools }: ReadonlyState): Input | null {
  if (!luck.chance(6)) return null;
  const [executor] = [...pools.values()].map((pool) => pool.executor);
  if (executor === undefined) return null;
  const uses = [...nodes.values()].flatMap(({ id: nodeId, acceleratorCount: count, pool }) => {
    if (pools.get(pool)?.executor !== executor || luck.chance(70)) return [];
    const accelerators = luck.below(count + 2);
    return [{ nodeId, accelerators, coresMilli: 1_000 * luck.below(5), memoryMib: 1_024 * luck.below(5) }];
  });
  return { kind: "foreignUseSeen", executor, uses };
}

/** Every silent executor answers again, and foreign work has left. */
export const answers = ({ executorStates, pools }: ReadonlyState): readonly Input[] => [
  ...[...executorStates.keys()].map((executor) => ({ kind: "executorReachable", executor }) as const),
  ...[...new Set([...pools.values()].map(({ executor }) => executor))].map(
    (executor) => ({ kind: "foreignUseSeen", executor, uses: [] }) as const,
  ),
];
