/** The state of a worker, as the object of its pod states it. Pure. */
import type { WorkerExit } from "@headroom/model";
import type { ContainerStatus, KubernetesPod, TerminatedState } from "../api/objects.ts";
import { memoryMibOf } from "../fleet/quantity.ts";
import { CONTAINER } from "./pod-names.ts";

export type PodState =
  /** No node has it yet. */
  | { readonly kind: "unbound" }
  /** The kubelet has not started its container. `isFault`: not without a change of the workload or of the cluster. */
  | { readonly kind: "waiting"; readonly detail: string; readonly isFault: boolean }
  | { readonly kind: "running" }
  /** Its container has ended. */
  | { readonly kind: "exited"; readonly exit: WorkerExit; readonly startedAtMs: number; readonly endedAtMs: number }
  /** It ended without an exit of its own: evicted, refused by the kubelet, deleted before it started. */
  | { readonly kind: "failed"; readonly detail: string };

/** Reasons with which kubelet and controllers end a pod (pkg/kubelet, pkg/controller): the node is the cause, not the work. */
const NODE_REASONS: ReadonlySet<string> = new Set([
  "Evicted",
  "NodeLost",
  "NodeShutdown",
  "NodeAffinity",
  "Terminated",
  "Shutdown",
  "Preempting",
  "Preempted",
  "UnexpectedAdmissionError",
  "TerminationByKubelet",
  "DeletionByPodGC",
  "DeletionByTaintManager",
]);

/** Reasons of a container that waits because of its image or its configuration (pkg/kubelet/images, pkg/kubelet/container). */
const FAULTS: ReadonlySet<string> = new Set([
  "ErrImagePull",
  "ImagePullBackOff",
  "ImageInspectError",
  "ErrImageNeverPull",
  "InvalidImageName",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError",
]);

const DETAIL_MAX = 300;

export function podStateOf(pod: KubernetesPod, rank: number): PodState {
  const { metadata, spec, status } = pod;
  const worker = status?.containerStatuses?.find(({ name }) => name === CONTAINER);
  const terminated = worker?.state?.terminated;
  const isDeleted = metadata.deletionTimestamp !== undefined;
  const reason = status?.reason ?? "";
  const detail = detailOf(reason, status?.message);
  if (status?.phase === "Failed" && (NODE_REASONS.has(reason) || reason.startsWith("OutOf")))
    return { kind: "failed", detail: `The pod failed: ${detail}.` };
  if (terminated !== undefined) return exitedState(pod, rank, terminated);
  if (status?.phase === "Succeeded") return exitedState(pod, rank, { exitCode: 0 });
  if (status?.phase === "Failed") return { kind: "failed", detail: `The pod failed: ${detail || "no reason"}.` };
  if (worker?.state?.running !== undefined) return { kind: "running" };
  const isConfirmed = metadata.deletionGracePeriodSeconds === 0 || spec?.nodeName === undefined;
  if (isDeleted && isConfirmed) return { kind: "failed", detail: "The pod was deleted before its container started." };
  if (spec?.nodeName === undefined) return { kind: "unbound" };
  return waitingState(worker);
}

/**
 * The state of a pod of others: the kubelet may start its containers again (`restartPolicy`), so the phase of the pod decides. Its exit is
 * that of the container which failed first in the list.
 */
export function adoptedStateOf(pod: KubernetesPod, rank: number): PodState {
  const { metadata, spec, status } = pod;
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const ends = containers.flatMap(({ state }) => state?.terminated ?? []);
  if (status?.phase === "Succeeded") return exitedState(pod, rank, { ...ends.at(-1), exitCode: 0 });
  if (status?.phase === "Failed") {
    const end = ends.find(({ exitCode }) => exitCode !== 0);
    if (end !== undefined && !NODE_REASONS.has(status.reason ?? "")) return exitedState(pod, rank, end);
    return {
      kind: "failed",
      detail: `The pod failed: ${detailOf(status.reason ?? "", status.message) || "no reason"}.`,
    };
  }
  if (metadata.deletionTimestamp !== undefined) {
    // The kubelet reports the end of the containers before it confirms the deletion with a grace period of 0.
    const hasEnded = containers.length > 0 && containers.every(({ state }) => state?.terminated !== undefined);
    const end = ends.find(({ exitCode }) => exitCode !== 0) ?? ends[0];
    if (hasEnded && end !== undefined) return exitedState(pod, rank, end);
    if (metadata.deletionGracePeriodSeconds === 0 || spec?.nodeName === undefined)
      return { kind: "failed", detail: "The pod was deleted." };
  }
  if (status?.phase === "Running") return { kind: "running" };
  return spec?.nodeName === undefined ? { kind: "unbound" } : waitingState(status?.containerStatuses?.[0]);
}

const detailOf = (reason: string, message: string | undefined): string =>
  [reason, message ?? ""]
    .filter((text) => text !== "")
    .join(": ")
    .slice(0, DETAIL_MAX)
    .replace(/[.\s]+$/, "");

function waitingState(worker: ContainerStatus | undefined): PodState {
  const { reason = "", message } = worker?.state?.waiting ?? {};
  return {
    kind: "waiting",
    detail: detailOf(reason, message) || "the kubelet has not started its container",
    isFault: FAULTS.has(reason),
  };
}

function exitedState(pod: KubernetesPod, rank: number, state: TerminatedState): PodState {
  const nowMs = Date.now();
  const endedAtMs = timeOf(state.finishedAt) ?? nowMs;
  const startedAtMs = Math.min(timeOf(state.startedAt) ?? endedAtMs, endedAtMs);
  return { kind: "exited", exit: exitOf(pod, rank, state), startedAtMs, endedAtMs };
}

function timeOf(text: string | null | undefined): number | null {
  const atMs = Date.parse(text ?? "");
  // A container without times has those of 1970 or year 1.
  return Number.isNaN(atMs) || atMs <= 0 ? null : atMs;
}

/** Numbers of signals on Linux (signal(7)); a shell and the runtime add 128. */
const SIGNALS: Readonly<Record<number, string>> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  5: "SIGTRAP",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  10: "SIGUSR1",
  11: "SIGSEGV",
  12: "SIGUSR2",
  13: "SIGPIPE",
  14: "SIGALRM",
  15: "SIGTERM",
};
const SIGNAL_BASE = 128;
const CODE_MAX = 255;

function exitOf(pod: KubernetesPod, worker: number, { exitCode, signal, reason }: TerminatedState): WorkerExit {
  const number = signal !== undefined && signal > 0 ? signal : exitCode - SIGNAL_BASE;
  const name = SIGNALS[number];
  const limit = pod.spec?.containers?.find((each) => each.name === CONTAINER)?.resources?.limits?.["memory"];
  const memory = reason === "OOMKilled" && limit !== undefined ? { outOfMemoryMib: memoryMibOf(limit) } : {};
  if (name !== undefined) return { kind: "signalled", worker, signal: name, ...memory };
  return { kind: "exited", worker, code: Math.min(Math.max(exitCode, 0), CODE_MAX), ...memory };
}

/** Whether the worker runs no more, and will not run. */
export const isOver = ({ kind }: PodState): boolean => kind === "exited" || kind === "failed";
