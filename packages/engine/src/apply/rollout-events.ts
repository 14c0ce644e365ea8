import { revisedSpec } from "@headroom/model";
import type { EventOf, WorkloadId } from "@headroom/model";
import { readyTask } from "../state/ready-task.ts";
import type { WritableWorkload } from "../state/mutable-state.ts";
import { queueIfReady, touchedWorkload } from "./writable.ts";
import type { Appliers, WritableWorld } from "./writable.ts";

type RolloutEvent = EventOf<"rolloutStarted" | "rolloutSteered" | "rolloutSized" | "rolloutEnded">;

export const rolloutEvents: Appliers<RolloutEvent> = {
  rolloutStarted(world, { workloadId, atMs, actor, number, changes, given, cause, deadlineAtMs, steps, shadow }) {
    const workload = touchedWorkload(world, workloadId);
    workload.rollout = {
      number,
      changes,
      ...(given === undefined ? {} : { given }),
      cause,
      actor,
      startedAtMs: atMs,
      deadlineAtMs,
      ...(steps === undefined ? { isFinal: true } : { steps }),
      ...(shadow === undefined ? {} : { shadow }),
      step: 0,
      stepAtMs: atMs,
      stable: workload.scale?.replicas ?? 0,
      canary: 0,
    };
    world.rollouts.add(workloadId);
  },
  rolloutSteered: steer,
  rolloutSized(world, { workloadId, stable, canary, atMs }) {
    const workload = touchedWorkload(world, workloadId);
    if (workload.rollout === undefined) return;
    workload.rollout = { ...workload.rollout, stable, canary };
    resize(world, workload, atMs);
  },
  rolloutEnded(world, { workloadId, outcome, atMs }) {
    const workload = touchedWorkload(world, workloadId);
    const { rollout } = workload;
    if (rollout === undefined) return;
    delete workload.rollout;
    world.rollouts.delete(workloadId);
    if (outcome === "completed") {
      world.queue.remove(workload);
      workload.spec = revisedSpec(workload.spec, rollout.changes);
      workload.revisionNumber = rollout.number;
      if (rollout.given === undefined) delete workload.given;
      else workload.given = rollout.given;
    }
    resize(world, workload, atMs);
  },
};

/** Advancing beyond the last step, as a promotion, leaves only to wait for the replicas. */
function steer(world: WritableWorld, { workloadId, action, atMs }: EventOf<"rolloutSteered">): void {
  const workload = touchedWorkload(world, workloadId);
  const { rollout } = workload;
  if (rollout === undefined) return;
  const { isPaused: _paused, ...going } = rollout;
  const last = (rollout.steps?.length ?? 1) - 1;
  switch (action) {
    case "advance":
      workload.rollout =
        rollout.step >= last
          ? { ...going, stepAtMs: atMs, isFinal: true }
          : { ...going, step: rollout.step + 1, stepAtMs: atMs };
      return;
    case "promote":
      workload.rollout = { ...going, step: last, stepAtMs: atMs, isFinal: true };
      return;
    case "pause":
      workload.rollout = { ...rollout, isPaused: true };
      return;
    case "resume":
      workload.rollout = { ...going, stepAtMs: atMs };
      return;
    case "squeeze":
      workload.rollout = { ...rollout, isSqueezed: true };
      return;
    case "rollBack":
      workload.rollout = { ...going, isReversed: true };
  }
}

function resize(world: WritableWorld, workload: WritableWorkload & { readonly id: WorkloadId }, atMs: number): void {
  if (readyTask(workload, atMs) === null) world.queue.remove(workload);
  else queueIfReady(world, workload, atMs);
  world.queue.markDirty();
  world.shrinking.add(workload.id);
}
