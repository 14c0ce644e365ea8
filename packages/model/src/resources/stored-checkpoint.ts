/**
 * Checkpoints of a workload in the store that it names. They are versions of the artifact `checkpoint:NAME`, so the registry
 * has their places, digests and history; this file derives the name and the rule by which they are kept.
 */
import { artifactKey, type ArtifactName, type ArtifactVersion } from "./artifact.ts";
import type { WorkloadId } from "./ids.ts";
import type { WorkloadSpec } from "./workload.ts";

/** Stored checkpoints that are kept by default: the newest, and two before it in case it is of no use to the work. */
export const CHECKPOINTS_KEPT = 3;

/** Stored checkpoints of one workload that are kept by all parts of the rule together. */
export const CHECKPOINTS_KEPT_MAX = 1_000;

const NAME_CHARS_MAX = 63;

/** The artifact whose versions are the stored checkpoints. Names of workloads can have characters that names of artifacts cannot. */
export function checkpointArtifact({ name, team }: Pick<WorkloadSpec, "name" | "team">): ArtifactName {
  const plain = name.replaceAll(/[^A-Za-z0-9_-]/g, "-");
  return { kind: "checkpoint", team, name: (/^[A-Za-z]/.test(plain) ? plain : `w-${plain}`).slice(0, NAME_CHARS_MAX) };
}

interface CheckpointRegistry {
  readonly artifacts: { get(key: string): { readonly numbers: readonly number[] } | undefined };
  readonly artifactVersions: { get(id: string): ArtifactVersion | undefined };
}

/** Stored checkpoints of the workload with bytes in a store, oldest first. A run with the same name has its own. */
export function storedCheckpoints(
  { artifacts, artifactVersions }: CheckpointRegistry,
  spec: Pick<WorkloadSpec, "name" | "team">,
  workloadId: WorkloadId,
): readonly ArtifactVersion[] {
  const key = artifactKey(checkpointArtifact(spec));
  return (artifacts.get(key)?.numbers ?? []).flatMap((number) => {
    const version = artifactVersions.get(`${key}@${number}`);
    if (version?.producer?.workloadId !== workloadId || version.producer.step === undefined) return [];
    return version.places.some(({ state }) => state === "verified") ? [version] : [];
  });
}

/** `min loss` or `max score` as its parts; `null`: no rule. */
export function bestOf(text: string | undefined): { readonly goal: "min" | "max"; readonly metric: string } | null {
  const [goal = "", ...rest] = (text ?? "").split(" ");
  const metric = rest.join(" ").trim();
  return (goal === "min" || goal === "max") && metric !== "" ? { goal, metric } : null;
}

type KeepRule = Pick<WorkloadSpec, "checkpointKeep" | "checkpointKeepEvery" | "checkpointKeepBest">;

/** Numbers of the versions that the rule keeps. `versions`: oldest first; the newest is always kept. */
export function keptCheckpoints(versions: readonly ArtifactVersion[], rule: KeepRule): ReadonlySet<number> {
  const newest = versions.slice(-Math.max(1, rule.checkpointKeep ?? CHECKPOINTS_KEPT));
  const every = rule.checkpointKeepEvery ?? 0;
  const nth = every < 1 ? [] : versions.filter(({ producer }) => (producer?.step ?? 1) % every === 0);
  const kept = [...nth.slice(-CHECKPOINTS_KEPT_MAX), ...bestVersion(versions, rule), ...newest];
  return new Set(kept.map(({ number }) => number));
}

/** The first of equal ones, so that a later checkpoint that is no better replaces none. */
function bestVersion(
  versions: readonly ArtifactVersion[],
  { checkpointKeepBest }: KeepRule,
): readonly ArtifactVersion[] {
  const rule = bestOf(checkpointKeepBest);
  if (rule === null) return [];
  const sign = rule.goal === "min" ? 1 : -1;
  let best: { readonly version: ArtifactVersion; readonly value: number } | null = null;
  for (const version of versions) {
    const value = version.metrics?.[rule.metric];
    if (value !== undefined && (best === null || sign * value < sign * best.value)) best = { version, value };
  }
  return best === null ? [] : [best.version];
}
