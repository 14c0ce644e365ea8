/** Texts and badges of pipelines, shared by the list and the page of a run. */
import type { PipelineRun } from "@headroom/protocol";
import { plural } from "@headroom/views";
import type { ReactElement } from "react";
import { Badge, type Tone } from "../../parts/phase-badge.tsx";

export type RunPhase = PipelineRun["phase"];
export type StepPhase = keyof PipelineRun["counts"];

const runTones: Readonly<Record<RunPhase, Tone>> = {
  waiting: "wait",
  running: "run",
  succeeded: "good",
  failed: "bad",
  cancelled: "idle",
};
const stepTones: Readonly<Record<StepPhase, Tone>> = {
  waiting: "wait",
  running: "run",
  awaitingApproval: "wait",
  succeeded: "good",
  cached: "good",
  skipped: "idle",
  failed: "bad",
  cancelled: "idle",
};
const words: Readonly<Record<StepPhase, string>> = {
  waiting: "waiting",
  running: "running",
  awaitingApproval: "waits for approval",
  succeeded: "succeeded",
  cached: "from the cache",
  skipped: "skipped",
  failed: "failed",
  cancelled: "cancelled",
};

export const RunBadge = ({ phase }: { readonly phase: RunPhase }): ReactElement => (
  <Badge tone={runTones[phase]}>{phase}</Badge>
);

export const StepBadge = ({ phase }: { readonly phase: StepPhase }): ReactElement => (
  <Badge tone={stepTones[phase]}>{words[phase]}</Badge>
);

/** Such as "2 succeeded, 1 running". */
export function countsText(counts: PipelineRun["counts"]): string {
  const parts = Object.entries(counts).flatMap(([phase, count]) =>
    count === 0 ? [] : [`${count} ${words[phase as StepPhase]}`],
  );
  return parts.length === 0 ? plural(0, "step") : parts.join(", ");
}

/** The phase that says most about a step with several items. */
export function stepPhaseOf(counts: PipelineRun["counts"]): StepPhase {
  const order: readonly StepPhase[] = [
    "failed",
    "awaitingApproval",
    "running",
    "waiting",
    "cancelled",
    "skipped",
    "cached",
  ];
  return order.find((phase) => (counts[phase] ?? 0) > 0) ?? "succeeded";
}
