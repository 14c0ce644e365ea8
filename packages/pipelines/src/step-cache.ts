/** The key under which the success of a step can be reused, and the success that is reused. */
import { artifactTitle, canonicalJson, hashText, parseArtifactRef, stepKey } from "@headroom/model";
import type { CachedStep, PipelineRun, PipelineStep, ProducedArtifact, StepRun, TeamName } from "@headroom/model";
import { paramsOf, workloadOfStep } from "./step-workload.ts";

/** A version of an artifact, as far as cache keys depend on it. */
export interface KnownVersion {
  readonly id: string;
  /** `null`: the bytes were not read. */
  readonly digest: string | null;
}

export interface CacheFacts {
  cached(key: string): CachedStep | null;
  /** The version that a notation or an id names for the team now; `null`: there is none, or it is deleted. */
  versionOf(team: TeamName, text: string): KnownVersion | null;
}

/** The cache key of a step, and the earlier success under it. */
export interface Reuse {
  readonly cacheKey: string;
  /** `null`: the step has to run. */
  readonly cached: CachedStep | null;
}

/** `null`: the step is not cached. */
export function reuseOf(
  run: PipelineRun,
  step: PipelineStep,
  own: StepRun,
  { upstream, facts }: { readonly upstream: readonly StepRun[]; readonly facts: CacheFacts },
): Reuse | null {
  if (step.cache !== true) return null;
  const { team } = run.pipeline;
  const cacheKey = cacheKeyOf(run, step, own, { upstream, versionOf: (text) => facts.versionOf(team, text) });
  const cached = run.force ? null : facts.cached(cacheKey);
  // A success whose results were deleted since has nothing that a later step could use.
  const isWhole = cached?.artifacts.every(
    ({ version }) => version === undefined || facts.versionOf(team, version) !== null,
  );
  return { cacheKey, cached: isWhole === true ? cached : null };
}

interface StepInputs {
  readonly upstream: readonly StepRun[];
  versionOf(text: string): KnownVersion | null;
}

/**
 * Digest of all that the result of a step depends on: command, directory, image, environment, size, version of the code,
 * parameters, item, and inputs. Places, priorities and limits are left out.
 *
 * Registered versions count by the digest of their bytes, so that a moved alias is a change and a version with equal bytes
 * is not. Other results of steps count as equal only if the same workload made them: a path does not say whether its
 * content changed.
 */
function cacheKeyOf(run: PipelineRun, step: PipelineStep, own: StepRun, { upstream, versionOf }: StepInputs): string {
  const { pipeline } = run;
  const spec = workloadOfStep(run, step, own);
  const { kind, run: command, dir, gang, image, data, produces = [] } = spec;
  const { throughputMilli: _curve, ...size } = gang;
  const key = {
    team: pipeline.team,
    pipeline: pipeline.name,
    step: step.name,
    version: pipeline.version ?? null,
    kind,
    command,
    dir,
    ...(image === undefined ? {} : { image }),
    env: step.spec?.env ?? {},
    size,
    tasks: spec.kind === "batch" ? spec.taskCount : null,
    produces,
    data:
      data?.inputs === undefined
        ? (data ?? null)
        : { ...data, inputs: data.inputs.map((text) => inputText(text, versionOf(text))) },
    params: paramsOf(run, step),
    item: own.item,
    inputs: upstream.flatMap((before) => resultsOf(before, versionOf)),
  };
  return hashText(canonicalJson(key));
}

/** The name stays in the key, because the workload gets the path in a variable that is named after it. */
function inputText(text: string, version: KnownVersion | null): string {
  const ref = parseArtifactRef(text);
  return ref === null || version === null ? text : `${artifactTitle(ref)} ${version.digest ?? version.id}`;
}

/** A step before this one by the bytes of its results, or else by the workload that made them. */
function resultsOf(
  { step, index, workloadId, artifacts }: StepRun,
  versionOf: StepInputs["versionOf"],
): readonly (readonly [string, unknown])[] {
  if (workloadId === null) return [];
  const contents = artifacts.map((artifact) => contentOf(artifact, versionOf));
  // Only registered versions say that the step states its results; a reported number can come with files beside it.
  const isStated = artifacts.some(({ version }) => version !== undefined) && !contents.includes(null);
  return [[stepKey(step, index), isStated ? contents : workloadId]];
}

function contentOf(
  { name, path, version }: ProducedArtifact,
  versionOf: StepInputs["versionOf"],
): readonly string[] | null {
  if (version === undefined) return path.startsWith("data:") ? [name, path] : null;
  const digest = versionOf(version)?.digest ?? null;
  return digest === null ? null : [name, digest];
}
