/**
 * Contact with one executor: asks for its nodes periodically, and connects it when it first answers. Every wait is
 * bounded. Silence says nothing about nodes and attempts: they stay as recorded, and the executor is asked again after
 * a back-off that doubles up to a bound.
 */
import type { AttemptId, ExecutorId, NodeId, PoolName } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Executor, Inventory, KnownAttempt } from "@headroom/executors";
import { OperationalError } from "@headroom/platform";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { registerInventory } from "../machine-registration.ts";
import { missingAttempts, reconcile } from "../recovery/reconcile.ts";
import { lostTransfers } from "./lost-transfers.ts";
import { unlistedDetail, UnlistedNodes } from "./unlisted-nodes.ts";
import { messageOf, within } from "./within.ts";

export interface InventoryRules {
  /** Time in ms between two inventories. */
  readonly everyMs: number;
  /** Time in ms for which a node must be missing from its executor's inventories before it counts as lost. */
  readonly lostAfterMs: number;
  /** Time in ms for an answer of an executor after the start. */
  readonly answerMs: number;
  /** Pause in ms before an executor that did not answer is asked again. It doubles up to 10 s. */
  readonly retryMs: number;
}

/**
 * Hardware rarely changes, and an inventory starts a process on machines with accelerators. A node is lost after five minutes, as in
 * Slurm (`SlurmdTimeout`, 300 s, in slurm.conf). Slurm's own commands wait 10 s for slurmctld (`MessageTimeout`).
 */
export const inventoryDefaults: InventoryRules = {
  everyMs: 60_000,
  lostAfterMs: 300_000,
  answerMs: 30_000,
  retryMs: 1_000,
};

export interface ContactParts {
  readonly id: ExecutorId;
  readonly driver: Driver;
  readonly rules: InventoryRules;
  readonly log: DriverLog;
  /** Opens the executor. It is called again after a failure. */
  open(): Promise<Executor>;
}

/** Kubernetes' default (`terminationGracePeriodSeconds`). */
const STOP_GRACE_MS = 30_000;

const RETRY_MAX_MS = 10_000;

export class ExecutorContact {
  readonly #parts: ContactParts;
  readonly #unlisted: UnlistedNodes;
  readonly #stopped = new AbortController();
  #executor: Executor | null = null;
  /** Whether the executor's answer was compared with the journal, and its reports are taken in. */
  #isConnected = false;
  #isWatched = false;
  /** Whether the executor's kind and capabilities are recorded. */
  #isSeen = false;
  /** The newest reason why the executor is unreachable; `null`: it answered last, or was never asked. */
  #problem: string | null = null;
  #isWanted = false;
  #wake: (() => void) | null = null;

  constructor(parts: ContactParts) {
    this.#parts = parts;
    this.#unlisted = new UnlistedNodes(parts.id, parts.rules.lostAfterMs);
  }

  /** Begins with an executor that the driver has connected. */
  beginConnected(executor: Executor, firstPauseMs: number): void {
    this.#executor = executor;
    this.#isWatched = true;
    this.#isConnected = true;
    this.#hearSilence(executor);
    void this.#run(firstPauseMs);
  }

  /** Begins with an executor that is not connected. `executor`: absent: it is not open yet. */
  begin(executor: Executor | null, problem: string | null): void {
    this.#executor = executor;
    if (problem !== null) this.#lost(problem);
    void this.#run(0);
  }

  /** Asks for the nodes now, or once more after the call in progress. */
  look(): void {
    this.#isWanted = true;
    this.#wake?.();
  }

  /** Stops asking. Running attempts continue, and the executor stays open. */
  stop(): void {
    this.#stopped.abort();
    this.#wake?.();
  }

  async #run(firstPauseMs: number): Promise<void> {
    const { rules } = this.#parts;
    let pauseMs = firstPauseMs;
    let retryMs = rules.retryMs;
    while (!this.#stopped.signal.aborted) {
      await this.#pause(pauseMs);
      if (this.#stopped.signal.aborted) return;
      this.#isWanted = false;
      try {
        await this.#ask();
        await this.#regained();
        pauseMs = rules.everyMs;
        retryMs = rules.retryMs;
      } catch (error) {
        if (this.#hasStopped()) return;
        this.#lost(messageOf(error));
        pauseMs = Math.min(retryMs, rules.everyMs, RETRY_MAX_MS);
        retryMs *= 2;
      }
    }
  }

  #hasStopped(): boolean {
    return this.#stopped.signal.aborted;
  }

  async #pause(ms: number): Promise<void> {
    if (this.#isWanted || ms === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, ms);
    timer.unref();
    await promise;
    clearTimeout(timer);
    this.#wake = null;
  }

  async #ask(): Promise<void> {
    const { driver, rules, open } = this.#parts;
    this.#executor ??= await within(rules.answerMs, open);
    const executor = this.#executor;
    if (!this.#isConnected) await this.#connect(executor);
    if (this.#hasStopped()) return;
    await this.#see(executor);
    const inventory = await within(rules.answerMs, () => executor.inventory());
    const problem = await driver.read(
      ({ state }) => emptyAnswer(state, executor, inventory) ?? othersPlace(state, executor, inventory),
    );
    if (problem !== null) throw problem;
    await registerInventory(driver, executor.id, inventory);
    await this.#passDrains(executor);
    const overdue = await driver.read(({ state }) => this.#unlisted.overdue(state, inventory));
    await this.#loseUnlisted(executor, overdue);
    if (this.#problem === null) return;
    await this.#stopUnknown(executor);
    await this.#repeatEffects(executor);
  }

  async #see({ id, kind, capabilities }: Executor): Promise<void> {
    const { driver, log } = this.#parts;
    if (this.#isSeen) return;
    const lost = await driver.read(({ state }) => lostTransfers(state, { id, capabilities }));
    if (lost !== null) log.warn(lost);
    await driver.observe({ kind: "executorSeen", executor: { id, kind, capabilities } });
    this.#isSeen = true;
  }

  /** A cluster that refuses a drain is not unreachable: no work is placed on the node in any case. */
  async #passDrains(executor: Executor): Promise<void> {
    if (executor.passDrains === undefined) return;
    const { driver, rules, log } = this.#parts;
    const drained = await driver.read(({ state }) => drainedNodes(state, executor.id));
    try {
      await within(rules.answerMs, () => executor.passDrains?.(drained) ?? Promise.resolve());
    } catch (error) {
      log.warn(`the executor ${executor.id} could not pass on drained nodes: ${messageOf(error)}`);
    }
  }

  /** Attempts that were given up during a silence run on accelerators that count as free. */
  async #stopUnknown(executor: Executor): Promise<void> {
    const { driver, rules } = this.#parts;
    const attempts = await within(rules.answerMs, () => executor.attempts());
    const report = { id: executor.id, attempts, nodes: null, isComplete: false };
    const { effects } = await driver.read(({ state }) => reconcile(state, [report]));
    for (const effect of effects) executor.perform(effect);
  }

  /** Compares the executor's attempts with the journal, and repeats the effects that it may have missed. */
  async #connect(executor: Executor): Promise<void> {
    const { driver, rules } = this.#parts;
    const attempts = await within(rules.answerMs, () => executor.attempts());
    const { id, attemptsAreComplete: isComplete = false } = executor;
    refuseNewer(attempts, driver.status().sequence);
    const report = { id, attempts, nodes: null, isComplete };
    const { observations, effects, missing } = await driver.read(({ state }) => ({
      ...reconcile(state, [report]),
      missing: missingAttempts(state, report),
    }));
    if (this.#hasStopped()) return;
    for (const observation of observations) await driver.observe(observation);
    if (!this.#isWatched) this.#attach(executor);
    if (missing.length > 0) throw incomplete(missing, attempts.length);
    for (const effect of effects) executor.perform(effect);
    await this.#repeatEffects(executor);
    this.#isConnected = true;
  }

  #attach(executor: Executor): void {
    this.#parts.driver.attach(executor);
    this.#isWatched = true;
    this.#hearSilence(executor);
  }

  #hearSilence(executor: Executor): void {
    executor.whenSilent?.((detail) => {
      if (this.#hasStopped()) return;
      this.#lost(detail);
      this.look();
    });
  }

  /** Effects that the executor may have missed. All are read and performed in one turn, so that no later one comes before. */
  async #repeatEffects(executor: Executor): Promise<void> {
    await this.#parts.driver.read((engine) => {
      for (const effect of engine.outstandingEffects()) if (effect.executor === executor.id) executor.perform(effect);
    });
  }

  /**
   * The executor still answers, so it can run attempts on the lost node that the engine now places elsewhere. Attempts
   * that have no other node are stopped at the executor. A node that holds attempts of an executor whose answers may be
   * incomplete is never lost by silence: the executor reports such a loss itself.
   */
  async #loseUnlisted(executor: Executor, overdue: readonly NodeId[]): Promise<void> {
    if (overdue.length === 0) return;
    const { driver, log } = this.#parts;
    const isComplete = executor.attemptsAreComplete === true;
    const { nodes, stops } = await driver.read(({ state }) => {
      const held = isComplete ? new Set<NodeId>() : heldNodes(state);
      const lost = new Set(overdue.filter((id) => !held.has(id)));
      return { nodes: [...lost], stops: attemptsOnlyOn(state, lost) };
    });
    const signals = executor.nodeSignals?.() ?? null;
    for (const nodeId of nodes) {
      log.warn(`node ${nodeId} is lost: the executor ${executor.id} no longer lists it`);
      await driver.observe({ kind: "nodeUnreachable", nodeId, detail: unlistedDetail(nodeId, signals) });
    }
    const stop = {
      kind: "stopGang",
      executor: executor.id,
      graceTimeoutMs: STOP_GRACE_MS,
      reason: "nodeLost",
    } as const;
    for (const attemptId of stops) executor.perform({ ...stop, attemptId });
  }

  /** The engine ignores the report of an executor that it knows as reachable. */
  async #regained(): Promise<void> {
    const { id, log, driver } = this.#parts;
    if (this.#problem !== null) log.info(`the executor ${id} answers again`);
    this.#problem = null;
    await driver.observe({ kind: "executorReachable", executor: id });
  }

  #lost(detail: string): void {
    const { id, log, driver } = this.#parts;
    if (this.#problem === detail) return;
    this.#problem = detail;
    log.warn(`the executor ${id} is unreachable: ${detail}. Its attempts and nodes stay as recorded.`);
    // One report is outstanding at a time, because the next one follows after an answer or another reason.
    void driver.observe({ kind: "executorUnreachable", executor: id, detail });
  }
}

/** Attempts that a later state of the journal launched show that this is not the newest journal of the executor. */
function refuseNewer(attempts: readonly KnownAttempt[], journalSequence: number): void {
  const newer = attempts.find(({ sequence }) => sequence > journalSequence);
  if (newer === undefined) return;
  const text = `its attempt ${newer.attemptId} was launched at event ${newer.sequence}, but the journal ends at ${journalSequence}: it belongs to another or a newer journal`;
  throw new OperationalError("journalOlder", text);
}

/** An inventory without nodes, where nodes are recorded, is a fault of the executor and no loss of all nodes. */
function emptyAnswer({ nodes, pools }: ReadonlyState, { id }: Executor, inventory: Inventory): OperationalError | null {
  if (inventory.nodes.length > 0) return null;
  const known = [...nodes.values()].filter((node) => node.health !== "lost" && pools.get(node.pool)?.executor === id);
  if (known.length === 0) return null;
  return new OperationalError("emptyAnswer", `its answer lists no node, but ${known.length} are recorded`);
}

/** Names of two executors can lead to the same pool or node (`a` with `b-c`, `a-b` with `c`). Work would go to the wrong one. */
function othersPlace({ nodes, pools }: ReadonlyState, { id }: Executor, inventory: Inventory): OperationalError | null {
  const ownerOf = (pool: PoolName | undefined): string => (pool === undefined ? id : (pools.get(pool)?.executor ?? id));
  const pool = inventory.pools.find(({ name }) => ownerOf(name) !== id);
  const node = inventory.nodes.find((each) => ownerOf(nodes.get(each.id)?.pool) !== id);
  if (pool === undefined && node === undefined) return null;
  const what = pool === undefined ? `node ${String(node?.id)}` : `pool ${pool.name}`;
  const owner = ownerOf(pool === undefined ? node && nodes.get(node.id)?.pool : pool.name);
  return new OperationalError("nameTaken", `its ${what} belongs to the executor ${owner}; choose another name`);
}

function incomplete(missing: readonly AttemptId[], answered: number): OperationalError {
  const names = missing.slice(0, 3).join(", ");
  const more = missing.length > 3 ? ", ..." : "";
  const text = `its answer has ${answered} attempts and lacks ${missing.length} that are recorded: ${names}${more}`;
  return new OperationalError("incompleteAnswer", text);
}

const drainedNodes = ({ nodes, pools }: ReadonlyState, executor: ExecutorId): readonly NodeId[] =>
  [...nodes.values()].flatMap(({ id, draining, pool }) =>
    draining && pools.get(pool)?.executor === executor ? [id] : [],
  );

const heldNodes = ({ attempts }: ReadonlyState): ReadonlySet<NodeId> =>
  new Set([...attempts.values()].flatMap(({ workers }) => workers.map(({ node }) => node)));

function attemptsOnlyOn({ attempts, nodes }: ReadonlyState, lost: ReadonlySet<NodeId>): readonly AttemptId[] {
  return [...attempts.values()].flatMap(({ id, workers }) => {
    const isHere = workers.some(({ node }) => lost.has(node));
    const isGone = workers.every(({ node }) => lost.has(node) || nodes.get(node)?.health === "lost");
    return isHere && isGone ? [id] : [];
  });
}
