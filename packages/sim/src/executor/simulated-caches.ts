/**
 * Caches of simulated nodes, and the transfers that fill them before a start. A node keeps the inputs that were used last,
 * within its capacity. The nodes of a gang read at the same time, each over its own link.
 */
import type { LaunchGang, NodeId, Observation } from "@headroom/model";

export interface SimulatedStaging {
  /** Rate at which one node reads from a store. */
  readonly mibPerSecond: number;
  readonly nodeCacheMib: number;
  /** Size of an input in MiB. */
  readonly mibOf: (input: string) => number;
  /** Whether the executor reports its caches, so that placement knows where bytes are. */
  readonly isReported: boolean;
}

export interface TransferCounts {
  /** Inputs that a node read from a store, and those that it had. */
  readonly transfers: number;
  readonly hits: number;
  readonly transferredMib: number;
}

/** The delay of a start in ms, and the nodes whose caches it changes, by their index here. */
export interface Staged {
  readonly delayMs: number;
  readonly changed: readonly number[];
}

const NOTHING: Staged = { delayMs: 0, changed: [] };

/** Inputs of a node with their sizes; the one that was used longest ago is first. */
type Cache = Map<string, number>;

export class SimulatedCaches {
  readonly #staging: SimulatedStaging;
  readonly #nodes: NodeId[] = [];
  readonly #caches: Cache[] = [];
  readonly #indexOf = new Map<NodeId, number>();
  #transfers = 0;
  #hits = 0;
  #transferredMib = 0;

  constructor(staging: SimulatedStaging) {
    this.#staging = staging;
  }

  get counts(): TransferCounts {
    return { transfers: this.#transfers, hits: this.#hits, transferredMib: this.#transferredMib };
  }

  stage({ spec, workers }: LaunchGang): Staged {
    const inputs = spec.data?.inputs ?? [];
    if (inputs.length === 0) return NOTHING;
    const changed: number[] = [];
    let missingMib = 0;
    for (const node of new Set(workers.map((worker) => worker.node))) {
      const index = this.#index(node);
      const mib = this.#read(this.#caches[index]!, inputs);
      if (mib > 0) changed.push(index);
      missingMib = Math.max(missingMib, mib);
    }
    const delayMs = Math.ceil((missingMib * 1000) / this.#staging.mibPerSecond);
    return { delayMs, changed: this.#staging.isReported ? changed : [] };
  }

  report(index: number): Observation {
    const inputs = [...this.#caches[index]!].map(([uri, mib]) => ({ uri, digest: null, mib }));
    return { kind: "nodeCachesSeen", executor: "simulated", caches: [{ nodeId: this.#nodes[index]!, inputs }] };
  }

  fork(): SimulatedCaches {
    const copy = new SimulatedCaches(this.#staging);
    copy.#nodes.push(...this.#nodes);
    copy.#caches.push(...this.#caches.map((cache) => new Map(cache)));
    for (const [node, index] of this.#indexOf) copy.#indexOf.set(node, index);
    copy.#transfers = this.#transfers;
    copy.#hits = this.#hits;
    copy.#transferredMib = this.#transferredMib;
    return copy;
  }

  #index(node: NodeId): number {
    const known = this.#indexOf.get(node);
    if (known !== undefined) return known;
    this.#indexOf.set(node, this.#nodes.length);
    this.#caches.push(new Map());
    return this.#nodes.push(node) - 1;
  }

  /** Brings the inputs into the cache. Returns the MiB that were missing. */
  #read(cache: Cache, inputs: readonly string[]): number {
    let missingMib = 0;
    for (const input of inputs) {
      const known = cache.get(input);
      const mib = known ?? this.#staging.mibOf(input);
      if (known === undefined) {
        this.#transfers++;
        missingMib += mib;
      } else this.#hits++;
      cache.delete(input);
      cache.set(input, mib);
    }
    this.#transferredMib += missingMib;
    this.#evict(cache);
    return missingMib;
  }

  #evict(cache: Cache): void {
    let left = -this.#staging.nodeCacheMib;
    for (const mib of cache.values()) left += mib;
    for (const [input, mib] of cache) {
      if (left <= 0 || cache.size === 1) return;
      cache.delete(input);
      left -= mib;
    }
  }
}
