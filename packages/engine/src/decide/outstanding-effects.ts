/** The effects that a crash may have swallowed. Executors are idempotent by attempt, so asking again is always right. */
import type { Effect } from "../effects.ts";
import { invariant } from "../state/invariant.ts";
import type { AttemptEntity, World } from "../state/world.ts";

export function outstandingEffects(world: World): readonly Effect[] {
  return [...world.state.attempts.values()]
    .toSorted((left, right) => left.placedSequence - right.placedSequence)
    .flatMap((attempt) => effectsOf(world, attempt));
}

function effectsOf({ state }: World, attempt: AttemptEntity): Effect[] {
  const workload = state.workloads.get(attempt.workloadId);
  const node = state.nodes.get((attempt.workers[0] as AttemptEntity["workers"][number]).node);
  const pool = node === undefined ? undefined : state.pools.get(node.pool);
  invariant(workload !== undefined && pool !== undefined, `attempt ${attempt.id} has no workload or no pool`);
  const { id: attemptId, workloadId, task, number, workers, placedSequence: sequence } = attempt;
  const { executor } = pool;
  const effects: Effect[] = [];
  if (attempt.startedAtMs === null)
    effects.push({
      kind: "launchGang",
      executor,
      attemptId,
      workloadId,
      task,
      number,
      spec: workload.spec,
      workers,
      sequence,
    });
  if (attempt.stop !== null) {
    effects.push({
      kind: "stopGang",
      executor,
      attemptId,
      graceTimeoutMs: workload.spec.graceTimeoutMs,
      reason: attempt.stop.reason,
    });
  }
  return effects;
}
