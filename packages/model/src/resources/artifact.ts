/**
 * Artifacts: datasets, checkpoints, models, images and reports that have a name, versions and a history. A team owns a
 * name. Bytes stay with their stores; the registry records where they are, and their digest.
 *
 * The notation is `KIND:NAME@VERSION-or-ALIAS`: `model:chat@3`, `model:chat@production`, and `model:chat` for the newest
 * version. `model:research/nlp/chat` names the artifact of another team. This file is its only reader and writer.
 */
import type { AttemptId, TeamName, WorkloadId } from "./ids.ts";

export const ARTIFACT_KINDS = ["dataset", "checkpoint", "model", "image", "report"] as const;
export type ArtifactKind = (typeof ARTIFACT_KINDS)[number];

/** A name, in the team that owns it. */
export interface ArtifactName {
  readonly kind: ArtifactKind;
  readonly team: TeamName;
  readonly name: string;
}

/** A version of an artifact. `at: null`: the newest one that is not deleted. */
export interface ArtifactRef {
  readonly kind: ArtifactKind;
  /** `null`: the team of the work, or of the reader. */
  readonly team: TeamName | null;
  readonly name: string;
  readonly at: ArtifactPointer | null;
}

export type ArtifactPointer =
  | { readonly kind: "version"; readonly number: number }
  | { readonly kind: "alias"; readonly alias: string };

const ARTIFACT_NAME: RegExp = /^[A-Za-z][A-Za-z0-9_-]{0,62}$/;
/** An alias begins with a letter, so that no alias looks like a version. */
const ARTIFACT_ALIAS: RegExp = /^[A-Za-z][A-Za-z0-9._-]{0,62}$/;
/** The alias of the newest version. No command moves it. */
const NEWEST_ALIAS = "latest";

const VERSION = /^[1-9][0-9]{0,8}$/;
const TEAM_PATH = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}(?:\/[A-Za-z0-9][A-Za-z0-9._-]{0,62}){0,15}$/;

/** Reads the notation. `null`: the text is not in it, like a path, a URI or another name of data. */
export function parseArtifactRef(text: string): ArtifactRef | null {
  const colon = text.indexOf(":");
  const kind = ARTIFACT_KINDS.find((each) => each === text.slice(0, Math.max(0, colon)));
  if (kind === undefined) return null;
  const [full = "", pointer, further] = text.slice(colon + 1).split("@");
  if (further !== undefined) return null;
  const slash = full.lastIndexOf("/");
  const team = slash < 0 ? null : (full.slice(0, slash) as TeamName);
  const name = full.slice(slash + 1);
  const at = pointerOf(pointer);
  if (at === undefined || !ARTIFACT_NAME.test(name) || (team !== null && !TEAM_PATH.test(team))) return null;
  return { kind, team, name, at };
}

function pointerOf(text: string | undefined): ArtifactPointer | null | undefined {
  if (text === undefined || text === NEWEST_ALIAS) return null;
  if (VERSION.test(text)) return { kind: "version", number: Number(text) };
  return ARTIFACT_ALIAS.test(text) ? { kind: "alias", alias: text } : undefined;
}

/** Whether a text that a workload reports or declares as an artifact is registered under its name. */
export const isRegistered = (name: string): boolean => name.includes(":");

/** The notation of a name without its team, as a workload of the team writes it. */
export const artifactTitle = ({ kind, name }: Pick<ArtifactName, "kind" | "name">): string => `${kind}:${name}`;

/** The key of a name in the state, which is its full notation. */
export const artifactKey = ({ kind, team, name }: ArtifactName): string => `${kind}:${team}/${name}`;

/** The id of a version, which is its full notation. */
export const versionId = (artifact: ArtifactName, number: number): string => `${artifactKey(artifact)}@${number}`;

/** Reads an id or key that `versionId` or `artifactKey` wrote; `null`: the text is neither. */
export function nameOfId(id: string): ArtifactName | null {
  const ref = parseArtifactRef(id);
  return ref === null || ref.team === null ? null : { kind: ref.kind, team: ref.team, name: ref.name };
}

/** `s3://bucket/key`, `file:///path`, or a path, in a store. The state is what the store was last seen to have. */
export interface ArtifactPlace {
  /** Name of the store; `local`: the file system of the executor. */
  readonly store: string;
  readonly uri: string;
  /** `verified`: bytes with the digest of the version were read there. `declared`: stated, and not read. */
  readonly state: "verified" | "declared" | "missing";
}

/** The attempt that made a version. */
export interface ArtifactProducer {
  readonly workloadId: WorkloadId;
  readonly workload: string;
  readonly attemptId: AttemptId;
  readonly task: number;
  /** Step of the run, for a checkpoint. */
  readonly step?: number;
}

/** The properties of a version that its registration states. */
export interface ArtifactContent {
  /** `sha256:` and 64 hexadecimal digits; `null`: the bytes were not read. */
  readonly digest: string | null;
  readonly bytes: number | null;
  /** The rule of the data, as in `data.rule` of a workload. */
  readonly rule?: string;
  readonly places: readonly ArtifactPlace[];
  /** Ids of versions, and names of data sets that no registry knows. */
  readonly inputs: readonly string[];
  readonly metrics?: Readonly<Record<string, number>>;
  readonly parameters?: Readonly<Record<string, string>>;
}

export interface ArtifactVersion extends ArtifactName, ArtifactContent {
  readonly id: string;
  readonly number: number;
  readonly registeredAtMs: number;
  /** The user who registered it, or who submitted the workload that made it. */
  readonly actor: string;
  /** Absent: it was registered by a user, and not made by an attempt. */
  readonly producer?: ArtifactProducer;
  readonly tags?: Readonly<Record<string, string>>;
  /** A legal hold: the version is not deleted while it stands. Absent: none. */
  readonly hold?: ArtifactNote;
  /** Absent: the version is not deleted. */
  readonly deleted?: ArtifactNote;
}

/** An act of a user, or of the retention of the name (`actor` is null). */
export interface ArtifactNote {
  readonly atMs: number;
  readonly actor: string | null;
  readonly reason: string;
}

export interface AliasMove extends ArtifactNote {
  /** `null`: the alias was removed. */
  readonly number: number | null;
}

export interface ArtifactAlias {
  readonly alias: string;
  readonly number: number | null;
  /** The newest moves, oldest first, at most `ALIAS_MOVES_KEPT`. */
  readonly moves: readonly AliasMove[];
}

/** A condition on a metric of the version to which an alias is to point. */
export interface GateTest {
  readonly metric: string;
  readonly operator: "lt" | "le" | "gt" | "ge";
  /** `null`: that metric of the version to which the alias points now; if there is none, the test passes. */
  readonly value: number | null;
}

/** Conditions under which an alias is moved. At least one is stated. */
export interface AliasGate {
  readonly test?: GateTest;
  /** The move is a proposal that another user approves. Absent: whoever may change the artifact moves the alias. */
  readonly approval?: true;
}

/** A name with its aliases. Versions are numbered from 1 by a counter that never goes back. */
export interface Artifact extends ArtifactName {
  readonly lastNumber: number;
  /** Numbers of the versions that are not deleted, in ascending order. */
  readonly numbers: readonly number[];
  /** Numbers of the deleted versions that can be restored, in the order of their deletion. Absent: none. */
  readonly deletedNumbers?: readonly number[];
  readonly aliases: readonly ArtifactAlias[];
  /** Gates by alias. Absent: none. */
  readonly gates?: Readonly<Record<string, AliasGate>>;
  /** Number of versions that are kept besides those in use; absent: all. */
  readonly keepVersions?: number;
}

export type ArtifactChange =
  /** `number: null`: the alias is removed. */
  | { readonly kind: "alias"; readonly alias: string; readonly number: number | null }
  /** `null` removes a tag. */
  | { readonly kind: "tags"; readonly number: number; readonly tags: Readonly<Record<string, string | null>> }
  | { readonly kind: "place"; readonly number: number; readonly place: ArtifactPlace; readonly removed?: true }
  | { readonly kind: "hold"; readonly number: number }
  | { readonly kind: "release"; readonly number: number }
  | { readonly kind: "delete"; readonly number: number }
  | { readonly kind: "restore"; readonly number: number }
  /** `null`: every version is kept. */
  | { readonly kind: "retention"; readonly keepVersions: number | null }
  /** `null`: the alias has no gate any more. */
  | { readonly kind: "gate"; readonly alias: string; readonly gate: AliasGate | null };

/** Maximum number of names and of versions. A version with a few places takes about a kilobyte of memory. */
export const ARTIFACTS_MAX = 50_000;
export const VERSIONS_MAX = 500_000;
export const VERSIONS_OF_NAME_MAX = 10_000;
export const PLACES_MAX = 128;
export const ALIASES_MAX = 64;
export const ALIAS_MOVES_KEPT = 50;
/** Maximum number of metrics, of parameters, and of tags of one version. */
export const ARTIFACT_FIELDS_MAX = 64;
/** Deleted versions of one name that can be restored; older ones are forgotten. */
export const DELETED_VERSIONS_KEPT = 100;
