/**
 * Differences between the kinds of workload, in one descriptor for each kind. Code that depends on the kind reads its descriptor
 * instead of comparing names, so a further kind is one entry here.
 */
import { attemptId } from "./ids.ts";
import type { AttemptId, WorkloadId } from "./ids.ts";
import type { Workload, WorkloadSpec } from "./workload.ts";

export type WorkloadKindName = WorkloadSpec["kind"];
type Kind = WorkloadKindName;

export interface WorkloadKindRules {
  /** Whether the workload has several tasks, which its attempts name: `w7.2.1`, not `w7.1`. */
  readonly hasTasks: boolean;
  /** `untilDone`: a task ends for good. `always`: a task that ends starts again, however often it fails. */
  readonly restarts: "untilDone" | "always";
}

const KINDS: Readonly<Record<Kind, WorkloadKindRules>> = {
  train: { hasTasks: false, restarts: "untilDone" },
  batch: { hasTasks: true, restarts: "untilDone" },
  serve: { hasTasks: true, restarts: "always" },
};
const { train: TRAIN } = KINDS;

// Every start and end of an attempt asks several times, mostly of this kind. A comparison is faster than a lookup by a key.
export const kindRules = ({ kind }: Pick<WorkloadSpec, "kind">): WorkloadKindRules =>
  kind === "train" ? TRAIN : KINDS[kind];

/** The largest number of replicas of an endpoint. A round considers all replicas of one endpoint together. */
export const REPLICAS_MAX = 1_000;

/**
 * Number of tasks that the workload can ever have. Replicas of an endpoint take the lowest free numbers, so only as many
 * of them have a record as ran at one time.
 */
export function taskCountOf(spec: WorkloadSpec): number {
  switch (spec.kind) {
    case "train":
      return 1;
    case "batch":
      return spec.taskCount;
    case "serve":
      return REPLICAS_MAX;
  }
}

/** Number of tasks that may have an attempt at one time; without a limit, the number of tasks. */
export function tasksAtOnceOf({ spec, scale, rollout }: Pick<Workload, "spec" | "scale" | "rollout">): number {
  switch (spec.kind) {
    case "train":
      return 1;
    case "batch":
      return spec.tasksAtOnce ?? spec.taskCount;
    case "serve":
      return rollout === undefined ? (scale?.replicas ?? 0) : rollout.stable + rollout.canary;
  }
}

/** Number of tasks that the workload asks for when it is submitted. */
export const submittedTaskCount = (spec: WorkloadSpec): number =>
  spec.kind === "serve" ? initialReplicas(spec) : taskCountOf(spec);

/** Number of replicas of a new endpoint: its minimum. */
export const initialReplicas = ({ replicas }: WorkloadSpec & { readonly kind: "serve" }): number => replicas.min;

export const attemptIdOf = (
  id: WorkloadId,
  { task, number }: { readonly task: number; readonly number: number },
  spec: Pick<WorkloadSpec, "kind">,
): AttemptId => attemptId(kindRules(spec).hasTasks ? `${id}.${task}.${number}` : `${id}.${number}`);
