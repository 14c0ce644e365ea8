import type { WorkerAllocation } from "@headroom/engine";
import type { Executor } from "@headroom/executors";
import type { ControlPlane } from "./control-plane.ts";

/** Who runs (or ran) an attempt: the executor of its nodes' pool; `null` where this control plane has none of that kind. */
export async function executorOf(
  { driver, executors }: ControlPlane,
  workers: readonly WorkerAllocation[],
): Promise<Executor | null> {
  const kind = await driver.read(({ state }) => {
    const [first] = workers;
    const node = first === undefined ? undefined : state.nodes.get(first.node);
    return node === undefined ? undefined : state.pools.get(node.pool)?.executor;
  });
  return kind === undefined ? null : (executors.get(kind) ?? null);
}
