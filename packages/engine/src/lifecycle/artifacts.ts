/**
 * Registers versions of artifacts, on command and when the attempt that made one succeeds, and changes what the registry
 * knows about them. Bytes are never touched here: stores and executors report what they hold.
 */
import {
  ALIASES_MAX,
  ARTIFACTS_MAX,
  ARTIFACT_FIELDS_MAX,
  PLACES_MAX,
  VERSIONS_MAX,
  VERSIONS_OF_NAME_MAX,
  artifactKey,
  isRegistered,
  nameOfId,
  parseArtifactRef,
  unreachable,
  versionId,
} from "@headroom/model";
import type {
  ArtifactChange,
  ArtifactContent,
  ArtifactName,
  ArtifactProducer,
  Attempt,
  Command,
  PipelineRun,
  ProducedArtifact,
  Rejection,
  ReportedArtifact,
  Workload,
} from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { workloadOf } from "../cluster/entities.ts";
import { findVersion, usedVersions, usersOf } from "../state/find-artifact.ts";
import type { ReadonlyState } from "../state/state.ts";
import { gateRefusal } from "./alias-gates.ts";
import type { AliasTarget } from "./alias-gates.ts";
import { followAlias } from "./rollouts.ts";
import { done, refused } from "./decision.ts";
import { runOfWorkload, triggerPipelines } from "./pipeline-triggers.ts";
import type { Decision } from "./decision.ts";

type RegisterCommand = Command & { readonly kind: "registerArtifact" };
type ChangeCommand = Command & { readonly kind: "changeArtifact" };

export function registerArtifact(batch: Batch, command: RegisterCommand): Decision {
  const { state } = batch.world;
  const { artifact, aliases, actor, reason } = command;
  if (!state.teams.has(artifact.team)) return refused({ code: "unknownTeam", team: artifact.team });
  const full = registryFull(state, artifact) ?? tooManyParts(artifact) ?? tooManyAliases(state, artifact, aliases);
  if (full !== null) return refused(full);
  const inputs = resolvedInputs(state, artifact, artifact.inputs);
  if (inputs.kind === "refused") return refused(inputs.rejection);
  const gated = gatedAlias(state, artifact, aliases);
  if (gated !== null) return refused(gated);
  const number = recordVersion(batch, { ...artifact, inputs: inputs.ids }, { actor });
  for (const alias of aliases) changeVersion(batch, artifact, { kind: "alias", alias, number }, { actor, reason });
  return done({ kind: "artifactRegistered", artifact: versionId(artifact, number), number });
}

/** The refusal of an alias of a new version by its gate, or `null`. The version is not in the registry yet. */
function gatedAlias(
  state: ReadonlyState,
  artifact: ArtifactName & ArtifactContent,
  aliases: readonly string[],
): Rejection | null {
  const { metrics = {} } = artifact;
  const number = (state.artifacts.get(artifactKey(artifact))?.lastNumber ?? 0) + 1;
  const refusals = aliases.map((alias) => gateRefusal(state, artifact, { alias, number, metrics }, "user"));
  return refusals.find((refusal) => refusal !== null) ?? null;
}

/** Emits the new version, and deletes older ones by the retention of the name. */
export function recordVersion(
  batch: Batch,
  { kind, team, name, digest, bytes, rule, places, inputs, metrics, parameters }: ArtifactName & ArtifactContent,
  { actor, producer }: { readonly actor: string; readonly producer?: ArtifactProducer },
): number {
  const key = artifactKey({ kind, team, name });
  const number = (batch.world.state.artifacts.get(key)?.lastNumber ?? 0) + 1;
  batch.emit({
    kind: "artifactRegistered",
    version: 1,
    atMs: batch.nowMs,
    artifact: {
      kind,
      team,
      name,
      number,
      digest,
      bytes,
      ...(rule === undefined ? {} : { rule }),
      places,
      inputs,
      ...(metrics === undefined ? {} : { metrics }),
      ...(parameters === undefined ? {} : { parameters }),
      actor,
      ...(producer === undefined ? {} : { producer }),
    },
  });
  retain(batch, { kind, team, name });
  const run = producer === undefined ? null : runOfWorkload(batch.world, producer.workloadId);
  triggerPipelines(batch, { kind: "artifact", version: versionId({ kind, team, name }, number) }, run);
  return number;
}

/** Deletions of one registration. A lower retention takes effect over several registrations. */
const DELETED_AT_ONCE_MAX = 20;

function retain(batch: Batch, name: ArtifactName): void {
  const { state } = batch.world;
  const artifact = state.artifacts.get(artifactKey(name));
  if (artifact?.keepVersions === undefined || artifact.numbers.length <= artifact.keepVersions) return;
  const older = artifact.numbers.slice(0, -artifact.keepVersions);
  const used = usedVersions(state, artifact);
  const free = older.filter((number) => {
    const version = state.artifactVersions.get(versionId(name, number));
    return version?.hold === undefined && !used.has(versionId(name, number));
  });
  for (const number of free.slice(0, DELETED_AT_ONCE_MAX))
    changeVersion(batch, name, { kind: "delete", number }, { actor: null, reason: "retention" });
}

export function changeVersion(
  batch: Batch,
  name: ArtifactName,
  change: ArtifactChange,
  { actor, reason, run = null }: ChangeAuthor,
): void {
  const artifact = artifactKey(name);
  batch.emit({ kind: "artifactChanged", version: 2, atMs: batch.nowMs, artifact, change, actor, reason });
  if (change.kind === "alias" && actor !== null) followAlias(batch, name, { alias: change.alias, actor });
  if (change.kind === "alias" && change.number !== null)
    triggerPipelines(batch, { kind: "alias", version: versionId(name, change.number), alias: change.alias }, run);
}

interface ChangeAuthor {
  readonly actor: string | null;
  readonly reason: string;
  /** The run whose step makes the change. Absent: none. */
  readonly run?: PipelineRun | null;
}

/** The move of an alias (`model:chat@production`) to a version; `null`: there is no such version. */
export function moveOf(
  { artifactVersions }: Pick<ReadonlyState, "artifactVersions">,
  alias: string,
  version: string,
): { readonly name: ArtifactName; readonly target: AliasTarget } | null {
  const at = parseArtifactRef(alias)?.at;
  const [name, number] = [nameOfId(version), artifactVersions.get(version)?.number];
  if (at?.kind !== "alias" || name === null || number === undefined) return null;
  return { name, target: { alias: at.alias, number } };
}

/**
 * Moves an alias, for a step of a pipeline or an approved proposal. Returns the refusal, or `null`. An alias that points to
 * the version already stays, so that its endpoints and pipelines are not started once more.
 */
export function moveAlias(
  batch: Batch,
  { name, target, by }: { readonly name: ArtifactName; readonly target: AliasTarget; readonly by: "user" | "proposal" },
  author: ChangeAuthor,
): Rejection | null {
  const { state } = batch.world;
  const known = state.artifacts.get(artifactKey(name))?.aliases.find(({ alias }) => alias === target.alias);
  const isThere = (known?.number ?? null) === target.number;
  // A gate decides about moves, so it does not ask for the approval of none.
  const refusal = isThere ? refusalOf(state, name, { kind: "alias", ...target }) : moveRefusal(state, name, target, by);
  if (refusal === null && !isThere) changeVersion(batch, name, { kind: "alias", ...target }, author);
  return refusal;
}

/** The reason why the alias is not moved, its gate included, or `null`. */
export const moveRefusal = (
  state: ReadonlyState,
  name: ArtifactName,
  target: AliasTarget,
  by: "user" | "proposal",
): Rejection | null => refusalOf(state, name, { kind: "alias", ...target }) ?? gateRefusal(state, name, target, by);

export function registryFull({ artifacts, artifactVersions }: ReadonlyState, name: ArtifactName): Rejection | null {
  const known = artifacts.get(artifactKey(name));
  if (known === undefined && artifacts.size >= ARTIFACTS_MAX)
    return { code: "tooManyArtifacts", of: "artifacts", maxCount: ARTIFACTS_MAX };
  if ((known?.numbers.length ?? 0) >= VERSIONS_OF_NAME_MAX)
    return { code: "tooManyArtifacts", of: "versions", maxCount: VERSIONS_OF_NAME_MAX };
  if (artifactVersions.size >= VERSIONS_MAX)
    return { code: "tooManyArtifacts", of: "versions", maxCount: VERSIONS_MAX };
  return null;
}

const tooManyParts = ({ places }: ArtifactContent): Rejection | null =>
  places.length > PLACES_MAX ? { code: "tooManyArtifacts", of: "places", maxCount: PLACES_MAX } : null;

function tooManyAliases({ artifacts }: ReadonlyState, name: ArtifactName, added: readonly string[]): Rejection | null {
  const known = artifacts.get(artifactKey(name))?.aliases ?? [];
  const names = new Set([...known.map(({ alias }) => alias), ...added]);
  return names.size > ALIASES_MAX ? { code: "tooManyArtifacts", of: "aliases", maxCount: ALIASES_MAX } : null;
}

type ResolvedInputs =
  | { readonly kind: "resolved"; readonly ids: readonly string[] }
  | { readonly kind: "refused"; readonly rejection: Rejection };

/** Inputs in the notation as ids of versions; other names stay as they are. */
function resolvedInputs(
  state: ReadonlyState,
  { team }: Pick<ArtifactName, "team">,
  inputs: readonly string[],
): ResolvedInputs {
  const ids: string[] = [];
  for (const input of inputs) {
    const ref = parseArtifactRef(input);
    const version = ref === null ? null : findVersion(state, team, ref);
    if (ref !== null && version === null)
      return { kind: "refused", rejection: { code: "unknownArtifact", artifact: input } };
    ids.push(version?.id ?? input);
  }
  return { kind: "resolved", ids: [...new Set(ids)] };
}

export function changeArtifact(batch: Batch, { artifact: name, change, actor, reason }: ChangeCommand): Decision {
  const { state } = batch.world;
  const refusal = change.kind === "alias" ? moveRefusal(state, name, change, "user") : refusalOf(state, name, change);
  if (refusal !== null) return refused(refusal);
  changeVersion(batch, name, change, { actor, reason });
  const number = "number" in change ? change.number : null;
  return done({ kind: "artifactChanged", artifact: artifactKey(name), number });
}

function refusalOf(state: ReadonlyState, name: ArtifactName, change: ArtifactChange): Rejection | null {
  const known = state.artifacts.get(artifactKey(name));
  if (known === undefined) return { code: "unknownArtifact", artifact: artifactKey(name) };
  if (change.kind === "retention") return null;
  if (change.kind === "gate") return tooManyAliases(state, name, [change.alias, ...Object.keys(known.gates ?? {})]);
  if (change.kind === "alias" && change.number === null)
    return known.aliases.some(({ alias, number }) => alias === change.alias && number !== null)
      ? null
      : { code: "unknownArtifact", artifact: `${artifactKey(name)}@${change.alias}` };
  const number = change.number ?? 0;
  const id = versionId(name, number);
  const version = state.artifactVersions.get(id);
  const isDeleted = version?.deleted !== undefined;
  // The bytes of a deleted version can be removed, and then its place.
  const isGone = change.kind === "place" && (change.removed === true || change.place.state === "missing");
  const isOfDeleted = change.kind === "restore" || isGone;
  if (version === undefined || (isDeleted && !isOfDeleted)) return { code: "unknownArtifact", artifact: id };
  const unchanged: Rejection = { code: "artifactUnchanged", artifact: id, change: change.kind };
  switch (change.kind) {
    case "alias":
      return tooManyAliases(state, name, [change.alias]);
    case "tags":
      return Object.keys({ ...version.tags, ...change.tags }).length > ARTIFACT_FIELDS_MAX
        ? { code: "tooManyArtifacts", of: "tags", maxCount: ARTIFACT_FIELDS_MAX }
        : null;
    case "place":
      return change.removed !== true && version.places.length >= PLACES_MAX
        ? { code: "tooManyArtifacts", of: "places", maxCount: PLACES_MAX }
        : null;
    case "hold":
      return version.hold === undefined ? null : unchanged;
    case "release":
      return version.hold === undefined ? unchanged : null;
    case "delete":
      return deletionRefusal(state, name, number);
    case "restore":
      return isDeleted ? null : unchanged;
    default:
      return unreachable(change);
  }
}

/** Users of a version that a refusal lists. */
const USERS_LISTED_MAX = 5;

function deletionRefusal(state: ReadonlyState, name: ArtifactName, number: number): Rejection | null {
  const id = versionId(name, number);
  const hold = state.artifactVersions.get(id)?.hold;
  if (hold !== undefined) return { code: "artifactOnHold", artifact: id, actor: hold.actor ?? "", reason: hold.reason };
  const users = usersOf(state, name, number);
  if (users.length === 0) return null;
  return { code: "artifactInUse", artifact: id, by: users.slice(0, USERS_LISTED_MAX), count: users.length };
}

/**
 * Registers the artifacts that a successful attempt made, before its end is recorded: the attempt is active only once, so
 * each artifact gets one version, however often its end is reported.
 */
export function registerProduced(
  batch: Batch,
  workload: Workload,
  attempt: Attempt,
  reported: readonly ReportedArtifact[] = [],
): void {
  const { produces } = workload.spec;
  if (produces === undefined) return;
  for (const name of produces) {
    if (!isRegistered(name)) continue;
    const made = lastNamed(reported, name) ?? reportedBy(workload, attempt, name);
    if (made === undefined) miss(batch, attempt, name, "it was not reported");
    else if (made.problem !== undefined) miss(batch, attempt, name, made.problem);
    else registerMade(batch, { workload, attempt }, made);
  }
}

const lastNamed = (reported: readonly ReportedArtifact[], name: string): ReportedArtifact | undefined =>
  reported.findLast((each) => each.name === name);

interface Maker {
  readonly workload: Workload;
  readonly attempt: Attempt;
}

type Made = ReportedArtifact & { readonly step?: number };

/** The report of the attempt while it ran; for a checkpoint, the newest one that it wrote. */
function reportedBy({ artifacts, checkpoint }: Workload, { id }: Attempt, name: string): Made | undefined {
  const made = artifacts?.find((each: ProducedArtifact) => each.name === name && each.by === id);
  if (made !== undefined) return { name, path: made.path };
  const isCheckpoint = parseArtifactRef(name)?.kind === "checkpoint";
  if (!isCheckpoint || checkpoint === null || checkpoint.attemptId !== id) return undefined;
  return { name, path: checkpoint.path, step: checkpoint.step };
}

function registerMade(batch: Batch, { workload, attempt }: Maker, made: Made): void {
  const ref = parseArtifactRef(made.name);
  const { spec, id: workloadId, actor, given = [] } = workload;
  if (ref === null) return miss(batch, attempt, made.name, "its name is no artifact");
  const name = { kind: ref.kind, team: spec.team, name: ref.name };
  const full = registryFull(batch.world.state, name);
  if (full !== null) return miss(batch, attempt, made.name, "the registry is full");
  const state = made.digest === undefined ? "declared" : "verified";
  const { stored } = made;
  const rule = spec.data?.rule ?? stored?.rule;
  const content: ArtifactContent = {
    digest: made.digest ?? null,
    bytes: made.bytes ?? null,
    ...(rule === undefined ? {} : { rule }),
    places: [
      { store: "local", uri: made.path, state },
      ...(stored === undefined ? [] : [{ store: stored.store, uri: stored.uri, state: "verified" as const }]),
    ],
    inputs: inputsOf(spec, given),
    ...(made.metrics === undefined ? {} : { metrics: made.metrics }),
    ...(made.parameters === undefined ? {} : { parameters: made.parameters }),
  };
  const producer = {
    workloadId,
    workload: spec.name,
    attemptId: attempt.id,
    task: attempt.task,
    ...(made.step === undefined ? {} : { step: made.step }),
  };
  recordVersion(batch, { ...name, ...content }, { actor, producer });
}

/** Versions that the work was given, locations of artifacts without a version, and data sets that no registry knows. */
function inputsOf({ data }: Workload["spec"], given: readonly ProducedArtifact[]): readonly string[] {
  const versions = given.map(({ version, path }) => version ?? path);
  const others = (data?.inputs ?? []).filter((input) => parseArtifactRef(input) === null);
  return [...new Set([...versions, ...others])];
}

function miss(batch: Batch, attempt: Attempt, name: string, detail: string): void {
  // Not every task of an array makes every artifact.
  if (workloadOf(batch.world, attempt.workloadId).spec.kind === "batch" && detail === "it was not reported") return;
  batch.emit({
    kind: "artifactNotRegistered",
    version: 1,
    atMs: batch.nowMs,
    attemptId: attempt.id,
    name,
    detail,
  });
}
