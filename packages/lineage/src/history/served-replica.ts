/**
 * The replica behind an address at an instant, and the versions that it was given: the link from a request to the model that
 * answered it. Addresses are used again by later replicas, so that the instant counts. Start with `fold`.
 */
import { revisionNumberOf } from "@headroom/model";
import type { Attempt, AttemptId, Event, Workload, WorkloadId } from "@headroom/model";

export interface ServedReplica {
  readonly attemptId: string;
  readonly workloadId: string;
  /** `TEAM/NAME`. */
  readonly endpoint: string;
  readonly revision: number;
  /** Ids of the versions that the revision got. */
  readonly versions: readonly string[];
}

/** Attempts and workloads as the engine has them. */
export interface PlacedWork {
  readonly attempts: ReadonlyMap<AttemptId, Pick<Attempt, "workloadId" | "revisionNumber">>;
  readonly workloads: ReadonlyMap<WorkloadId, Pick<Workload, "spec" | "given" | "rollout" | "revisionNumber">>;
}

/** Memory is bounded by the running replicas of the history. */
export class ReplicaHistory {
  readonly #address: string;
  readonly #atMs: number;
  readonly #replicas = new Map<AttemptId, ServedReplica>();
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

  /** Events of a group in the order of the journal, and the state after them. Those after the instant change nothing. */
  fold(events: Iterable<Event>, after: PlacedWork): void {
    for (const event of events) if (event.atMs <= this.#atMs) this.#fold(event, after);
  }

  #fold(event: Event, after: PlacedWork): void {
    if (event.kind === "gangPlaced") this.#place(event.attemptId, after);
    else if (event.kind === "replicaReady" && event.address === this.#address)
      // A replica that ended stays the one of its address until another one is ready there: its last answers may arrive later.
      this.#served = this.#replicas.get(event.attemptId) ?? this.#served;
    else if (event.kind === "attemptEnded") this.#replicas.delete(event.attemptId);
  }

  /** A replica runs with what its endpoint was given when it was placed. */
  #place(attemptId: AttemptId, { attempts, workloads }: PlacedWork): void {
    const attempt = attempts.get(attemptId);
    const endpoint = attempt === undefined ? undefined : workloads.get(attempt.workloadId);
    if (attempt === undefined || endpoint?.spec.kind !== "serve") return;
    const { spec, rollout } = endpoint;
    const revision = revisionNumberOf(attempt);
    const given = revision === rollout?.number ? rollout.given : endpoint.given;
    const versions = (given ?? []).flatMap(({ version }) => version ?? []);
    const { workloadId } = attempt;
    this.#replicas.set(attemptId, { attemptId, workloadId, endpoint: `${spec.team}/${spec.name}`, revision, versions });
  }
}
