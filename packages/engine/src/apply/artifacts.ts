/** Artifacts that workloads produced, and the workloads that wait for them. */
import type { Artifact, Workload } from "../model/workload.ts";
import { readyTask } from "../state/ready-task.ts";
import type { WritableWorld } from "./writable.ts";
import type { WritableWorkload } from "../state/mutable-state.ts";

/** Records an artifact and wakes workloads that wait for it. The newest report of a name replaces the older one. */
export function recordArtifact(
  world: WritableWorld,
  workload: WritableWorkload,
  { name, path, atMs }: Artifact & { readonly atMs: number },
): void {
  const { state, dependents, queue } = world;
  workload.artifacts = withArtifact(workload.artifacts, { name, path });
  workload.revision = state.sequence;
  for (const id of dependents.get(workload.id) ?? []) {
    const dependent = state.workloads.get(id);
    if (dependent?.waitsFor === undefined || dependent.endedAtMs !== null) continue;
    const left = dependent.waitsFor.filter(
      (wait) => wait.workloadId !== workload.id || wait.on !== "artifact" || wait.artifact !== name,
    );
    if (left.length === dependent.waitsFor.length) continue;
    if (left.length === 0) delete dependent.waitsFor;
    else dependent.waitsFor = left;
    dependent.given = withArtifact(dependent.given, { name, path });
    dependent.revision = state.sequence;
    if (readyTask(dependent, atMs) !== null && !queue.has(dependent)) queue.add(dependent);
  }
}

const withArtifact = (known: Workload["artifacts"] = [], artifact: Artifact): readonly Artifact[] => [
  ...known.filter(({ name }) => name !== artifact.name),
  artifact,
];
