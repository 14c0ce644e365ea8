/** Artifacts as resources of the API, and its requests as commands. */
import { DEFAULT_TEAM, findVersion, usersOf } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import { artifactKey, artifactTitle, nameOfId, parseArtifactRef, teamName, versionId } from "@headroom/model";
import type {
  Artifact,
  ArtifactChange,
  ArtifactName,
  ArtifactRef,
  ArtifactVersion as EngineVersion,
  Command,
} from "@headroom/model";
import { PAGE_ITEMS_DEFAULT, refuse } from "@headroom/protocol";
import type {
  ArtifactChangeRequest,
  ArtifactGateRequest,
  QueryFor,
  ArtifactPage,
  ArtifactRequest,
  ArtifactResource,
  ArtifactVersion,
  ArtifactVersionPage,
  ArtifactVersionSummary,
  PageRequest,
} from "@headroom/protocol";
import { refusedCursor } from "./page-cursor.ts";
import { isReadable, teamOfWork } from "./readable-teams.ts";
import type { ReadableTeams } from "./readable-teams.ts";

type Registry = Pick<ReadonlyState, "artifacts" | "artifactVersions">;

export const absentArtifact = (text: string): Error =>
  refuse("unknownArtifact", `There is no artifact ${text}, or it is deleted.`);

export interface FoundArtifact {
  readonly artifact: Artifact;
  readonly ref: ArtifactRef;
  /** The notation, as the reader wrote it. */
  readonly text: string;
}

/**
 * The artifact of a notation, among those of the reader's teams. Without a team, it is the only one of that kind and
 * name. Throws a problem if there is none, or several.
 */
export function findArtifact({ artifacts }: Registry, text: string, readable: ReadableTeams): FoundArtifact {
  const ref = parseArtifactRef(text);
  if (ref === null) throw absentArtifact(text);
  if (ref.team !== null) {
    const artifact = isReadable(readable, ref.team)
      ? artifacts.get(artifactKey({ ...ref, team: ref.team }))
      : undefined;
    if (artifact === undefined) throw absentArtifact(text);
    return { artifact, ref, text };
  }
  const found = [...artifacts.values()].filter(
    ({ kind, name, team }) => kind === ref.kind && name === ref.name && isReadable(readable, team),
  );
  const [artifact] = found;
  if (artifact === undefined) throw absentArtifact(text);
  if (found.length > 1)
    throw refuse(
      "ambiguousArtifact",
      `Several teams have an artifact ${text}. Name the team: ${found
        .slice(0, 5)
        .map((each) => artifactKey(each))
        .join(", ")}.`,
    );
  return { artifact, ref, text };
}

/** Artifacts of the reader's teams, in the order of their first version. The cursor is the position in the registry. */
export function artifactList(
  state: Registry,
  { kind, team, search, cursor, limit = PAGE_ITEMS_DEFAULT }: QueryFor<"listArtifacts">,
  readable: ReadableTeams,
): ArtifactPage {
  const start = positionAfter(cursor);
  const items: ArtifactResource[] = [];
  let position = 0;
  for (const artifact of state.artifacts.values()) {
    if (++position <= start || !isListed(artifact, { kind, team, search }, readable)) continue;
    if (items.length === limit) return { items, nextCursor: String(position - 1) };
    items.push(artifactResource(state, artifact));
  }
  return { items, nextCursor: null };
}

function positionAfter(cursor: string | null | undefined): number {
  if (cursor === null || cursor === undefined) return 0;
  if (!/^[0-9]{1,9}$/.test(cursor)) throw refusedCursor(cursor);
  return Number(cursor);
}

const isListed = (
  artifact: Artifact,
  { kind, team, search }: Pick<QueryFor<"listArtifacts">, "kind" | "team" | "search">,
  readable: ReadableTeams,
): boolean =>
  isReadable(readable, artifact.team) &&
  (kind === undefined || artifact.kind === kind) &&
  (team === undefined || artifact.team === team) &&
  (search === undefined || artifact.name.includes(search));

export function artifactResource({ artifactVersions }: Registry, artifact: Artifact): ArtifactResource {
  const { kind, team, name, numbers, keepVersions = null, aliases, gates } = artifact;
  const newest = artifactVersions.get(versionId(artifact, numbers.at(-1) ?? 0));
  return {
    key: artifactKey(artifact),
    ref: artifactTitle(artifact),
    kind,
    team,
    name,
    versionCount: numbers.length,
    keepVersions,
    aliases: aliases.map(({ alias, number, moves }) => ({ alias, number, moves: moves.map((move) => ({ ...move })) })),
    gates: { ...gates },
    newest: newest === undefined ? null : versionSummary(artifact, newest),
  };
}

function versionSummary(artifact: Artifact, version: EngineVersion): ArtifactVersionSummary {
  const { id, kind, team, name, number, digest, bytes, registeredAtMs, actor } = version;
  const aliases = artifact.aliases.filter((each) => each.number === number).map(({ alias }) => alias);
  const state = { held: version.hold !== undefined, deleted: version.deleted !== undefined };
  const ref = `${artifactTitle(version)}@${number}`;
  const { step } = version.producer ?? {};
  const summary = { id, ref, kind, team, name, number, digest, bytes, registeredAtMs, actor, aliases, ...state };
  return step === undefined ? summary : { ...summary, step };
}

/** Versions of an artifact, newest first. The cursor is the number of the last version of a page. */
export function versionList(
  { artifactVersions }: Registry,
  artifact: Artifact,
  { cursor, limit = PAGE_ITEMS_DEFAULT, deleted }: PageRequest & { readonly deleted?: boolean | undefined },
): ArtifactVersionPage {
  const before = cursor === null || cursor === undefined ? Number.POSITIVE_INFINITY : positionAfter(cursor);
  const numbers = [...artifact.numbers, ...(deleted === true ? (artifact.deletedNumbers ?? []) : [])]
    .filter((number) => number < before)
    .toSorted((left, right) => right - left);
  const items = numbers.slice(0, limit).flatMap((number) => {
    const version = artifactVersions.get(versionId(artifact, number));
    return version === undefined ? [] : [versionSummary(artifact, version)];
  });
  return { items, nextCursor: numbers.length > limit ? String(items.at(-1)?.number ?? 0) : null };
}

const USERS_SHOWN_MAX = 100;

export function versionView(state: ReadonlyState, found: FoundArtifact, readable: ReadableTeams): ArtifactVersion {
  const version = versionAt(state, found);
  const { rule, places, inputs, metrics = {}, parameters = {}, tags = {}, producer, hold, deleted } = version;
  const users = usersOf(state, version, version.number).filter((user) => isSeenUser(state, user, readable));
  return {
    ...versionSummary(found.artifact, version),
    ...(rule === undefined ? {} : { rule }),
    places: places.map((place) => ({ ...place })),
    inputs: inputs.map((input) => (isSeenUser(state, input, readable) ? input : "hidden")),
    metrics: { ...metrics },
    parameters: { ...parameters },
    tags: { ...tags },
    producer: producer === undefined ? null : { ...producer },
    hold: hold === undefined ? null : { ...hold },
    deletion: deleted === undefined ? null : { ...deleted },
    usedBy: users.slice(0, USERS_SHOWN_MAX),
    usedByCount: users.length,
  };
}

/** Versions and work of teams that the reader may not see are left out. */
function isSeenUser(state: ReadonlyState, user: string, readable: ReadableTeams): boolean {
  const team = nameOfId(user)?.team ?? teamOfWork(state, user.replace(/^workload /, ""));
  return team === null || isReadable(readable, team);
}

/** The version of a notation. With a number, it may be a deleted one. Throws a problem if there is none. */
export function versionAt(state: Registry, { artifact, ref, text }: FoundArtifact): EngineVersion {
  const version =
    ref.at?.kind === "version"
      ? state.artifactVersions.get(versionId(artifact, ref.at.number))
      : findVersion(state, artifact.team, ref);
  if (version === undefined || version === null) throw absentArtifact(text);
  return version;
}

type CommandBody<Kind extends Command["kind"]> = Omit<
  Command & { readonly kind: Kind },
  "commandId" | "actor" | "idempotencyKey"
>;

export function registerArtifactCommand({
  kind,
  team,
  name,
  digest,
  bytes,
  rule,
  places,
  inputs,
  metrics,
  parameters,
  aliases = [],
  reason = "",
}: ArtifactRequest): CommandBody<"registerArtifact"> {
  return {
    kind: "registerArtifact",
    artifact: {
      kind,
      team: team === null ? DEFAULT_TEAM : teamName(team),
      name,
      digest,
      bytes,
      ...(rule === undefined ? {} : { rule }),
      places,
      inputs,
      ...(metrics === undefined ? {} : { metrics }),
      ...(parameters === undefined ? {} : { parameters }),
    },
    aliases,
    reason,
  };
}

export const changeArtifactCommand = (
  { kind, team, name }: ArtifactName,
  { change, reason = "" }: ArtifactChangeRequest,
): CommandBody<"changeArtifact"> => ({
  kind: "changeArtifact",
  artifact: { kind, team, name },
  change: change.kind === "place" ? placeChange(change) : change,
  reason,
});

export function gateCommand(
  { kind, team, name }: ArtifactName,
  alias: string,
  { gate, reason = "" }: ArtifactGateRequest,
): CommandBody<"changeArtifact"> {
  const { test, approval } = gate;
  const stated = { ...(test === undefined ? {} : { test }), ...(approval === undefined ? {} : { approval }) };
  const change = { kind: "gate", alias, gate: Object.keys(stated).length === 0 ? null : stated } as const;
  return { kind: "changeArtifact", artifact: { kind, team, name }, change, reason };
}

const placeChange = ({
  kind,
  number,
  place,
  removed,
}: ArtifactChangeRequest["change"] & { readonly kind: "place" }): ArtifactChange => ({
  kind,
  number,
  place,
  ...(removed === undefined ? {} : { removed }),
});
