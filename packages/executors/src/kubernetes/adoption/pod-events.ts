/** Events of pods, as `kubectl describe pod` shows them. A lost event is no loss: nothing reads them but people. */
import type { AdoptionNote } from "../../adoption.ts";
import type { KubernetesPod } from "../api/objects.ts";
import type { PodApi } from "../api/pod-api.ts";

type EventPod = Pick<KubernetesPod, "metadata">;

/** Reasons as kube-scheduler and other schedulers state them. */
const REASONS = { waiting: "Queued", refused: "FailedScheduling", preempted: "Preempted" } as const;

/** Pods of a group that get the event; the others of a large group wait for the same reason. */
const PODS_MAX = 16;
/** Events that wait to be sent. Further ones are dropped. */
const QUEUE_MAX = 500;
const KNOWN_MAX = 10_000;
/** Time in ms between two times at which all sentences are forgotten: more groups than that must not be told the same again and again. */
const FORGET_MS = 600_000;
/** kubernetes.io/docs/reference/kubernetes-api, Event v1: a note has at most 1 kB. */
const MESSAGE_MAX = 1_000;
const NAME_MAX = 200;

export class PodEvents {
  readonly #api: PodApi;
  readonly #told = new Map<string, AdoptionNote>();
  readonly #queue: (() => Promise<unknown>)[] = [];
  #sending: Promise<void> | null = null;
  #forgotAtMs = performance.now();
  #count = 0;
  #isClosed = false;

  constructor(api: PodApi) {
    this.#api = api;
  }

  tell(key: string, pods: readonly EventPod[], { kind, message }: AdoptionNote): void {
    const before = this.#told.get(key);
    if (before?.kind === kind && before.message === message) return;
    if (before === undefined && this.#told.size >= KNOWN_MAX && !this.#forget()) return;
    this.#told.set(key, { kind, message });
    for (const pod of pods.slice(0, PODS_MAX))
      this.post(pod, REASONS[kind], message, kind === "waiting" ? "Normal" : "Warning");
  }

  #forget(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#forgotAtMs < FORGET_MS) return false;
    this.#forgotAtMs = nowMs;
    this.#told.clear();
    return true;
  }

  post({ metadata }: EventPod, reason: string, message: string, type: "Normal" | "Warning" = "Normal"): void {
    if (this.#isClosed || this.#queue.length >= QUEUE_MAX) return;
    const { namespace = "", name, uid } = metadata;
    const at = new Date();
    const id = `${at.getTime().toString(16)}${(this.#count++ % 4_096).toString(16)}`;
    const event = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${name.slice(0, NAME_MAX)}.${id}`, namespace },
      involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name, uid },
      type,
      reason,
      message: message.slice(0, MESSAGE_MAX),
      source: { component: "headroom" },
      firstTimestamp: at.toISOString(),
      lastTimestamp: at.toISOString(),
      count: 1,
    };
    this.#queue.push(() => this.#api.create("events", event));
    this.#sending ??= this.#send().finally(() => (this.#sending = null));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#queue.length = 0;
    await this.#sending;
  }

  async #send(): Promise<void> {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) await next();
  }
}
