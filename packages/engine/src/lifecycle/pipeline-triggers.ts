/**
 * New versions of artifacts and moved aliases start pipelines. A run is created in the group of the event that caused it, so a
 * crash neither loses nor repeats it.
 */
import { ARTIFACT_PARAM, TRIGGER_DEPTH_MAX, nameOfId, parseArtifactRef } from "@headroom/model";
import type { ArtifactName, PipelineRun, PipelineSpec, PipelineTrigger, RunTrigger, WorkloadId } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import type { World } from "../cluster/world.ts";
import { createRun, triggeredAdmissionFailure } from "./pipelines.ts";

type ArtifactCause =
  | { readonly kind: "artifact"; readonly version: string }
  | { readonly kind: "alias"; readonly version: string; readonly alias: string };

/** The run whose step is this workload; `null`: it is none of a pipeline. */
export function runOfWorkload({ pipelines, state }: World, workloadId: WorkloadId): PipelineRun | null {
  const id = pipelines.runOf(workloadId);
  return id === null ? null : (state.pipelineRuns.get(id) ?? null);
}

/** `by`: the run whose step made the version or moved the alias. */
export function triggerPipelines(batch: Batch, cause: ArtifactCause, by: PipelineRun | null): void {
  const { state } = batch.world;
  const name = nameOfId(cause.version);
  if (name === null || state.pipelines.size === 0) return;
  const depth = by === null ? 0 : depthOf(by.trigger) + 1;
  for (const { pipeline, actor } of Array.from(state.pipelines.values()))
    if (pipeline.triggers?.some((trigger) => isFor(pipeline, trigger, cause, name)) === true)
      start(batch, { pipeline, actor }, { ...cause, depth });
}

const depthOf = (trigger: RunTrigger): number => ("depth" in trigger ? trigger.depth : 0);

function isFor({ team }: PipelineSpec, trigger: PipelineTrigger, cause: ArtifactCause, name: ArtifactName): boolean {
  if (trigger.kind !== "artifact" && trigger.kind !== "alias") return false;
  if (trigger.kind !== cause.kind) return false;
  const ref = parseArtifactRef(trigger.kind === "artifact" ? trigger.artifact : trigger.alias);
  if (ref === null || ref.kind !== name.kind || ref.name !== name.name || (ref.team ?? team) !== name.team)
    return false;
  return cause.kind === "artifact" || (ref.at?.kind === "alias" && ref.at.alias === cause.alias);
}

function start(
  batch: Batch,
  { pipeline, actor }: { readonly pipeline: PipelineSpec; readonly actor: string },
  trigger: RunTrigger & { readonly depth: number; readonly version: string },
): void {
  const params = pipeline.params.some(({ name }) => name === ARTIFACT_PARAM)
    ? { [ARTIFACT_PARAM]: trigger.version }
    : {};
  const failure =
    trigger.depth >= TRIGGER_DEPTH_MAX
      ? "pipelines trigger each other"
      : (triggeredAdmissionFailure(batch.world.state, pipeline, params)?.code ?? null);
  if (failure === null) createRun(batch, { pipeline, params, force: false, actor }, trigger);
  else
    batch.emit({
      kind: "pipelineNotTriggered",
      version: 1,
      atMs: batch.nowMs,
      name: pipeline.name,
      trigger,
      left: failure,
    });
}
