/** Artifacts that simulated work produces when it succeeds: all declared ones, without a location. */
import type { ProducedArtifact, AttemptId, WorkloadSpec } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";

interface Made {
  readonly artifacts?: readonly ProducedArtifact[];
}

export const artifactsMade = ({ produces }: { readonly produces?: WorkloadSpec["produces"] | undefined }): Made =>
  produces === undefined ? {} : { artifacts: produces.map((name) => ({ name, path: `simulated/${name}` })) };

/** Artifacts of an attempt in the engine. */
export function artifactsOf(state: ReadonlyState, id: AttemptId): Made {
  const attempt = state.attempts.get(id);
  const workload = attempt === undefined ? undefined : state.workloads.get(attempt.workloadId);
  return workload === undefined ? {} : artifactsMade(workload.spec);
}
