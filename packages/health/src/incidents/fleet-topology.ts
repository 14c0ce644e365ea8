/** The topology of the fleet and the work on it, folded from events: what a failure hits, and how large its domains are. */
import { acceleratorCount } from "@headroom/model";
import type { AttemptId, Event, NodeId, NodeSpec, Pool, Site, WorkerAllocation, WorkloadId } from "@headroom/model";
import { domainsOfNode } from "./domains.ts";
import type { HitAttempt } from "./failure.ts";

interface KnownNode {
  readonly pool: string;
  readonly fabric: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly accelerators: number;
  domains: readonly string[];
  isLost: boolean;
  /** People have drained it. Absent: not, or an earlier version stored the node. */
  isDraining?: boolean;
}

interface KnownAttempt {
  readonly workloadId: WorkloadId;
  readonly workers: WorkerAllocation[];
}

/** As JSON. */
export interface StoredTopology {
  readonly sites: readonly Site[];
  readonly pools: readonly Pool[];
  readonly nodes: readonly (readonly [NodeId, KnownNode])[];
  readonly workloads: readonly (readonly [WorkloadId, { readonly name: string; readonly team: string }])[];
  readonly attempts: readonly (readonly [AttemptId, KnownAttempt])[];
}

/** The state of an engine, as far as a fold needs it to begin in the middle of a journal. */
export interface FleetState {
  readonly sequence: number;
  readonly sites: ReadonlyMap<string, Site>;
  readonly pools: ReadonlyMap<string, Pool>;
  readonly nodes: ReadonlyMap<NodeId, NodeSpec & { readonly health: "up" | "lost"; readonly draining: boolean }>;
  readonly workloads: ReadonlyMap<
    WorkloadId,
    {
      readonly id: WorkloadId;
      readonly spec: { readonly name: string; readonly team: string };
      readonly endedAtMs: number | null;
    }
  >;
  readonly attempts: ReadonlyMap<
    AttemptId,
    { readonly id: AttemptId; readonly workloadId: WorkloadId; readonly workers: readonly WorkerAllocation[] }
  >;
}

export class FleetTopology {
  readonly #sites = new Map<string, Site>();
  readonly #pools = new Map<string, Pool>();
  readonly nodes: Map<NodeId, KnownNode> = new Map();
  readonly #workloads = new Map<WorkloadId, { readonly name: string; readonly team: string }>();
  readonly #attempts = new Map<AttemptId, KnownAttempt>();
  readonly #attemptsOn = new Map<NodeId, Set<AttemptId>>();

  /** Takes over everything that the state has. */
  begin(state: FleetState): void {
    for (const site of state.sites.values()) this.#sites.set(site.name, site);
    for (const pool of state.pools.values()) this.#pools.set(pool.name, pool);
    for (const node of state.nodes.values()) {
      this.#join(node);
      this.#mark(node.id, node.health === "lost");
      this.#drain(node.id, node.draining);
    }
    for (const { id, spec, endedAtMs } of state.workloads.values())
      if (endedAtMs === null) this.#workloads.set(id, { name: spec.name, team: spec.team });
    for (const { id, workloadId, workers } of state.attempts.values()) this.#hold(id, workloadId, workers);
  }

  restore(stored: StoredTopology): void {
    for (const site of stored.sites) this.#sites.set(site.name, site);
    for (const pool of stored.pools) this.#pools.set(pool.name, pool);
    for (const [id, node] of stored.nodes) this.nodes.set(id, node);
    for (const [id, workload] of stored.workloads) this.#workloads.set(id, workload);
    for (const [id, { workloadId, workers }] of stored.attempts) this.#hold(id, workloadId, workers);
  }

  stored(): StoredTopology {
    return {
      sites: [...this.#sites.values()],
      pools: [...this.#pools.values()],
      nodes: [...this.nodes],
      workloads: [...this.#workloads],
      attempts: [...this.#attempts],
    };
  }

  apply(event: Event): void {
    switch (event.kind) {
      case "siteDefined":
        this.#sites.set(event.site.name, event.site);
        return this.#place();
      case "poolDefined":
        this.#pools.set(event.pool.name, event.pool);
        return this.#place();
      case "nodeJoined":
      case "nodeChanged":
        return this.#join(event.node);
      case "nodeRelabelled": {
        const known = this.nodes.get(event.nodeId);
        if (known !== undefined) this.#set(event.nodeId, { ...known, fabric: event.fabric, labels: event.labels });
        return;
      }
      case "nodeLost":
      case "nodeReturned":
        return this.#mark(event.nodeId, event.kind === "nodeLost");
      case "nodeDrainStarted":
      case "nodeResumed":
        return this.#drain(event.nodeId, event.kind === "nodeDrainStarted");
      case "nodeRemoved":
        this.nodes.delete(event.nodeId);
        this.#attemptsOn.delete(event.nodeId);
        return;
      default:
        return this.#applyWork(event);
    }
  }

  #applyWork(event: Event): void {
    switch (event.kind) {
      case "workloadSubmitted":
        this.#workloads.set(event.workloadId, { name: event.spec.name, team: event.spec.team });
        return;
      case "workloadEnded":
        this.#workloads.delete(event.workloadId);
        return;
      case "gangPlaced":
        return this.#hold(event.attemptId, event.workloadId, event.workers);
      case "gangGrown":
      case "workersReplaced": {
        const known = this.#attempts.get(event.attemptId);
        if (known !== undefined) this.#hold(event.attemptId, known.workloadId, [...known.workers, ...event.workers]);
        return;
      }
      case "attemptEnded":
        return this.#release(event.attemptId);
      default:
        return;
    }
  }

  /** Nodes of each domain that are in service, by key. */
  sizes(): Map<string, number> {
    const sizes = new Map<string, number>();
    for (const { domains, isLost } of this.nodes.values())
      if (!isLost) for (const key of domains) sizes.set(key, (sizes.get(key) ?? 0) + 1);
    return sizes;
  }

  /** Nodes and accelerators of one domain, lost ones included. */
  extentOf(key: string): { readonly nodes: number; readonly accelerators: number } {
    let [nodes, accelerators] = [0, 0];
    for (const node of this.nodes.values()) {
      if (!node.domains.includes(key)) continue;
      nodes++;
      accelerators += node.accelerators;
    }
    return { nodes, accelerators };
  }

  hitsOn(id: NodeId): readonly HitAttempt[] {
    return [...(this.#attemptsOn.get(id) ?? [])].flatMap((attemptId) => {
      const attempt = this.#attempts.get(attemptId);
      if (attempt === undefined) return [];
      const here = attempt.workers.filter(({ node }) => node === id);
      const { name = "", team = "" } = this.#workloads.get(attempt.workloadId) ?? {};
      const accelerators = here.reduce((sum, worker) => sum + acceleratorCount(worker.accelerators), 0);
      return [{ attemptId, workloadId: attempt.workloadId, name, team, workers: here.length, accelerators }];
    });
  }

  #join({ id, pool, fabric, labels = {}, acceleratorCount: accelerators }: NodeSpec): void {
    const { isLost = false, isDraining = false } = this.nodes.get(id) ?? {};
    this.#set(id, { pool, fabric, labels, accelerators, isLost, isDraining, domains: [] });
  }

  #set(id: NodeId, node: KnownNode): void {
    const pool = this.#pools.get(node.pool);
    const site = pool === undefined ? undefined : this.#sites.get(pool.site);
    this.nodes.set(id, { ...node, domains: domainsOfNode(node, pool, site) });
  }

  /** Levels of a site, or the site of a pool, may have changed. */
  #place(): void {
    for (const [id, node] of this.nodes) this.#set(id, node);
  }

  #mark(id: NodeId, isLost: boolean): void {
    const known = this.nodes.get(id);
    if (known !== undefined) known.isLost = isLost;
  }

  #drain(id: NodeId, isDraining: boolean): void {
    const known = this.nodes.get(id);
    if (known !== undefined) known.isDraining = isDraining;
  }

  #hold(id: AttemptId, workloadId: WorkloadId, workers: readonly WorkerAllocation[]): void {
    this.#attempts.set(id, { workloadId, workers: [...workers] });
    for (const { node } of workers) {
      const here = this.#attemptsOn.get(node);
      if (here === undefined) this.#attemptsOn.set(node, new Set([id]));
      else here.add(id);
    }
  }

  #release(id: AttemptId): void {
    for (const { node } of this.#attempts.get(id)?.workers ?? []) this.#attemptsOn.get(node)?.delete(id);
    this.#attempts.delete(id);
  }
}
