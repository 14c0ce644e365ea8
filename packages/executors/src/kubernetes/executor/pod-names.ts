/** Names, labels and annotations by which pods carry their attempt. A pod is recognised by them, never by its uid alone. Pure. */
import { createHash } from "node:crypto";
import type { AttemptId, LaunchGang } from "@headroom/model";
import type { KubernetesPod } from "../api/objects.ts";

const PREFIX = "headroom.dev";
export const SCHEDULER_NAME = "headroom";
/** Keeps the object of a pod, with the exits of its containers, until its end is recorded. */
export const FINALIZER = `${PREFIX}/exit-record`;
const INSTALLATION_LABEL = `${PREFIX}/installation`;
export const ATTEMPT_LABEL = `${PREFIX}/attempt`;
const RANK_LABEL = `${PREFIX}/rank`;
export const ATTEMPT_ANNOTATION = `${PREFIX}/attempt-id`;
/** Marks a pod of others that an attempt stands for. */
export const ADOPTED_LABEL = `${PREFIX}/adopted`;
export const CONTAINER = "worker";

const SLUG_MAX = 24;
const HASH_CHARS = 10;

/** Installations and executors on one cluster have pods with different names for attempts with equal ids. */
export function baseName(installation: string, attemptId: AttemptId): string {
  const hash = createHash("sha256").update(`${installation}\0${attemptId}`).digest("hex").slice(0, HASH_CHARS);
  return `hr-${slug(attemptId, SLUG_MAX)}-${hash}`;
}

export const podName = (base: string, rank: number): string => `${base}-${rank}`;

/** Text as a part of a DNS label (RFC 1123). */
function slug(text: string, max: number): string {
  const plain = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
  return plain.slice(0, max).replaceAll(/^-+|-+$/g, "") || "x";
}

export interface PodIdentity {
  readonly base: string;
  readonly installation: string;
}

export const podLabels = ({ base, installation }: PodIdentity, rank: number): Readonly<Record<string, string>> => ({
  "app.kubernetes.io/managed-by": "headroom",
  [INSTALLATION_LABEL]: installation,
  [ATTEMPT_LABEL]: base,
  [RANK_LABEL]: String(rank),
});

export const podAnnotations = (launch: LaunchGang, rank: number): Readonly<Record<string, string>> => ({
  [ATTEMPT_ANNOTATION]: launch.attemptId,
  [`${PREFIX}/workload-id`]: launch.workloadId,
  [`${PREFIX}/workload`]: launch.spec.name,
  [`${PREFIX}/team`]: launch.spec.team,
  [`${PREFIX}/submitter`]: launch.actor,
  [`${PREFIX}/node`]: launch.workers[rank]?.node ?? "",
  [`${PREFIX}/sequence`]: String(launch.sequence),
});

export const isOfInstallation = ({ metadata }: KubernetesPod, installation: string): boolean =>
  metadata.labels?.[INSTALLATION_LABEL] === installation;

/** Whether a pod with the name of an attempt's pod was made for it. */
export const carriesAttempt = (
  pod: KubernetesPod,
  { base, installation }: PodIdentity,
  attemptId: AttemptId,
): boolean =>
  isOfInstallation(pod, installation) &&
  pod.metadata.labels?.[ATTEMPT_LABEL] === base &&
  pod.metadata.annotations?.[ATTEMPT_ANNOTATION] === attemptId;

/** Metadata of a pod of others while an attempt has it. */
export const adoptionMarks = (pod: KubernetesPod, identity: PodIdentity, attemptId: AttemptId): object => ({
  labels: {
    [INSTALLATION_LABEL]: identity.installation,
    [ATTEMPT_LABEL]: identity.base,
    [ADOPTED_LABEL]: "true",
  },
  annotations: { [ATTEMPT_ANNOTATION]: attemptId },
  finalizers: [...new Set([...(pod.metadata.finalizers ?? []), FINALIZER])],
});

/** Metadata that takes the marks back. A merge patch removes what is `null`. */
export const withoutMarks = ({ metadata }: KubernetesPod): object => ({
  labels: { [INSTALLATION_LABEL]: null, [ATTEMPT_LABEL]: null, [ADOPTED_LABEL]: null },
  annotations: { [ATTEMPT_ANNOTATION]: null },
  finalizers: (metadata.finalizers ?? []).filter((each) => each !== FINALIZER),
});

export const isMarkedFor = (pod: KubernetesPod, identity: PodIdentity, attemptId: AttemptId): boolean =>
  carriesAttempt(pod, identity, attemptId) && (pod.metadata.finalizers ?? []).includes(FINALIZER);

/** Whether an attempt has, or had, a pod that others created. */
export const isAdoptedPod = ({ metadata }: KubernetesPod): boolean => metadata.labels?.[ADOPTED_LABEL] !== undefined;
