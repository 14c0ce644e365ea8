/** The first state of a run, and what a retry of an ended run does again. */
import { stepKey } from "@headroom/model";
import type { PipelineRun, PipelineSpec, StepRun } from "@headroom/model";
import { downstreamOf, orderedSteps } from "./graph.ts";

/** A step that waits. With a fan-out, it stands for all items until they are known. */
export const waitingStep = (step: string, index: number | null = null, item: string | null = null): StepRun => ({
  step,
  index,
  item,
  phase: "waiting",
  workloadId: null,
  cacheKey: null,
  artifacts: [],
  reason: null,
  startedAtMs: null,
  endedAtMs: null,
});

export const firstSteps = (pipeline: PipelineSpec): readonly StepRun[] =>
  orderedSteps(pipeline).map(({ name }) => waitingStep(name));

/** Steps that a retry runs again. */
export interface RetryPlan {
  /** Steps, and items of steps, that wait again. */
  readonly again: readonly string[];
  /** Steps whose items are found out again, because a step before them runs again. */
  readonly collapsed: readonly string[];
}

/**
 * Retries what did not succeed, and `from` a step with all its items; and all steps after those, because their inputs
 * change. Items that succeeded stay as they are.
 */
export function retryPlan({ pipeline, steps, expanded }: PipelineRun, from: string | null): RetryPlan {
  const isSound = ({ phase, reason }: StepRun): boolean =>
    phase === "succeeded" || phase === "cached" || (phase === "skipped" && reason?.kind === "condition");
  const unsound = [...steps.values()].filter((own) => !isSound(own) || own.step === from);
  const first = new Set(unsound.map(({ step }) => step));
  const followers = new Set(
    pipeline.steps.filter(({ after }) => after.some((name) => first.has(name))).map(({ name }) => name),
  );
  const changed = downstreamOf(pipeline, followers);
  const collapsed = expanded.filter((name) => changed.has(name));
  const again = [...steps.values()]
    .filter((own) => !collapsed.includes(own.step))
    .filter((own) => changed.has(own.step) || !isSound(own) || own.step === from)
    .map(({ step, index }) => stepKey(step, index));
  return { again, collapsed };
}
