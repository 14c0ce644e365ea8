import { executorOf as executorIdOf } from "@headroom/engine";
import type { WorkerAllocation } from "@headroom/model";
import type { Executor } from "@headroom/executors";
import type { ControlPlane } from "./control-plane.ts";

/** The executor of the attempt's pool; `null`: this control plane does not run that executor. */
export async function executorOf(
  { driver, executors }: ControlPlane,
  workers: readonly WorkerAllocation[],
): Promise<Executor | null> {
  const id = await driver.read(({ state }) => executorIdOf(state, { workers }));
  return id === null ? null : (executors.get(id) ?? null);
}
