/** Pods of others that wait for this executor: their groups now, and sentences for their owners, which are shown as events of the pods. */
import type { AdoptionNote, WaitingWork, WorkAdoption } from "../../adoption.ts";
import type { KubernetesPod } from "../api/objects.ts";
import type { PodApi } from "../api/pod-api.ts";
import type { ClusterCopy } from "../cluster-copy.ts";
import type { KubernetesSettings } from "../settings.ts";
import { PodEvents } from "./pod-events.ts";
import type { GroupContext, GroupReading, PodGroup } from "./pod-groups.ts";
import { GroupObjects } from "./group-objects.ts";
import type { GroupObjectState } from "./group-objects.ts";
import { groupKeyOf, groupObjectPaths, readGroup, waitsForUs } from "./pod-groups.ts";

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
  readonly object: GroupObjectState;
  readonly reading: GroupReading;
}

export class PodAdoption implements WorkAdoption {
  readonly #setup: AdoptionSetup;
  readonly #events: PodEvents;
  readonly #objects: GroupObjects;
  /** When this process first saw a pod that waits (`performance.now()`), by uid. */
  readonly #seenAtMs = new Map<string, number>();
  /** Groups that waited, by key, the newest last. */
  readonly #groups = new Map<string, PodGroup>();
  /** By `groupKeyOf` the pods, of the groups that wait. Thousands of groups are looked at each second, and few change. */
  #reads = new Map<string, GroupRead>();
  /** Keys of groups that wait for the first answer about their object. */
  #unread: ReadonlySet<string> = new Set();
  readonly #beganAtMs = performance.now();

  constructor(setup: AdoptionSetup) {
    this.#setup = setup;
    this.#events = new PodEvents(setup.api);
    this.#objects = new GroupObjects((request) => setup.api.call(request));
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
      const object = this.#objectOf(name, waiting);
      if (waiting.some((pod) => nowMs - (this.#seenAtMs.get(pod.metadata.uid ?? "") ?? nowMs) < GATHER_MS)) continue;
      const known = this.#reads.get(name);
      const now = { waiting, startedCount, types, object };
      const isKnown = known !== undefined && isSame(known, now);
      const reading = isKnown ? known.reading : readGroup(waiting, startedCount, { ...context, object });
      reads.set(name, { ...now, reading });
      this.#tellProblem(name, waiting);
      if (reading.kind === "group") groups.push(reading.group);
      else this.#events.tell(name, waiting, noteOf(reading));
    }
    this.#reads = reads;
    this.#unread = new Set([...reads.values()].flatMap((read) => this.#unreadKey(read, context)));
    this.#objects.follow(new Set(gathered.keys()));
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
    if (this.#unread.has(key)) return false;
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
      // A group that has joined the queue is launched, also before its object was read after a restart.
      const reading = readGroup(waiting, startedCount, { ...context, object: null });
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

  /** The key of a group whose object is not read yet: it is no work that waits, and may be work that waited before a restart. */
  #unreadKey({ object, waiting, startedCount }: GroupRead, context: Omit<GroupContext, "object">): readonly string[] {
    if (object !== "unread") return [];
    const reading = readGroup(waiting, startedCount, { ...context, object: null });
    return reading.kind === "group" ? [reading.group.key] : [];
  }

  #tellProblem(name: string, waiting: readonly KubernetesPod[]): void {
    const problem = this.#objects.problem(name);
    if (problem === null) return;
    const message = `The object of the group cannot be read (${problem}). The group is placed as if there were none.`;
    this.#events.tell(`${name} object`, waiting, { kind: "waiting", message });
  }

  #objectOf(group: string, [pod]: readonly KubernetesPod[]): GroupObjectState {
    const paths = pod === undefined ? [] : groupObjectPaths(pod);
    return paths.length === 0 ? null : this.#objects.state(group, paths);
  }

  #context(): Omit<GroupContext, "object"> {
    const { id, settings, copy } = this.#setup;
    return { executor: id, settings, types: copy.typesByResource() };
  }
}

const isSame = (known: Omit<GroupRead, "reading">, now: Omit<GroupRead, "reading">): boolean =>
  known.startedCount === now.startedCount &&
  known.types === now.types &&
  known.object === now.object &&
  known.waiting.length === now.waiting.length &&
  known.waiting.every((pod, index) => pod === now.waiting[index]);

const podsOf = ({ namespace, members }: PodGroup): readonly Pick<KubernetesPod, "metadata">[] =>
  members.map(({ name, uid }) => ({ metadata: { namespace, name, uid } }));

const noteOf = (reading: Exclude<GroupReading, { kind: "group" }>): AdoptionNote => ({
  kind: reading.kind === "refused" ? "refused" : "waiting",
  message: `${reading.kind === "refused" ? "Headroom does not place the pod" : "Waiting"}: ${reading.reason}.`,
});
