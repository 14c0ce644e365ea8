/** The version that a notation names, and what depends on a version. */
import { artifactKey, parseArtifactRef, versionId } from "@headroom/model";
import type {
  Artifact,
  ArtifactName,
  ArtifactPointer,
  ArtifactRef,
  ArtifactVersion,
  ProducedArtifact,
  TeamName,
  Workload,
} from "@headroom/model";
import type { ReadonlyState } from "./state.ts";

type Registry = Pick<ReadonlyState, "artifacts" | "artifactVersions">;

/** The version of a notation that a workload of the team uses; `null`: there is none, or it is deleted. */
export function findVersion(state: Registry, team: TeamName, ref: ArtifactRef): ArtifactVersion | null {
  const artifact = state.artifacts.get(artifactKey({ ...ref, team: ref.team ?? team }));
  if (artifact === undefined) return null;
  const number = numberAt(artifact, ref.at);
  const version = number === null ? undefined : state.artifactVersions.get(versionId(artifact, number));
  return version === undefined || version.deleted !== undefined ? null : version;
}

function numberAt({ numbers, aliases }: Artifact, at: ArtifactPointer | null): number | null {
  if (at === null) return numbers.at(-1) ?? null;
  if (at.kind === "version") return at.number;
  return aliases.find(({ alias }) => alias === at.alias)?.number ?? null;
}

/** As `findVersion`, for a text; `null` also if the text is no notation of an artifact. */
export function findVersionOf(state: Registry, team: TeamName, text: string): ArtifactVersion | null {
  const ref = parseArtifactRef(text);
  return ref === null ? null : findVersion(state, team, ref);
}

/** A version as work gets it, under the name that it uses. */
export const asProduced = (name: string, { id, places }: ArtifactVersion): ProducedArtifact => ({
  name,
  path: places[0]?.uri ?? "",
  version: id,
});

/** Names of the things that depend on a version: aliases, versions that were made from it, and work that has not ended. */
export function usersOf(state: ReadonlyState, name: ArtifactName, number: number): readonly string[] {
  const id = versionId(name, number);
  const aliases = state.artifacts.get(artifactKey(name))?.aliases ?? [];
  const users = aliases.filter((each) => each.number === number).map(({ alias }) => `alias ${alias}`);
  for (const { id: other, inputs, deleted } of state.artifactVersions.values())
    if (deleted === undefined && inputs.includes(id)) users.push(other);
  for (const workload of state.workloads.values())
    if (givenTo(workload).some(({ version }) => version === id)) users.push(`workload ${workload.id}`);
  return users;
}

/** Ids of versions that something depends on, as in `usersOf`: one walk over the registry for many versions. */
export function usedVersions({ artifactVersions, workloads }: ReadonlyState, artifact: Artifact): ReadonlySet<string> {
  const used = new Set<string>();
  for (const { number } of artifact.aliases) if (number !== null) used.add(versionId(artifact, number));
  for (const { inputs, deleted } of artifactVersions.values())
    if (deleted === undefined) for (const input of inputs) used.add(input);
  for (const workload of workloads.values())
    for (const { version } of givenTo(workload)) if (version !== undefined) used.add(version);
  return used;
}

/** Artifacts that the attempts of work that has not ended get, those of a rollout included. */
const givenTo = ({ endedAtMs, given = [], rollout }: Workload): readonly ProducedArtifact[] =>
  endedAtMs !== null ? [] : rollout?.given === undefined ? given : [...given, ...rollout.given];
