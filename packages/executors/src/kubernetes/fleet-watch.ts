/**
 * Reports changes of nodes between two inventories: nodes that take no work any more, nodes that are back, and what pods of others use.
 * Changes are gathered for a second, because they come in bursts.
 */
import type { ExecutorId, NodeId, NodeSpec } from "@headroom/model";
import type { Inventory } from "../executor.ts";
import type { Reporter } from "../job-protocol/reporter.ts";
import type { ClusterCopy } from "./cluster-copy.ts";

const GATHER_MS = 1_000;
/** A look at a large cluster in which pods change all the time takes at most a twentieth of the time. */
const PAUSE_FACTOR = 20;
/** Longest time in ms for which a look waits while pods are bound, whose answers it would hold up, and the pauses meanwhile. */
const BINDING_MAX_MS = 3_000;
const BINDING_PAUSE_MS = 100;

export interface FleetWatchSetup {
  readonly id: ExecutorId;
  readonly copy: ClusterCopy;
  readonly reporter: Reporter;
  /** Whether pods are being bound. */
  readonly isBinding: () => boolean;
}

export class FleetWatch {
  readonly #setup: FleetWatchSetup;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;
  /** Nodes and pools of the last inventory, which the control plane has taken in. */
  #listed: ReadonlyMap<NodeId, NodeSpec> = new Map();
  #pools: ReadonlySet<string> = new Set();
  /** Foreign use of the last inventory or report, as JSON. */
  #uses = "";
  /** Processor time of the last look. */
  #costMs = 0;

  constructor(setup: FleetWatchSetup) {
    this.#setup = setup;
  }

  /** Notes an inventory that the control plane gets. */
  noteInventory({ nodes, pools, foreignUse = [] }: Inventory): void {
    this.#listed = new Map(nodes.map((node) => [node.id, node]));
    this.#pools = new Set(pools.map(({ name }) => name));
    this.#uses = JSON.stringify(foreignUse);
  }

  /** Called for each change of a node or a pod. */
  notice(): void {
    if (this.#timer !== null || this.#isClosed || this.#pools.size === 0) return;
    const dueAtMs = performance.now() + Math.max(GATHER_MS, this.#costMs * PAUSE_FACTOR);
    this.#lookAt(dueAtMs, dueAtMs + BINDING_MAX_MS);
  }

  /** Looks at this time (`performance.now()`), or while pods are bound later, but not after `latestMs`. */
  #lookAt(atMs: number, latestMs: number): void {
    const { copy, reporter, isBinding } = this.#setup;
    const look = (): void => {
      this.#timer = null;
      // The listener may have no space for a report: it is made later.
      if (reporter.isFull) return this.notice();
      const beginMs = performance.now();
      if (isBinding() && beginMs < latestMs) return this.#lookAt(beginMs + BINDING_PAUSE_MS, latestMs);
      if (copy.problem === null) this.#report();
      this.#costMs = performance.now() - beginMs;
    };
    this.#timer = setTimeout(look, atMs - performance.now());
  }

  close(): void {
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #report(): void {
    const { id: executor, copy, reporter } = this.#setup;
    const { inventory, nodes } = copy.view();
    const { foreignUse = [] } = inventory;
    const listed = new Map(inventory.nodes.map((node) => [node.id, node]));
    for (const id of this.#listed.keys()) {
      // A node that the list lacks is lost by the control plane's own rules, after some time.
      const reason = nodes.get(id)?.outOfService;
      if (!listed.has(id) && typeof reason === "string")
        reporter.tell({ kind: "nodeUnreachable", nodeId: id, detail: reason });
    }
    for (const [id, node] of listed)
      if (this.#pools.has(node.pool) && JSON.stringify(node) !== JSON.stringify(this.#listed.get(id)))
        reporter.tell({ kind: "nodeSeen", node });
    const uses = JSON.stringify(foreignUse);
    if (uses !== this.#uses) reporter.tell({ kind: "foreignUseSeen", executor, uses: foreignUse });
    this.#listed = new Map([...listed].filter(([, { pool }]) => this.#pools.has(pool)));
    this.#uses = uses;
  }
}
