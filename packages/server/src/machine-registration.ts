/**
 * Registers the machine as a fleet: sites and pools of executors that are not declared yet, and their nodes as
 * observations.
 */
import { canonicalJson } from "@headroom/engine";
import type {
  AttemptId,
  ExecutorId,
  Node,
  NodeId,
  NodeSpec,
  Observation,
  PoolName,
  ReadonlyState,
} from "@headroom/engine";
import type { Executor, Inventory } from "@headroom/executors";
import { familyOfType, isSameType } from "@headroom/perf/accelerator-types";
import type { DriverLog } from "./driver/batch-driver.ts";
import type { Driver } from "./driver/driver.ts";
import { labelled } from "./node-labels.ts";
import { OperationalError } from "@headroom/platform";

export interface InventoryRules {
  /** Time between two inventories. */
  readonly everyMs: number;
  /** Time for which its executor must have left a node out of its inventories before the node counts as lost. */
  readonly lostAfterMs: number;
}

/**
 * Hardware rarely changes, and an inventory starts a process on machines with accelerators. A node is lost after five minutes, as in
 * Slurm (`SlurmdTimeout`, 300 s, in slurm.conf).
 */
export const inventoryDefaults: InventoryRules = { everyMs: 60_000, lostAfterMs: 300_000 };

/**
 * Records the executors, declares missing sites and pools, and reports accelerators and nodes. Existing declarations stay, except
 * for accelerator types that the vendors' tools contradict.
 */
export async function registerMachine(driver: Driver, executors: readonly Executor[]): Promise<void> {
  for (const { id, kind, capabilities } of executors)
    await driver.observe({ kind: "executorSeen", executor: { id, kind, capabilities } });
  for (const observation of await driver.read(({ state }) => withoutFamily(state))) await driver.observe(observation);
  for (const executor of executors) await register(driver, await executor.inventory());
}

async function register(driver: Driver, inventory: Inventory): Promise<void> {
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
}

type AcceleratorsSeen = Extract<Observation, { readonly kind: "acceleratorsSeen" }>;

/** Reports for pools declared by an earlier version, which did not record the family of their type. */
function withoutFamily({ pools }: ReadonlyState): readonly AcceleratorsSeen[] {
  return [...pools.values()].flatMap(({ name, acceleratorType, acceleratorFamily }) => {
    const family = familyOfType(acceleratorType);
    if (family === undefined || family === acceleratorType || family === acceleratorFamily) return [];
    return [{ kind: "acceleratorsSeen", pool: name, acceleratorType, acceleratorFamily: family } as const];
  });
}

/**
 * Reports for pools where the vendors' tools find another accelerator than is recorded: another card, or a driver that
 * was not loaded before.
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

interface WatchOptions {
  readonly driver: Driver;
  readonly executors: readonly Executor[];
  readonly log: DriverLog;
  readonly rules: InventoryRules;
}

/**
 * Repeats the inventory periodically, and when a pool was declared; returns a function that stops it. A node that its executor no longer
 * lists is lost after `rules.lostAfterMs`. An inventory that fails says nothing about nodes.
 */
export function watchInventory({ driver, executors, log, rules }: WatchOptions): () => void {
  const stopped = new AbortController();
  const unlisted = new UnlistedNodes(rules.lostAfterMs);
  const look = async (): Promise<void> => {
    for (const executor of executors) {
      try {
        const inventory = await executor.inventory();
        await register(driver, inventory);
        await loseUnlisted(
          { driver, executor, log },
          await driver.read(({ state }) => unlisted.overdue(state, executor.id, inventory)),
        );
      } catch (error) {
        if (stopped.signal.aborted) return;
        log.warn(
          `the nodes of the executor ${executor.id} could not be listed: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    }
  };
  const timer = setInterval(() => void look(), rules.everyMs);
  timer.unref();
  void lookAtEachPool(driver, look, stopped.signal);
  return () => {
    clearInterval(timer);
    stopped.abort();
  };
}

/** Nodes that are missing from the inventories of their executors, with the time of the first one. */
class UnlistedNodes {
  readonly #lostAfterMs: number;
  /** Times of `performance.now()`: a clock that jumps loses no node. */
  readonly #sinceMs = new Map<NodeId, number>();

  constructor(lostAfterMs: number) {
    this.#lostAfterMs = lostAfterMs;
  }

  /** Nodes of the executor that have been missing long enough; the engine has the same time again to take that in. */
  overdue({ nodes, pools }: ReadonlyState, executor: ExecutorId, inventory: Inventory): readonly NodeId[] {
    const listed = new Set(inventory.nodes.map(({ id }) => id));
    const nowMs = performance.now();
    const overdue: NodeId[] = [];
    for (const { id, pool, health } of nodes.values()) {
      if (pools.get(pool)?.executor !== executor) continue;
      if (listed.has(id) || health === "lost") {
        this.#sinceMs.delete(id);
        continue;
      }
      const sinceMs = this.#sinceMs.get(id) ?? nowMs;
      const isOverdue = nowMs - sinceMs >= this.#lostAfterMs;
      this.#sinceMs.set(id, isOverdue ? nowMs : sinceMs);
      if (isOverdue) overdue.push(id);
    }
    return overdue;
  }
}

interface LossContext {
  readonly driver: Driver;
  readonly executor: Executor;
  readonly log: DriverLog;
}

/** The executor still answers, so it may run what the engine now places elsewhere: attempts without another node are stopped there. */
async function loseUnlisted({ driver, executor, log }: LossContext, nodes: readonly NodeId[]): Promise<void> {
  if (nodes.length === 0) return;
  const lost = new Set(nodes);
  const stops = await driver.read(({ state }) => attemptsOnlyOn(state, lost));
  for (const nodeId of nodes) {
    log.warn(`node ${nodeId} is lost: the executor ${executor.id} no longer lists it`);
    await driver.observe({ kind: "nodeUnreachable", nodeId, detail: "the executor no longer lists it" });
  }
  const stop = { kind: "stopGang", executor: executor.id, graceTimeoutMs: STOP_GRACE_MS, reason: "nodeLost" } as const;
  for (const attemptId of stops) executor.perform({ ...stop, attemptId });
}

/** Kubernetes' default (`terminationGracePeriodSeconds`). */
const STOP_GRACE_MS = 30_000;

function attemptsOnlyOn({ attempts, nodes }: ReadonlyState, lost: ReadonlySet<NodeId>): readonly AttemptId[] {
  return [...attempts.values()].flatMap(({ id, workers }) => {
    const isHere = workers.some(({ node }) => lost.has(node));
    const isGone = workers.every(({ node }) => lost.has(node) || nodes.get(node)?.health === "lost");
    return isHere && isGone ? [id] : [];
  });
}

/**
 * Repeats the inventory after each definition of a pool, because the pool's definition contains its nodes' labels. Ends
 * with the signal or the driver.
 */
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

/**
 * Reports only nodes that changed: an unchanged inventory leaves no event. `otherPools`: pools whose accelerators were
 * just reported; all their nodes are reported again, because the state may not show the change yet.
 */
async function observeChanges(driver: Driver, { nodes }: Inventory, otherPools: ReadonlySet<PoolName>): Promise<void> {
  const changed = await driver.read(({ state }) =>
    nodes
      .map((node) => labelled(state, node))
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
