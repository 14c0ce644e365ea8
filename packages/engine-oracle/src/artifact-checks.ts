/** The registry of artifacts: numbers, aliases and bounds, and that each attempt made at most one version of a name. */
import { DELETED_VERSIONS_KEPT, artifactKey, versionId } from "@headroom/model";
import type { Artifact, Event } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Findings } from "@headroom/engine/internals";

export function checkArtifacts(findings: Findings, state: ReadonlyState): void {
  let kept = 0;
  for (const [key, artifact] of state.artifacts) {
    findings.expect(key === artifactKey(artifact), () => `artifact ${key} is stored under another name`);
    kept += artifact.numbers.length + (artifact.deletedNumbers?.length ?? 0);
    checkArtifact(findings, state, artifact);
  }
  findings.expect(
    kept === state.artifactVersions.size,
    () => `${state.artifactVersions.size} versions are stored, and the names have ${kept}`,
  );
  checkMakers(findings, state);
}

function checkArtifact(findings: Findings, state: ReadonlyState, artifact: Artifact): void {
  const { numbers, deletedNumbers = [], lastNumber, aliases, team } = artifact;
  const key = artifactKey(artifact);
  findings.expect(state.teams.has(team), () => `artifact ${key} belongs to a team that does not exist`);
  findings.expect(deletedNumbers.length <= DELETED_VERSIONS_KEPT, () => `${key} keeps too many deleted versions`);
  for (const [at, number] of numbers.entries()) {
    findings.expect(
      number <= lastNumber && number > (numbers[at - 1] ?? 0),
      () => `${key} is out of order at ${number}`,
    );
    const version = state.artifactVersions.get(versionId(artifact, number));
    findings.expect(version !== undefined && version.deleted === undefined, () => `${key} has no version ${number}`);
  }
  for (const number of deletedNumbers) {
    const version = state.artifactVersions.get(versionId(artifact, number));
    findings.expect(version?.deleted !== undefined, () => `version ${number} of ${key} is not deleted`);
    findings.expect(version?.hold === undefined, () => `version ${number} of ${key} was deleted on legal hold`);
  }
  for (const { alias, number, moves } of aliases) {
    findings.expect(number === null || numbers.includes(number), () => `${key}@${alias} points to no version`);
    findings.expect(moves.at(-1)?.number === number, () => `the last move of ${key}@${alias} is another one`);
  }
}

function checkMakers(findings: Findings, state: ReadonlyState): void {
  const made = new Set<string>();
  for (const version of state.artifactVersions.values()) {
    if (version.producer === undefined) continue;
    const key = `${artifactKey(version)} ${version.producer.attemptId}`;
    findings.expect(
      !made.has(key),
      () => `attempt ${version.producer?.attemptId} made two versions of ${artifactKey(version)}`,
    );
    made.add(key);
  }
}

/** Checks that a version which an attempt made is recorded before the successful end of this attempt, in one batch. */
export function checkArtifactEvents(findings: Findings, events: readonly Event[]): void {
  for (const [at, event] of events.entries()) {
    if (event.kind !== "artifactRegistered" || event.artifact.producer === undefined) continue;
    const { attemptId } = event.artifact.producer;
    findings.expect(
      events
        .slice(at + 1)
        .some(
          (later) => later.kind === "attemptEnded" && later.attemptId === attemptId && later.outcome === "succeeded",
        ),
      () => `attempt ${attemptId} made a version and did not succeed`,
    );
  }
}
