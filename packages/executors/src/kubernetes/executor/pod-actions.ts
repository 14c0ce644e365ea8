/** Changes to the pods of one attempt: binding, deletion, release. Every call may be repeated. */
import { messageOf } from "../api/connection.ts";
import type { Outcome, PodApi } from "../api/pod-api.ts";
import type { KubernetesPod } from "../api/objects.ts";
import { FINALIZER, isAdoptedPod, withoutMarks } from "./pod-names.ts";
import { podAt } from "./watched-gang.ts";
import type { PodPlace, WatchedGang } from "./watched-gang.ts";

/** Calls at a time for one attempt: as many as the connection has sockets, which serve attempts in turn. */
const CONCURRENCY = 16;
/** Differences of deadlines in ms below which a pod is not deleted again. Kubernetes counts in seconds. */
const GRACE_STEP_MS = 500;
/** Kubernetes' default (`terminationGracePeriodSeconds`). */
const PART_GRACE_MS = 30_000;

export type Binding =
  | { readonly kind: "bound" }
  /** The gang cannot be bound as it was decided. */
  | { readonly kind: "impossible"; readonly detail: string }
  | { readonly kind: "unknown"; readonly detail: string };

export class PodActions {
  readonly #api: PodApi;

  constructor(api: PodApi) {
    this.#api = api;
  }

  /** Binds pods of a gang to their nodes. `nodes`: names by rank. */
  async bind(place: PodPlace, ranks: readonly number[], nodes: readonly string[]): Promise<Binding> {
    const results = await allOf(ranks, (rank) => this.#bindOne(place, rank, nodes[rank] ?? ""));
    return (
      results.find(({ kind }) => kind === "impossible") ??
      results.find(({ kind }) => kind === "unknown") ?? { kind: "bound" }
    );
  }

  async #bindOne(place: PodPlace, rank: number, node: string): Promise<Binding> {
    const { name, uid } = podAt(place, rank);
    const outcome = await this.#api.bind(place.namespace, name, node, uid);
    if (outcome.kind === "done") return { kind: "bound" };
    if (outcome.kind === "unknown") return outcome;
    if (outcome.kind !== "conflict") return { kind: "impossible", detail: outcome.detail };
    try {
      const pod = await this.#api.find(place.namespace, name);
      // One answer may be wrong: the watch finds out whether the pod is gone, and the next try whether it has a node.
      if (pod === null) return { kind: "unknown", detail: outcome.detail };
      const isOther = uid !== undefined && pod.metadata.uid !== uid;
      const where = pod.spec?.nodeName;
      if (!isOther && where === node) return { kind: "bound" };
      if (isOther) return { kind: "impossible", detail: `the pod ${name} is gone` };
      if (where !== undefined) return { kind: "impossible", detail: `its pod ${name} is on ${where}` };
      const kind = pod.metadata.deletionTimestamp === undefined ? "unknown" : "impossible";
      return { kind, detail: outcome.detail };
    } catch (error) {
      return { kind: "unknown", detail: messageOf(error) };
    }
  }

  /** Deletes the pods of these ranks, so that they end by this instant (`Date.now()`). An earlier instant replaces a later one. */
  async end(watched: WatchedGang, place: PodPlace, ranks: readonly number[], untilMs: number): Promise<void> {
    const due = ranks.filter((rank) => (watched.deletedUntilMs.get(rank) ?? Infinity) > untilMs + GRACE_STEP_MS);
    const graceSeconds = Math.max(1, Math.ceil((untilMs - Date.now()) / 1_000));
    await allOf(due, async (rank) => {
      const { name, uid } = podAt(place, rank);
      const { kind } = await this.#api.remove(place.namespace, name, graceSeconds, uid);
      // A conflict: the name is that of another pod by now.
      if (kind === "done" || kind === "missing" || (uid !== undefined && kind === "conflict"))
        watched.deletedUntilMs.set(rank, untilMs);
    });
  }

  /** Deletes the pods of others in a gang that can only be bound in part, since they would wait for each other. */
  async endAdopted(watched: WatchedGang, place: PodPlace): Promise<void> {
    const ranks = (place.pods ?? []).map((_, rank) => rank);
    await this.end(watched, place, ranks, Date.now() + PART_GRACE_MS);
  }

  /** Lets Kubernetes remove the object of a pod whose end is recorded. */
  async release(pod: KubernetesPod): Promise<Outcome> {
    if (isAdoptedPod(pod)) return await this.#api.patchMetadata(pod, withoutMarks(pod));
    const finalizers = pod.metadata.finalizers ?? [];
    if (!finalizers.includes(FINALIZER)) return { kind: "done" };
    return await this.#api.setFinalizers(
      pod,
      finalizers.filter((each) => each !== FINALIZER),
    );
  }

  remove({ metadata }: KubernetesPod, graceSeconds: number): Promise<Outcome> {
    return this.#api.remove(metadata.namespace ?? "", metadata.name, graceSeconds);
  }

  removeService(place: PodPlace): Promise<Outcome> {
    return this.#api.removeService(place.namespace, place.base);
  }
}

/** The results for all members, a few at a time. */
export async function allOf<Member, Result>(
  members: readonly Member[],
  work: (member: Member) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  const rest = members.entries();
  const one = async (): Promise<void> => {
    for (const [position, member] of rest) results[position] = await work(member);
  };
  await Promise.all(Array.from({ length: Math.min(CONCURRENCY, members.length) }, one));
  return results;
}
