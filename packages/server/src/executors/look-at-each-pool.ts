import type { Driver } from "../driver/driver.ts";

/**
 * Repeats the inventories after each definition of a pool or site, because these contain the labels of nodes and the levels
 * that the labels state, and after each drain and its end, which executors pass on. The repetition ends with the returned function
 * or the driver.
 */
export function lookAtEachPool(driver: Driver, look: () => void): () => void {
  const stopped = new AbortController();
  void lookUntil(driver, look, stopped.signal);
  return () => stopped.abort();
}

async function lookUntil(driver: Driver, look: () => void, signal: AbortSignal): Promise<void> {
  const { sequence } = driver.status();
  for await (const { event } of driver.events(sequence + 1, signal)) if (LOOKED_AFTER.has(event.kind)) look();
}

const LOOKED_AFTER: ReadonlySet<string> = new Set(["poolDefined", "siteDefined", "nodeDrainStarted", "nodeResumed"]);
