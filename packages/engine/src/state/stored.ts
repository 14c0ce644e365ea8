/**
 * Entities in the form in which they are hashed and stored: without bookkeeping fields, and with lists of entries
 * instead of maps.
 */
import { stepKey } from "@headroom/model";
import type { PipelineRun, StepRun, Task } from "@headroom/model";
import type {
  Digested,
  DigestedArtifact,
  DigestedVersion,
  WritableAttempt,
  WritableNode,
  WritableWorkload,
} from "./mutable-state.ts";

export type StoredWorkload = Omit<WritableWorkload, "digestRevision" | "digestLanes" | "tasks" | "waitingTasks"> & {
  /** Records of tasks, in ascending order of their indexes. */
  readonly tasks: readonly Task[];
};
export type Stored<T extends Digested> = Omit<T, "digestRevision" | "digestLanes">;
export type StoredAttempt = Stored<WritableAttempt>;
export type StoredNode = Stored<WritableNode>;
export type StoredArtifact = Stored<DigestedArtifact>;
export type StoredVersion = Stored<DigestedVersion>;

const NO_TASKS: readonly Task[] = [];

export function storeWorkload(entity: WritableWorkload): StoredWorkload {
  const { digestRevision: _revision, digestLanes: _lanes, tasks, waitingTasks: _waiting, ...plain } = entity;
  // The copy is complete but for this field; a second copy with it would double the time of a digest.
  return Object.assign(plain, {
    tasks: tasks.size === 0 ? NO_TASKS : [...tasks.values()].toSorted((left, right) => left.index - right.index),
  });
}

export function store<T extends Digested>(entity: T): Stored<T> {
  const { digestRevision: _revision, digestLanes: _lanes, ...plain } = entity;
  return plain;
}

/** A run of a pipeline with its steps as a list. */
export type StoredRun = Omit<PipelineRun, "steps"> & { readonly steps: readonly StepRun[] };

export const storeRun = ({ steps, ...run }: PipelineRun): StoredRun => ({ ...run, steps: [...steps.values()] });

export const restoreRun = ({ steps, ...run }: StoredRun): PipelineRun => ({
  ...run,
  steps: new Map(steps.map((own) => [stepKey(own.step, own.index), own])),
});
