/** Adds to a workload what its starting attempts wait for: the executor knows, and no event records it. */
import type { AttemptId } from "@headroom/model";
import type { Workload } from "@headroom/protocol";
import type { ControlPlane } from "./control-plane.ts";

export function withStaging({ executors }: Pick<ControlPlane, "executors">, workload: Workload): Workload {
  const isStarting = workload.attempts.some(({ phase }) => phase === "launching");
  if (!isStarting) return workload;
  const stagingOf = (id: string) => {
    for (const executor of executors.values()) {
      const staging = executor.staging?.(id as AttemptId) ?? null;
      if (staging !== null) return staging;
    }
    return null;
  };
  const attempts = workload.attempts.map((attempt) => {
    const staging = attempt.phase === "launching" ? stagingOf(attempt.id) : null;
    return staging === null ? attempt : { ...attempt, staging };
  });
  return { ...workload, attempts };
}
