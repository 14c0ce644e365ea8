/**
 * The replica behind an address at an instant, and the versions that it was given: the link from a request to the model that
 * answered it. Addresses are used again by later replicas, so that the instant counts. Start with `fold`.
 */
import type { Event, EventOf, ProducedArtifact } from "@headroom/model";

export interface ServedReplica {
  readonly attemptId: string;
  readonly workloadId: string;
  /** `TEAM/NAME`. */
  readonly endpoint: string;
  readonly revision: number;
  /** Ids of the versions that the revision got. */
  readonly versions: readonly string[];
}

interface KnownEndpoint {
  readonly name: string;
  /** Ids of versions by number of the revision. */
  readonly revisions: Map<number, readonly string[]>;
}

interface KnownReplica {
  readonly workloadId: string;
  readonly revision: number;
}

/** Memory is bounded by the endpoints of the history and their running replicas. */
export class ReplicaHistory {
  readonly #address: string;
  readonly #atMs: number;
  readonly #endpoints = new Map<string, KnownEndpoint>();
  readonly #replicas = new Map<string, KnownReplica>();
  #served: ServedReplica | null = null;

  /** `address`: host and port, as the replica reported them when it was ready. */
  constructor(address: string, atMs: number) {
    this.#address = address;
    this.#atMs = atMs;
  }

  /** The replica of the address at the instant; `null`: the history has none. */
  get served(): ServedReplica | null {
    return this.#served;
  }

  /** Events in the order of the journal. Those after the instant change nothing. */
  fold(events: Iterable<Event>): void {
    for (const event of events) if (event.atMs <= this.#atMs) this.#fold(event);
  }

  #fold(event: Event): void {
    switch (event.kind) {
      case "workloadSubmitted":
        this.#submit(event);
        return;
      case "workloadChanged":
      case "workloadRerun":
        if (event.given !== undefined) this.#endpoints.get(event.workloadId)?.revisions.set(1, versionsOf(event.given));
        return;
      case "rolloutStarted":
        this.#endpoints.get(event.workloadId)?.revisions.set(event.number, versionsOf(event.given ?? []));
        return;
      case "gangPlaced":
        if (this.#endpoints.has(event.workloadId))
          this.#replicas.set(event.attemptId, {
            workloadId: event.workloadId,
            revision: event.revisionNumber ?? 1,
          });
        return;
      case "replicaReady":
        if (event.address === this.#address) this.#serve(event.attemptId);
        return;
      case "attemptEnded":
        this.#replicas.delete(event.attemptId);
        return;
      default:
    }
  }

  #submit({ workloadId, spec, given = [] }: EventOf<"workloadSubmitted">): void {
    if (spec.kind !== "serve") return;
    const revisions = new Map([[1, versionsOf(given)]]);
    this.#endpoints.set(workloadId, { name: `${spec.team}/${spec.name}`, revisions });
  }

  /** A replica that ended stays the one of its address until another one is ready there: its last answers may arrive later. */
  #serve(attemptId: string): void {
    const replica = this.#replicas.get(attemptId);
    const endpoint = replica === undefined ? undefined : this.#endpoints.get(replica.workloadId);
    if (replica === undefined || endpoint === undefined) return;
    const { workloadId, revision } = replica;
    const versions = endpoint.revisions.get(revision) ?? [];
    this.#served = { attemptId, workloadId, endpoint: endpoint.name, revision, versions };
  }
}

const versionsOf = (given: readonly ProducedArtifact[]): readonly string[] =>
  given.flatMap(({ version }) => version ?? []);
