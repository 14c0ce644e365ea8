/** Removes pods whose attempts have ended, and ends those that a wrong answer had hidden. */
import { attemptId } from "@headroom/model";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import type { ExitRecord } from "../../job-protocol/attempt-records.ts";
import { attemptDirName } from "../../job-protocol/attempt-names.ts";
import type { AttemptStore } from "../../job-protocol/attempt-store.ts";
import { messageOf } from "../api/connection.ts";
import type { KubernetesPod } from "../api/objects.ts";
import { objectKey } from "../api/objects.ts";
import type { PodApi } from "../api/pod-api.ts";
import type { ClusterCopy } from "../cluster-copy.ts";
import { PodActions } from "./pod-actions.ts";
import { ATTEMPT_ANNOTATION, isAdoptedPod } from "./pod-names.ts";
import { isOver, podStateOf } from "./pod-state.ts";
import { podAt, readPlace } from "./watched-gang.ts";

const TIDY_MS = 2_000;
/** Calls of one round, so that thousands of ended pods do not hold up the work. */
const CALLS_MAX = 50;
const GRACE_SECONDS = 30;
/** Time in ms after which a deletion that was accepted and has not happened is repeated. */
const REPEAT_MS = 60_000;

export interface TidierSetup {
  readonly store: AttemptStore;
  readonly api: PodApi;
  readonly copy: ClusterCopy;
  readonly keepPodsMs: number;
  readonly onProblem: (message: string) => void;
}

export class PodTidier {
  readonly #setup: TidierSetup;
  readonly #actions: PodActions;
  readonly #deletedAtMs = new Map<string, number>();
  /** Services that the cluster has removed, by name: all pods of a gang lead to one. */
  readonly #servicesRemoved = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #running: Promise<void> | null = null;

  constructor(setup: TidierSetup) {
    this.#setup = setup;
    this.#actions = new PodActions(setup.api);
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#running ??= this.#tidy().finally(() => (this.#running = null));
    }, TIDY_MS);
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#running;
  }

  /** Removes what the cluster has of an attempt, before its records are removed. Throws if the cluster does not answer. */
  async removeAll(files: AttemptFiles, workers: number): Promise<void> {
    const place = readPlace(files);
    if (place === null) return;
    this.#servicesRemoved.delete(place.base);
    const { api, copy } = this.#setup;
    for (let rank = 0; rank < workers; rank++) {
      const { name, uid } = podAt(place, rank);
      const known = copy.pod(place.namespace, name);
      if (known === null && copy.problem === null) continue;
      const pod = await api.find(place.namespace, name);
      if (pod === null || (uid !== undefined && pod.metadata.uid !== uid)) continue;
      if (uid !== undefined) {
        if (isAdoptedPod(pod)) await this.#actions.release(pod);
        continue;
      }
      await this.#actions.remove(pod, isOver(podStateOf(pod, rank)) ? 0 : GRACE_SECONDS);
      const changed = await api.find(place.namespace, name);
      if (changed !== null) await this.#actions.release(changed);
    }
    if (workers > 1) await this.#actions.removeService(place);
  }

  async #tidy(): Promise<void> {
    const { copy, onProblem } = this.#setup;
    if (copy.problem !== null) return;
    let calls = 0;
    const pods = copy.ownPods();
    const names = new Set(pods.map(({ metadata }) => objectKey(metadata)));
    for (const key of this.#deletedAtMs.keys()) if (!names.has(key)) this.#deletedAtMs.delete(key);
    // The pods of a gang share one record of their end.
    const exits = new Map<string, ExitRecord | null>();
    try {
      for (const pod of pods) {
        if (calls >= CALLS_MAX) return;
        const id = pod.metadata.annotations?.[ATTEMPT_ANNOTATION] ?? "";
        const exit = exits.get(id) ?? (exits.has(id) ? null : this.#exitOf(pod));
        exits.set(id, exit);
        if (exit !== null) calls += await this.#tidyPod(pod, exit);
      }
    } catch (error) {
      onProblem(`Removing ended pods: ${messageOf(error)}`);
    }
  }

  /** Returns the number of calls. */
  async #tidyPod(pod: KubernetesPod, exit: ExitRecord): Promise<number> {
    // Pods of others are removed by their owners. Without the marks, one that still runs counts as use of others.
    if (isAdoptedPod(pod)) {
      await this.#actions.release(pod);
      return 1;
    }
    const key = objectKey(pod.metadata);
    const over = isOver(podStateOf(pod, 0));
    const isDue = !over || Date.now() - exit.endedAtMs >= this.#setup.keepPodsMs;
    const isRecent = performance.now() - (this.#deletedAtMs.get(key) ?? -Infinity) < REPEAT_MS;
    const isDeleted = pod.metadata.deletionTimestamp !== undefined;
    if (isDue && !isRecent && !(isDeleted && over)) {
      const { kind } = await this.#actions.remove(pod, over ? 0 : GRACE_SECONDS);
      // Without a sound answer the next round tries again.
      if (kind !== "unknown") this.#deletedAtMs.set(key, performance.now());
      await this.#removeService(pod);
      return 2;
    }
    // The exits of an attempt that is lost are of no interest, and the kubelet may never report them.
    const isReleasable = over || (exit.kind === "lost" && isDeleted);
    if (!isReleasable || (pod.metadata.finalizers ?? []).length === 0) return 0;
    await this.#actions.release(pod);
    return 1;
  }

  async #removeService(pod: KubernetesPod): Promise<void> {
    const files = this.#filesOf(pod);
    const place = files === null ? null : readPlace(files);
    if (place === null || this.#servicesRemoved.has(place.base)) return;
    const { kind } = await this.#actions.removeService(place);
    if (kind !== "unknown") this.#servicesRemoved.add(place.base);
  }

  /** `null`: the attempt has not ended, or is unknown here. */
  #exitOf(pod: KubernetesPod): ExitRecord | null {
    const files = this.#filesOf(pod);
    return files === null ? null : files.readIfSound("exit.json");
  }

  #filesOf({ metadata }: KubernetesPod): AttemptFiles | null {
    const id = metadata.annotations?.[ATTEMPT_ANNOTATION];
    if (id === undefined || id === "") return null;
    try {
      return this.#setup.store.files(attemptDirName(attemptId(id)));
    } catch {
      return null;
    }
  }
}
