/** The workload of a step, and the artifacts that it gets. */
import { artifactTitle, nameOfId, parseArtifactRef, stepKey } from "@headroom/model";
import type { ProducedArtifact, PipelineRun, PipelineStep, StepRun, WorkloadSpec } from "@headroom/model";

/** `lr-min` becomes `HEADROOM_PARAM_LR_MIN`. */
const variableOf = (name: string): string => `HEADROOM_PARAM_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}`;

/** The parameters that the step gets, with their values. */
export function paramsOf({ params }: PipelineRun, step: PipelineStep): Readonly<Record<string, string>> {
  const names = step.params ?? Object.keys(params);
  return Object.fromEntries(names.map((name) => [name, params[name] ?? ""]));
}

/**
 * The workload of a step. Parameters and the item are environment variables, never parts of the command line, so that no
 * value is run by a shell. Its name says the run and the step.
 */
export function workloadOfStep(run: PipelineRun, step: PipelineStep, { index, item }: StepRun): WorkloadSpec {
  const { spec } = step;
  if (spec === null) throw new TypeError(`the step ${step.name} has no workload`);
  const params = Object.entries(paramsOf(run, step)).map(([name, value]) => [variableOf(name), value] as const);
  const again = run.retryCount === 0 ? "" : `.r${run.retryCount}`;
  return {
    ...pinned(spec, run),
    name: `${run.id}.${step.name}${index === null ? "" : `.${index}`}${again}`,
    team: run.pipeline.team,
    env: {
      ...spec.env,
      ...Object.fromEntries(params),
      ...(item === null ? {} : { HEADROOM_ITEM: item, HEADROOM_ITEM_INDEX: String(index ?? 0) }),
      HEADROOM_PIPELINE: run.pipeline.name,
      HEADROOM_PIPELINE_RUN: run.id,
      HEADROOM_PIPELINE_STEP: stepKey(step.name, index),
    },
  };
}

/** Inputs without a version that name the artifact which started the run are those of the version that started it. */
function pinned(spec: WorkloadSpec, { trigger, pipeline }: PipelineRun): WorkloadSpec {
  if (trigger.kind !== "artifact" && trigger.kind !== "alias") return spec;
  const name = nameOfId(trigger.version);
  const { inputs } = spec.data ?? {};
  if (name === null || inputs === undefined) return spec;
  const isSame = (text: string): boolean => {
    const ref = parseArtifactRef(text);
    if (ref === null || ref.at !== null || artifactTitle(ref) !== artifactTitle(name)) return false;
    return (ref.team ?? pipeline.team) === name.team;
  };
  return { ...spec, data: { ...spec.data, inputs: inputs.map((text) => (isSame(text) ? trigger.version : text)) } };
}

/** The version of the artifact of an alias that the steps made; `null`: none. */
export function versionMade(alias: string, upstream: readonly StepRun[]): string | null {
  const ref = parseArtifactRef(alias);
  if (ref === null) return null;
  const title = artifactTitle(ref);
  const made = upstream.flatMap(({ artifacts }) => artifacts.filter(({ name }) => name === title));
  return made.findLast(({ version }) => version !== undefined)?.version ?? null;
}

/**
 * Artifacts of the steps before this one. Those of a step with a fan-out carry the number of the item: `part` becomes
 * `part-0`, `part-1` and so on.
 */
export const artifactsFor = (upstream: readonly StepRun[]): readonly ProducedArtifact[] =>
  upstream.flatMap(({ index, artifacts }) =>
    artifacts.map(({ name, path, version }) => ({
      name: index === null ? name : `${name}-${index}`,
      path,
      ...(version === undefined ? {} : { version }),
    })),
  );
