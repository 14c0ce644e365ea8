/**
 * Registers this machine as a fleet: sites and pools of executors that are not declared yet, and their nodes as
 * observations.
 */
import { canonicalJson } from "@headroom/model";
import type { ExecutorId, Node, NodeSpec, Observation, PoolName, Site } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Executor, Inventory } from "@headroom/executors";
import { familyOfType, isSameType } from "@headroom/perf/accelerator-types";
import { OperationalError } from "@headroom/platform";
import type { Driver } from "./driver/driver.ts";
import { labelled } from "./node-labels.ts";

/**
 * Records the executors, declares missing sites and pools, and reports accelerators and nodes. Existing declarations stay, except
 * for accelerator types that the vendors' tools contradict.
 */
export async function registerMachine(driver: Driver, executors: readonly Executor[]): Promise<void> {
  for (const { id, kind, capabilities } of executors)
    await driver.observe({ kind: "executorSeen", executor: { id, kind, capabilities } });
  for (const observation of await driver.read(({ state }) => withoutFamily(state))) await driver.observe(observation);
  for (const executor of executors) await registerInventory(driver, executor.id, await executor.inventory());
}

/**
 * Declares the site and pool of one inventory if they are missing, and reports its nodes. Throws `machineNotRegistered`
 * if the engine rejects the declaration.
 */
export async function registerInventory(driver: Driver, id: ExecutorId, inventory: Inventory): Promise<void> {
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
  const others = await driver.read(({ state }) => otherAccelerators(state, inventory));
  for (const observation of others) await driver.observe(observation);
  await observeChanges(driver, inventory, new Set(others.map(({ pool }) => pool)));
  const { foreignUse: uses } = inventory;
  if (uses !== undefined) await driver.observe({ kind: "foreignUseSeen", executor: id, uses });
}

type AcceleratorsSeen = Extract<Observation, { readonly kind: "acceleratorsSeen" }>;

/** Reports for pools that an earlier version declared. It did not record the family of the accelerator type. */
function withoutFamily({ pools }: ReadonlyState): readonly AcceleratorsSeen[] {
  return [...pools.values()].flatMap(({ name, acceleratorType, acceleratorFamily }) => {
    const family = familyOfType(acceleratorType);
    if (family === undefined || family === acceleratorType || family === acceleratorFamily) return [];
    return [{ kind: "acceleratorsSeen", pool: name, acceleratorType, acceleratorFamily: family } as const];
  });
}

/**
 * Reports for pools in which the vendors' tools find another accelerator than is recorded: the card was changed, or the
 * driver was not loaded before.
 */
function otherAccelerators(
  { pools: known }: ReadonlyState,
  { pools, detectedPools = [] }: Inventory,
): readonly AcceleratorsSeen[] {
  return pools.flatMap(({ name, acceleratorType, acceleratorFamily }) => {
    const recorded = known.get(name)?.acceleratorType;
    if (recorded === undefined || !detectedPools.includes(name)) return [];
    if (recorded === acceleratorType || isSameType(recorded, acceleratorType)) return [];
    const family = acceleratorFamily === undefined ? {} : { acceleratorFamily };
    return [{ kind: "acceleratorsSeen", pool: name, acceleratorType, ...family } as const];
  });
}

/** The levels that the executor found complete a site that has none; other declarations stay. */
function siteToDeclare({ sites }: ReadonlyState, site: Site): readonly Site[] {
  const known = sites.get(site.name);
  if (known === undefined) return [site];
  const isUnleveled = known.fabricLevels.length === 0 && site.fabricLevels.length > 0;
  return isUnleveled ? [{ ...known, fabricLevels: site.fabricLevels }] : [];
}

function undeclared(state: ReadonlyState, { sites, pools }: Inventory): Pick<Inventory, "sites" | "pools"> {
  return {
    sites: sites.flatMap((site) => siteToDeclare(state, site)),
    pools: pools.filter(({ name }) => !state.pools.has(name)),
  };
}

/**
 * Reports only nodes that have changed: an unchanged inventory leaves no event. `otherPools`: pools whose accelerators
 * were reported just now. All their nodes are reported again, because the state need not show the change yet.
 */
async function observeChanges(
  driver: Driver,
  { nodes, sites }: Inventory,
  otherPools: ReadonlySet<PoolName>,
): Promise<void> {
  const changed = await driver.read(({ state }) =>
    nodes
      .map((node) => labelled(state, node, sites))
      .filter((node) => otherPools.has(node.pool) || differs(state.nodes.get(node.id), node)),
  );
  for (const node of changed) await driver.observe({ kind: "nodeSeen", node } satisfies Observation);
}

function differs(known: Node | undefined, seen: NodeSpec): boolean {
  return (
    known === undefined ||
    known.health === "lost" ||
    known.acceleratorsChanged === true ||
    known.pool !== seen.pool ||
    known.acceleratorCount !== seen.acceleratorCount ||
    known.coresMilli !== seen.coresMilli ||
    known.memoryMib !== seen.memoryMib ||
    known.fabric.join("/") !== seen.fabric.join("/") ||
    canonicalJson(known.labels ?? {}) !== canonicalJson(seen.labels ?? {})
  );
}
