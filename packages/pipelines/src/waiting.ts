/** Why a step of a run waits. */
import { isStepSettled } from "@headroom/model";
import type { PipelineRun, StepRun } from "@headroom/model";

export type StepWait =
  /** The run waits for other runs of its pipeline. */
  | { readonly kind: "runsAtOnce"; readonly limit: number }
  /** Steps before it have not ended. `count`: their number, with items; `steps`: the first names. */
  | { readonly kind: "after"; readonly steps: readonly string[]; readonly count: number }
  /** As many workloads of the run, or of the step, run as may. */
  | { readonly kind: "stepsAtOnce"; readonly limit: number }
  | { readonly kind: "atOnce"; readonly limit: number }
  /** `proposal`: the proposal that is to be decided. Absent: the step itself is approved. */
  | { readonly kind: "approval"; readonly proposal?: string };

const NAMES_SHOWN = 5;

/** Why the step waits, or `null` if it does not wait for anything of its pipeline: it runs or has ended. */
export function stepWait(run: PipelineRun, own: StepRun): StepWait | null {
  const { pipeline, steps } = run;
  if (own.phase === "awaitingApproval")
    return own.proposalId === undefined ? { kind: "approval" } : { kind: "approval", proposal: own.proposalId };
  if (own.phase !== "waiting") return null;
  if (run.phase === "waiting") return { kind: "runsAtOnce", limit: pipeline.runsAtOnce ?? 0 };
  const step = pipeline.steps.find(({ name }) => name === own.step);
  if (step === undefined) return null;
  const ahead = new Set(step.after);
  const open = [...steps.values()].filter((each) => ahead.has(each.step) && !isStepSettled(each.phase));
  if (open.length > 0) {
    const names = [...new Set(open.map((each) => each.step))].slice(0, NAMES_SHOWN);
    return { kind: "after", steps: names, count: open.length };
  }
  const running = [...steps.values()].filter(({ phase }) => phase === "running");
  const { atOnce } = step;
  if (atOnce !== undefined && running.filter((each) => each.step === own.step).length >= atOnce)
    return { kind: "atOnce", limit: atOnce };
  const { stepsAtOnce } = pipeline;
  return stepsAtOnce !== undefined && running.length >= stepsAtOnce
    ? { kind: "stepsAtOnce", limit: stepsAtOnce }
    : null;
}
