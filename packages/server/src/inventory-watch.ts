/** Repeats the inventories of the executors, and reports nodes that their executor no longer lists as lost. */
import type { AttemptId, ExecutorId, NodeId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Executor, Inventory } from "@headroom/executors";
import type { DriverLog } from "./driver/driver-log.ts";
import type { Driver } from "./driver/driver.ts";
import { registerInventory } from "./machine-registration.ts";

export interface InventoryRules {
  /** Time in ms between two inventories. */
  readonly everyMs: number;
  /** Time in ms for which a node must be missing from its executor's inventories before it counts as lost. */
  readonly lostAfterMs: number;
}

/**
 * Hardware rarely changes, and an inventory starts a process on machines with accelerators. A node is lost after five minutes, as in
 * Slurm (`SlurmdTimeout`, 300 s, in slurm.conf).
 */
export const inventoryDefaults: InventoryRules = { everyMs: 60_000, lostAfterMs: 300_000 };

interface WatchOptions {
  readonly driver: Driver;
  readonly executors: readonly Executor[];
  readonly log: DriverLog;
  readonly rules: InventoryRules;
}

/**
 * Repeats the inventory of each executor periodically, and when a pool was declared; returns a function that stops it. A node that its
 * executor no longer lists is lost after `rules.lostAfterMs`. An inventory that fails says nothing about nodes.
 */
export function watchInventory({ driver, executors, log, rules }: WatchOptions): () => void {
  const stopped = new AbortController();
  const inventories = executors.map((executor) => {
    const unlisted = new UnlistedNodes(executor.id, rules.lostAfterMs);
    return new OneAtATime(async () => {
      try {
        const inventory = await executor.inventory();
        await registerInventory(driver, inventory);
        const overdue = await driver.read(({ state }) => unlisted.overdue(state, inventory));
        await loseUnlisted({ driver, executor, log }, overdue);
      } catch (error) {
        if (stopped.signal.aborted) return;
        const reason = error instanceof Error ? error.message : String(error);
        log.warn(`the nodes of the executor ${executor.id} could not be listed: ${reason}`);
      }
    });
  });
  const look = (): void => {
    for (const inventory of inventories) inventory.run();
  };
  const timer = setInterval(look, rules.everyMs);
  timer.unref();
  void lookAtEachPool(driver, look, stopped.signal);
  return () => {
    clearInterval(timer);
    stopped.abort();
  };
}

/**
 * Runs of one action that never overlap. An executor that takes longer than the interval delays only its own next
 * inventory, and no queue builds up.
 */
class OneAtATime {
  readonly #action: () => Promise<void>;
  #isRunning = false;
  #isWanted = false;

  constructor(action: () => Promise<void>) {
    this.#action = action;
  }

  /** If a run is in progress, exactly one more run follows, however often this function is called. */
  run(): void {
    this.#isWanted = true;
    if (!this.#isRunning) void this.#runWhileWanted();
  }

  async #runWhileWanted(): Promise<void> {
    this.#isRunning = true;
    while (this.#isWanted) {
      this.#isWanted = false;
      await this.#action();
    }
    this.#isRunning = false;
  }
}

/** Nodes that are missing from the inventories of one executor, each with the time since when. */
class UnlistedNodes {
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

interface LossContext {
  readonly driver: Driver;
  readonly executor: Executor;
  readonly log: DriverLog;
}

/**
 * The executor still answers, so it can run attempts on the lost node that the engine now places elsewhere. Attempts
 * that have no other node are stopped at the executor.
 */
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
 * Repeats the inventory after each definition of a pool, because the definition contains the labels of the pool's
 * nodes. The repetition ends with the signal or the driver.
 */
async function lookAtEachPool(driver: Driver, look: () => void, signal: AbortSignal): Promise<void> {
  const { sequence } = driver.status();
  for await (const { event } of driver.events(sequence + 1, signal)) {
    if (event.kind === "poolDefined") look();
  }
}
