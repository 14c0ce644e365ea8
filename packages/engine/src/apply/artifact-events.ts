/** The registry of artifacts: names, versions, aliases. Names and versions are replaced, never modified in place. */
import {
  ALIAS_MOVES_KEPT,
  DELETED_VERSIONS_KEPT,
  artifactKey,
  artifactTitle,
  invariant,
  unreachable,
  versionId,
} from "@headroom/model";
import type {
  AliasMove,
  Artifact,
  ArtifactAlias,
  ArtifactChange,
  ArtifactEvent,
  ArtifactNote,
  ArtifactPlace,
  ArtifactVersion,
  EventOf,
} from "@headroom/model";
import { asProduced } from "../state/find-artifact.ts";
import type { State } from "../state/mutable-state.ts";
import { wakeForVersion } from "./store-events.ts";
import { meetDependencies, touchedWorkload, withArtifact } from "./writable.ts";
import type { Appliers, WritableWorld } from "./writable.ts";

/** Changes of what a notation names, or of where it is. */
const MOVES: ReadonlySet<ArtifactChange["kind"]> = new Set(["alias", "place", "delete", "restore"]);

export const artifactEvents: Appliers<ArtifactEvent> = {
  artifactRegistered(world, { artifact, atMs }) {
    const { state } = world;
    const { kind, team, name, number } = artifact;
    const known = state.artifacts.get(artifactKey(artifact));
    invariant(number > (known?.lastNumber ?? 0), `version ${number} of ${artifactKey(artifact)} is not a new one`);
    const { aliases = [], numbers = [] } = known ?? {};
    setArtifact(state, { ...known, kind, team, name, lastNumber: number, aliases, numbers: [...numbers, number] });
    const version = { ...artifact, id: versionId(artifact, number), registeredAtMs: atMs };
    setVersion(state, version);
    if (artifact.producer !== undefined) give(world, version, atMs);
    wakeForVersion(world);
  },
  artifactNotRegistered() {
    // The record for the user; work that waits for the artifact is cancelled with the end of the workload.
  },
  artifactChanged(world, event) {
    const artifact = world.state.artifacts.get(event.artifact);
    invariant(artifact !== undefined, `no artifact ${event.artifact}`);
    change(world.state, artifact, event);
    if (MOVES.has(event.change.kind)) wakeForVersion(world);
  },
};

function setArtifact(state: State, artifact: Artifact): void {
  const digested = { ...artifact, revision: state.sequence, digestRevision: 0, digestLanes: null };
  state.artifacts.set(artifactKey(artifact), digested);
}

function setVersion(state: State, version: ArtifactVersion): void {
  state.artifactVersions.set(version.id, {
    ...version,
    revision: state.sequence,
    digestRevision: 0,
    digestLanes: null,
  });
}

/** The version is an artifact of the workload that made it, and work that waits for it may start. */
function give(world: WritableWorld, version: ArtifactVersion, atMs: number): void {
  if (version.producer === undefined) return;
  const workload = touchedWorkload(world, version.producer.workloadId);
  const name = artifactTitle(version);
  const given = asProduced(name, version);
  workload.artifacts = withArtifact(workload.artifacts, given);
  meetDependencies(
    world,
    world.dependents.get(workload.id) ?? [],
    (wait) => wait.workloadId === workload.id && wait.on === "artifact" && wait.artifact === name,
    { atMs, given },
  );
}

function change(state: State, artifact: Artifact, event: EventOf<"artifactChanged">): void {
  const { change: made, actor, reason, atMs } = event;
  const note: ArtifactNote = { atMs, actor, reason };
  switch (made.kind) {
    case "alias":
      return setArtifact(state, { ...artifact, aliases: withAlias(artifact.aliases, made, note) });
    case "retention": {
      const { keepVersions: _earlier, ...rest } = artifact;
      const { keepVersions } = made;
      return setArtifact(state, keepVersions === null ? rest : { ...rest, keepVersions });
    }
    case "gate":
      return setArtifact(state, withGate(artifact, made));
    case "delete":
      return deleteVersion(state, artifact, made.number, note);
    case "restore":
      return restoreVersion(state, artifact, made.number);
    case "tags":
    case "place":
    case "hold":
    case "release":
      return setVersion(state, changed(versionOf(state, artifact, made.number), made, note));
    default:
      unreachable(made);
  }
}

function withGate(
  { gates = {}, ...rest }: Artifact,
  { alias, gate }: ArtifactChange & { readonly kind: "gate" },
): Artifact {
  const { [alias]: _earlier, ...others } = gates;
  const left = gate === null ? others : { ...others, [alias]: gate };
  return Object.keys(left).length === 0 ? rest : { ...rest, gates: left };
}

function versionOf({ artifactVersions }: State, artifact: Artifact, number: number): ArtifactVersion {
  const version = artifactVersions.get(versionId(artifact, number));
  invariant(version !== undefined, `no version ${versionId(artifact, number)}`);
  return version;
}

function withAlias(
  aliases: readonly ArtifactAlias[],
  { alias, number }: ArtifactChange & { readonly kind: "alias" },
  note: ArtifactNote,
): readonly ArtifactAlias[] {
  const known = aliases.find((each) => each.alias === alias);
  const move: AliasMove = { ...note, number };
  const changedAlias = { alias, number, moves: [...(known?.moves ?? []), move].slice(-ALIAS_MOVES_KEPT) };
  return known === undefined
    ? [...aliases, changedAlias]
    : aliases.map((each) => (each === known ? changedAlias : each));
}

type VersionChange = ArtifactChange & { readonly kind: "tags" | "place" | "hold" | "release" };

function changed(version: ArtifactVersion, made: VersionChange, note: ArtifactNote): ArtifactVersion {
  switch (made.kind) {
    case "tags":
      return { ...version, tags: withTags(version.tags, made.tags) };
    case "place":
      return { ...version, places: withPlace(version.places, made) };
    case "hold":
      return { ...version, hold: note };
    case "release": {
      const { hold: _hold, ...rest } = version;
      return rest;
    }
    default:
      return unreachable(made);
  }
}

const withTags = (
  known: ArtifactVersion["tags"] = {},
  tags: Readonly<Record<string, string | null>>,
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries({ ...known, ...tags }).filter((entry): entry is [string, string] => entry[1] !== null),
  );

function withPlace(
  places: readonly ArtifactPlace[],
  { place, removed }: ArtifactChange & { readonly kind: "place" },
): readonly ArtifactPlace[] {
  const others = places.filter(({ store, uri }) => store !== place.store || uri !== place.uri);
  return removed === true ? others : [...others, place];
}

/** The oldest deleted versions are forgotten, so that retention bounds the state. */
function deleteVersion(state: State, artifact: Artifact, number: number, note: ArtifactNote): void {
  setVersion(state, { ...versionOf(state, artifact, number), deleted: note });
  const deleted = [...(artifact.deletedNumbers ?? []), number];
  for (const forgotten of deleted.slice(0, -DELETED_VERSIONS_KEPT))
    state.artifactVersions.delete(versionId(artifact, forgotten));
  const numbers = artifact.numbers.filter((each) => each !== number);
  setArtifact(state, { ...artifact, numbers, deletedNumbers: deleted.slice(-DELETED_VERSIONS_KEPT) });
}

function restoreVersion(state: State, artifact: Artifact, number: number): void {
  const { deleted: _deleted, ...version } = versionOf(state, artifact, number);
  setVersion(state, version);
  const { deletedNumbers = [], ...rest } = artifact;
  const left = deletedNumbers.filter((each) => each !== number);
  const numbers = [...artifact.numbers, number].toSorted((a, b) => a - b);
  setArtifact(state, { ...rest, numbers, ...(left.length === 0 ? {} : { deletedNumbers: left }) });
}
