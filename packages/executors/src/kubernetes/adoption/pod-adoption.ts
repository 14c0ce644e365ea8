/** Pods of others that wait for this executor: their groups now, and sentences for their owners, which are shown as events of the pods. */
import type { AdoptionNote, WaitingWork, WorkAdoption } from "../../adoption.ts";
import type { KubernetesPod } from "../api/objects.ts";
import type { PodApi } from "../api/pod-api.ts";
import type { ClusterCopy } from "../cluster-copy.ts";
import type { KubernetesSettings } from "../settings.ts";
import { PodEvents } from "./pod-events.ts";
import type { GroupContext, GroupReading, PodGroup } from "./pod-groups.ts";
import { groupKeyOf, readGroup, waitsForUs } from "./pod-groups.ts";

/** Controllers create the pods of a job within this time in ms of each other. */
const GATHER_MS = 2_000;
const REMEMBERED_MAX = 50_000;
/** Time in ms for which work is not gone that this process has never seen: by then the copy of the cluster was listed again. */
const UNSEEN_MS = 660_000;

export interface AdoptionSetup {
  readonly id: string;
  readonly settings: KubernetesSettings;
  readonly copy: ClusterCopy;
  readonly api: PodApi;
  /** Whether an attempt that has not ended has the pod. */
  readonly holds: (uid: string) => boolean;
  /** Whether the attempts of earlier processes are known. */
  readonly isReady: () => boolean;
}

interface GroupPods {
  readonly waiting: KubernetesPod[];
  startedCount: number;
}

/** The reading of a group, and the pods that were read. The copy of the cluster replaces the object of a pod that changes. */
interface GroupRead extends GroupPods {
  readonly types: string;
  readonly reading: GroupReading;
}

export class PodAdoption implements WorkAdoption {
  readonly #setup: AdoptionSetup;
  readonly #events: PodEvents;
  /** When this process first saw a pod that waits (`performance.now()`), by uid. */
  readonly #seenAtMs = new Map<string, number>();
  /** Groups that waited, by key, the newest last. */
  readonly #groups = new Map<string, PodGroup>();
  /** By `groupKeyOf` the pods, of the groups that wait. Thousands of groups are looked at each second, and few change. */
  #reads = new Map<string, GroupRead>();
  readonly #beganAtMs = performance.now();

  constructor(setup: AdoptionSetup) {
    this.#setup = setup;
    this.#events = new PodEvents(setup.api);
  }

  waiting(): readonly WaitingWork[] | null {
    const { copy, isReady } = this.#setup;
    if (copy.problem !== null || !isReady()) return null;
    const gathered = this.#gather();
    this.#noteSeen(gathered);
    const context = this.#context();
    const types = JSON.stringify([...context.types].map(([resource, names]) => [resource, [...names].toSorted()]));
    const reads = new Map<string, GroupRead>();
    const groups: PodGroup[] = [];
    const nowMs = performance.now();
    for (const [name, { waiting, startedCount }] of gathered) {
      if (waiting.some((pod) => nowMs - (this.#seenAtMs.get(pod.metadata.uid ?? "") ?? nowMs) < GATHER_MS)) continue;
      const known = this.#reads.get(name);
      const now = { waiting, startedCount, types };
      const reading =
        known !== undefined && isSame(known, now) ? known.reading : readGroup(waiting, startedCount, context);
      reads.set(name, { ...now, reading });
      if (reading.kind === "group") groups.push(reading.group);
      else this.#events.tell(name, waiting, noteOf(reading));
    }
    this.#reads = reads;
    this.#remember(groups);
    return groups;
  }

  /**
   * The cluster is asked for pods that its copy lacks, and those that it has are put into the copy. If the copy has all of them, they are
   * other work by now, or wait no more.
   */
  async isGone(key: string): Promise<boolean> {
    const { api, copy } = this.#setup;
    const group = this.#groups.get(key);
    if (group === undefined) return performance.now() - this.#beganAtMs > UNSEEN_MS;
    const { namespace, members } = group;
    const lacking = members.filter(({ name, uid }) => copy.pod(namespace, name)?.metadata.uid !== uid);
    for (const { name, uid } of lacking) {
      const pod = await api.find(namespace, name);
      if (pod?.metadata.uid !== uid) return true;
      copy.putPod(pod);
    }
    return lacking.length === 0;
  }

  /** The group as it is now; `null`: not all of its pods wait, or the copy of the cluster is out of date. */
  group(key: string): PodGroup | null {
    if (this.#setup.copy.problem !== null) return null;
    const context = this.#context();
    const gathered = this.#gather();
    // A launch of one of thousands of groups must not read all of them.
    const id = this.#groups.get(key)?.id;
    for (const [name, { waiting, startedCount }] of gathered) {
      if (id !== undefined && name !== id) continue;
      const reading = readGroup(waiting, startedCount, context);
      if (reading.kind === "group" && reading.group.key === key) return reading.group;
    }
    return null;
  }

  tell(key: string, note: AdoptionNote): void {
    const group = this.#groups.get(key);
    if (group !== undefined) this.#events.tell(key, podsOf(group), note);
  }

  /** Says to which nodes the pods are bound. `nodes`: names in the order of the members. */
  tellBound(namespace: string, pods: readonly { name: string; uid: string }[], nodes: readonly string[]): void {
    for (const [rank, { name, uid }] of pods.entries())
      this.#events.post({ metadata: { namespace, name, uid } }, "Scheduled", `Bound to ${nodes[rank] ?? "a node"}.`);
  }

  close(): Promise<void> {
    return this.#events.close();
  }

  /** Groups that run are remembered for what is told about them later. */
  #remember(groups: readonly PodGroup[]): void {
    for (const group of groups) {
      this.#groups.delete(group.key);
      this.#groups.set(group.key, group);
    }
    for (const key of this.#groups.keys()) {
      if (this.#groups.size <= REMEMBERED_MAX) return;
      this.#groups.delete(key);
    }
  }

  #gather(): ReadonlyMap<string, GroupPods> {
    const { copy, holds } = this.#setup;
    const gathered = new Map<string, GroupPods>();
    for (const pod of copy.podsThatNameUs()) {
      const isWaiting = waitsForUs(pod) && !holds(pod.metadata.uid ?? "");
      const name = groupKeyOf(pod);
      const group = gathered.get(name) ?? { waiting: [], startedCount: 0 };
      if (isWaiting) group.waiting.push(pod);
      else if (pod.status?.phase === "Running" || pod.spec?.nodeName !== undefined) group.startedCount += 1;
      gathered.set(name, group);
    }
    for (const [name, { waiting }] of gathered) if (waiting.length === 0) gathered.delete(name);
    return gathered;
  }

  #noteSeen(gathered: ReadonlyMap<string, GroupPods>): void {
    const uids = new Set(
      [...gathered.values()].flatMap(({ waiting }) => waiting.map(({ metadata }) => metadata.uid ?? "")),
    );
    for (const uid of this.#seenAtMs.keys()) if (!uids.has(uid)) this.#seenAtMs.delete(uid);
    const nowMs = performance.now();
    for (const uid of uids) if (!this.#seenAtMs.has(uid)) this.#seenAtMs.set(uid, nowMs);
  }

  #context(): GroupContext {
    const { id, settings, copy } = this.#setup;
    return { executor: id, settings, types: copy.typesByResource() };
  }
}

const isSame = (known: Omit<GroupRead, "reading">, now: Omit<GroupRead, "reading">): boolean =>
  known.startedCount === now.startedCount &&
  known.types === now.types &&
  known.waiting.length === now.waiting.length &&
  known.waiting.every((pod, index) => pod === now.waiting[index]);

const podsOf = ({ namespace, members }: PodGroup): readonly Pick<KubernetesPod, "metadata">[] =>
  members.map(({ name, uid }) => ({ metadata: { namespace, name, uid } }));

const noteOf = (reading: Exclude<GroupReading, { kind: "group" }>): AdoptionNote => ({
  kind: reading.kind === "refused" ? "refused" : "waiting",
  message: `${reading.kind === "refused" ? "Headroom does not place the pod" : "Waiting"}: ${reading.reason}.`,
});
