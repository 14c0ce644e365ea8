/**
 * Registers the machine as a fleet: sites and pools of executors that are not declared yet, and their nodes as
 * observations.
 */
import { canonicalJson } from "@headroom/engine";
import type { Node, NodeSpec, Observation, ReadonlyState } from "@headroom/engine";
import type { Executor, Inventory } from "@headroom/executors";
import type { DriverLog } from "./driver/batch-driver.ts";
import type { Driver } from "./driver/driver.ts";
import { labelled } from "./node-labels.ts";
import { OperationalError } from "@headroom/platform";

/** Hardware rarely changes: a minute is soon enough, and asking costs a process on machines with accelerators. */
const INVENTORY_INTERVAL_MS = 60_000;

/** Records the executors, declares missing sites and pools, and reports the nodes. Existing declarations stay. */
export async function registerMachine(driver: Driver, executors: readonly Executor[]): Promise<void> {
  for (const { id, kind, capabilities } of executors)
    await driver.observe({ kind: "executorSeen", executor: { id, kind, capabilities } });
  for (const executor of executors) {
    const inventory = await executor.inventory();
    const missing = await driver.read(({ state }) => undeclared(state, inventory));
    if (missing.sites.length + missing.pools.length > 0) {
      const command = {
        kind: "apply",
        ...missing,
        teams: [],
        workloads: [],
        actor: "start",
        idempotencyKey: null,
      } as const;
      const reply = await driver.command(command);
      if (reply.kind === "rejected") {
        const facts = JSON.stringify(reply.rejection);
        throw new OperationalError("machineNotRegistered", `This machine cannot be added to the fleet: ${facts}.`);
      }
    }
    await observeChanges(driver, inventory);
  }
}

/** Repeats the inventory periodically, and when a pool was declared; returns a function that stops it. */
export function watchInventory(driver: Driver, executors: readonly Executor[], log: DriverLog): () => void {
  const stopped = new AbortController();
  const look = async (): Promise<void> => {
    try {
      for (const executor of executors) await observeChanges(driver, await executor.inventory());
    } catch (error) {
      if (!stopped.signal.aborted) {
        log.warn(`the nodes could not be listed: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  };
  const timer = setInterval(() => void look(), INVENTORY_INTERVAL_MS);
  timer.unref();
  void lookAtEachPool(driver, look, stopped.signal);
  return () => {
    clearInterval(timer);
    stopped.abort();
  };
}

/** The labels of a pool's nodes are declared with the pool. Ends with the signal, or with the driver. */
async function lookAtEachPool(driver: Driver, look: () => Promise<void>, signal: AbortSignal): Promise<void> {
  const { sequence } = driver.status();
  for await (const { event } of driver.events(sequence + 1, signal)) {
    if (event.kind === "poolDefined") await look();
  }
}

function undeclared(state: ReadonlyState, { sites, pools }: Inventory): Pick<Inventory, "sites" | "pools"> {
  return {
    sites: sites.filter(({ name }) => !state.sites.has(name)),
    pools: pools.filter(({ name }) => !state.pools.has(name)),
  };
}

/** Reports only differences: an unchanged inventory leaves no event. */
async function observeChanges(driver: Driver, { nodes }: Inventory): Promise<void> {
  const changed = await driver.read(({ state }) =>
    nodes.map((node) => labelled(state, node)).filter((node) => differs(state.nodes.get(node.id), node)),
  );
  for (const node of changed) await driver.observe({ kind: "nodeSeen", node } satisfies Observation);
}

function differs(known: Node | undefined, seen: NodeSpec): boolean {
  return (
    known === undefined ||
    known.health === "lost" ||
    known.pool !== seen.pool ||
    known.acceleratorCount !== seen.acceleratorCount ||
    known.coresMilli !== seen.coresMilli ||
    known.memoryMib !== seen.memoryMib ||
    known.fabric.join("/") !== seen.fabric.join("/") ||
    canonicalJson(known.labels ?? {}) !== canonicalJson(seen.labels ?? {})
  );
}
