/**
 * Checkpoints that executors have brought to the store of their workload. Each becomes a version of the artifact
 * `checkpoint:NAME`, with the step, and older ones are deleted by the rule of the workload. Deletion here is a fact of the
 * registry; the control plane removes the bytes afterwards.
 */
import {
  artifactKey,
  artifactTitle,
  checkpointArtifact,
  keptCheckpoints,
  storedCheckpoints,
  versionId,
} from "@headroom/model";
import type { ArtifactName, Observation, Workload } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { usedVersions } from "../state/find-artifact.ts";
import type { ReadonlyState } from "../state/state.ts";
import { changeVersion, recordVersion, registryFull } from "./artifacts.ts";

type StoredReport = Observation & { readonly kind: "checkpointStored" };

/** Reason of a deletion by the rule, by which the control plane finds the bytes to remove. */
export const CHECKPOINT_RULE = "checkpoint rule";

export function recordStoredCheckpoint(batch: Batch, stored: StoredReport): void {
  const { state } = batch.world;
  const workload = state.workloads.get(stored.workloadId);
  if (workload === undefined || workload.spec.checkpointStore === undefined) return;
  const name = checkpointArtifact(workload.spec);
  if (isKnown(state, name, stored)) return;
  const { digest, bytes, stored: place, problem } = stored.checkpoint;
  const fault = registryFull(state, name) === null ? problem : "the registry is full";
  if (fault !== undefined || digest === undefined || bytes === undefined || place === undefined)
    return miss(batch, artifactTitle(name), stored, fault ?? "it has no bytes in the store");
  const { rule } = workload.spec.data ?? {};
  const { metrics, parameters } = stored.checkpoint;
  const content = {
    ...name,
    digest,
    bytes,
    ...(rule === undefined ? {} : { rule }),
    places: [{ ...place, state: "verified" as const }],
    inputs: [],
    ...(metrics === undefined ? {} : { metrics }),
    ...(parameters === undefined ? {} : { parameters }),
  };
  const { attemptId, task, step } = stored;
  const producer = { workloadId: workload.id, workload: workload.spec.name, attemptId, task, step };
  recordVersion(batch, content, { actor: workload.actor, producer });
  dropOlder(batch, workload, name);
}

/** After a restart an executor repeats its reports, also those of versions that are deleted by now. */
function isKnown(state: ReadonlyState, name: ArtifactName, { attemptId, step, checkpoint }: StoredReport): boolean {
  const artifact = state.artifacts.get(artifactKey(name));
  const numbers = [...(artifact?.numbers ?? []), ...(artifact?.deletedNumbers ?? [])];
  return numbers.some((number) => {
    const version = state.artifactVersions.get(versionId(name, number));
    const { producer, digest } = version ?? {};
    return producer?.attemptId === attemptId && producer.step === step && digest === (checkpoint.digest ?? null);
  });
}

/** Versions under legal hold, and those that something depends on, stay. */
function dropOlder(batch: Batch, { spec, id }: Workload, name: ArtifactName): void {
  const { state } = batch.world;
  const versions = storedCheckpoints(state, spec, id);
  const kept = keptCheckpoints(versions, spec);
  const older = versions.filter(({ number }) => !kept.has(number));
  const artifact = state.artifacts.get(artifactKey(name));
  if (older.length === 0 || artifact === undefined) return;
  const used = usedVersions(state, artifact);
  for (const { number, hold, id: version } of older)
    if (hold === undefined && !used.has(version))
      changeVersion(batch, name, { kind: "delete", number }, { actor: null, reason: CHECKPOINT_RULE });
}

function miss(batch: Batch, name: string, { attemptId, step }: StoredReport, detail: string): void {
  batch.emit({
    kind: "artifactNotRegistered",
    version: 1,
    atMs: batch.nowMs,
    attemptId,
    name,
    detail: `the checkpoint of step ${step}: ${detail}`,
  });
}
