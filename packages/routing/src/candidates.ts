import type { RoutingRequest, Unavailable } from "./contract.ts";
import type { ReplicaState } from "./replica-state.ts";

/** The replicas of a router by id and by slot. Zones and regions are represented by small integers. */
export class ReplicaTable {
  readonly #byId = new Map<string, ReplicaState>();
  readonly #bySlot: (ReplicaState | undefined)[] = [];
  readonly #names = new Map<string, number>();
  readonly #maxReplicas: number;
  #ready: ReplicaState[] = [];
  #filtered: ReplicaState[] = [];
  #version = 0;

  constructor(maxReplicas: number) {
    this.#maxReplicas = maxReplicas;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** A number that changes when a replica joins, leaves or changes its health. */
  get version(): number {
    return this.#version;
  }

  get(id: string): ReplicaState | undefined {
    return this.#byId.get(id);
  }

  atSlot(slot: number): ReplicaState | undefined {
    return this.#bySlot[slot];
  }

  freeSlot(): number {
    let slot = 0;
    while (this.#bySlot[slot] !== undefined) slot += 1;
    if (slot >= this.#maxReplicas) {
      throw new RangeError(`This router is limited to ${this.#maxReplicas} replicas: raise maxReplicas.`);
    }
    return slot;
  }

  add(replica: ReplicaState): void {
    this.#byId.set(replica.id, replica);
    this.#bySlot[replica.slot] = replica;
    this.changed();
  }

  remove(replica: ReplicaState): void {
    this.#byId.delete(replica.id);
    this.#bySlot[replica.slot] = undefined;
    this.changed();
  }

  changed(): void {
    this.#ready = [];
    for (const replica of this.#bySlot) if (replica?.health === "ready") this.#ready.push(replica);
    this.#version += 1;
    if (this.#names.size > 4 * this.#maxReplicas + 16) this.#forgetNames();
  }

  /** The integer for a name. 0 stands for no name. */
  nameId(name: string | undefined): number {
    if (name === undefined) return 0;
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const id = this.#names.size + 1;
    this.#names.set(name, id);
    return id;
  }

  /** The integer for a name that at least one replica has. -1 if no replica has it. */
  knownNameId(name: string | undefined): number {
    return name === undefined ? 0 : (this.#names.get(name) ?? -1);
  }

  /** Removes names of replicas that have left, which would otherwise accumulate. */
  #forgetNames(): void {
    this.#names.clear();
    for (const replica of this.#byId.values()) {
      replica.zone = this.nameId(replica.spec.zone);
      replica.region = this.nameId(replica.spec.region);
    }
  }

  /** The replicas that can take the request, in slot order. The list is valid until the next call. */
  candidates(request: RoutingRequest): readonly ReplicaState[] {
    const { excluded, allowedRegions, only } = request;
    if (only === undefined && allowedRegions === undefined && (excluded === undefined || excluded.length === 0))
      return this.#ready;
    const filtered = this.#filtered;
    filtered.length = 0;
    for (const replica of this.#ready) {
      if (only !== undefined && replica.id !== only) continue;
      if (excluded?.includes(replica.id) === true) continue;
      if (allowedRegions !== undefined && !allowedRegions.includes(replica.spec.region ?? "")) continue;
      filtered.push(replica);
    }
    return filtered;
  }

  unavailable(request: RoutingRequest): Unavailable {
    const excluded = { starting: 0, draining: 0, unhealthy: 0, region: 0, alreadyTried: 0, others: 0 };
    for (const replica of this.#byId.values()) {
      if (replica.health !== "ready") excluded[replica.health] += 1;
      else if (request.only !== undefined && replica.id !== request.only) excluded.others += 1;
      else if (request.excluded?.includes(replica.id) === true) excluded.alreadyTried += 1;
      else excluded.region += 1;
    }
    return { kind: "unavailable", replicaCount: this.#byId.size, excluded };
  }
}
