/**
 * Runs of pipelines, checked without the code that advances them: a step runs only after those that it waits for, a
 * workload belongs to one step, limits are kept, and nothing is left to do.
 */
import {
  CACHED_STEPS_KEPT,
  ENDED_RUNS_KEPT,
  OPEN_RUNS_MAX,
  RUN_STEPS_MAX,
  isRunOpen,
  isStepSettled,
  stepKey,
} from "@headroom/model";
import type { PipelineRun, StepRun, WorkloadId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Findings } from "@headroom/engine/internals";

export function checkPipelines(findings: Findings, state: ReadonlyState): void {
  if (state.pipelineRunCount === 0) return;
  const runs = [...state.pipelineRuns.values()];
  const open = runs.filter(isRunOpen);
  findings.expect(open.length <= OPEN_RUNS_MAX, () => `${open.length} runs of pipelines are open`);
  findings.expect(
    runs.length - open.length <= ENDED_RUNS_KEPT,
    () => `${runs.length - open.length} runs of pipelines have ended and are kept`,
  );
  findings.expect(state.cachedSteps.size <= CACHED_STEPS_KEPT, () => `${state.cachedSteps.size} steps are cached`);
  const owners = new Map<WorkloadId, string>();
  for (const run of runs) {
    checkRun(findings, state, run);
    for (const own of run.steps.values()) checkOwner(findings, owners, run, own);
  }
}

/** A cached step names the workload of another step; every other step has one of its own. */
function checkOwner(findings: Findings, owners: Map<WorkloadId, string>, { id }: PipelineRun, own: StepRun): void {
  if (own.workloadId === null || own.phase === "cached") return;
  const owner = `${id} ${stepKey(own.step, own.index)}`;
  const other = owners.get(own.workloadId);
  findings.expect(other === undefined, () => `${own.workloadId} belongs to ${other} and to ${owner}`);
  owners.set(own.workloadId, owner);
}

function checkRun(findings: Findings, state: ReadonlyState, run: PipelineRun): void {
  const { id, pipeline, steps, phase } = run;
  const all = [...steps.values()];
  findings.expect(all.length <= RUN_STEPS_MAX + pipeline.steps.length, () => `run ${id} has ${all.length} steps`);
  const isOver = all.every((own) => isStepSettled(own.phase));
  findings.expect(isRunOpen(run) || isOver, () => `run ${id} is ${phase}, and not all its steps are`);
  const running = all.filter((own) => own.phase === "running");
  const { stepsAtOnce = Number.POSITIVE_INFINITY } = pipeline;
  findings.expect(running.length <= stepsAtOnce, () => `run ${id} has ${running.length} steps at once`);
  for (const { name, after, atOnce = Number.POSITIVE_INFINITY } of pipeline.steps) {
    const own = all.filter(({ step }) => step === name);
    const begun = own.filter((each) => each.phase === "running" || each.phase === "awaitingApproval");
    findings.expect(
      own.filter((each) => each.phase === "running").length <= atOnce,
      () => `run ${id} runs more items of ${name} than ${atOnce}`,
    );
    const ahead = all.find(({ step, phase: of }) => after.includes(step) && !isStepSettled(of));
    findings.expect(
      begun.length === 0 || ahead === undefined,
      () => `run ${id} runs ${name}, and ${ahead?.step} before it is ${ahead?.phase}`,
    );
  }
  for (const { workloadId, step } of running) {
    const workload = workloadId === null ? undefined : state.workloads.get(workloadId);
    findings.expect(workload !== undefined, () => `run ${id} runs ${step} as ${workloadId}, which does not exist`);
    // Between batches, a round has settled the steps whose workloads ended.
    findings.expect(
      workload === undefined || workload.spec.team === pipeline.team,
      () => `run ${id} runs ${step} in team ${workload?.spec.team}`,
    );
  }
}
