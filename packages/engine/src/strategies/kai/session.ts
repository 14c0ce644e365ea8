/**
 * KAI-Scheduler's rounds: a session runs each action once, and its nominations end with it. Evicted work stops counting
 * for its team immediately, so placing and growing run again at the end.
 */
import type { AttemptId } from "@headroom/model";
import type { Batch } from "../../batch/batch.ts";
import type { QueueBucket } from "../../cluster/queue.ts";
import { findPlacement } from "../../placement/place.ts";
import { nominate } from "../../transitions/start.ts";
import type { RoundStrategy } from "../round-strategy.ts";

export const session: RoundStrategy = {
  takeTurns(batch, phases, run) {
    for (const phase of phases) {
      run(phase);
      if (batch.isOver) return;
    }
    if (phases.length === 1) return;
    for (const phase of ["place", "grow"] as const) if (phases.includes(phase)) run(phase);
  },
  placeLater: nominateReleasing,
};

/**
 * A request that fits on idle and releasing capacity together is nominated there, so that no later request of the round
 * takes a part of that capacity. KAI-Scheduler pipelines such pods in its allocate action.
 */
function nominateReleasing(batch: Batch, bucket: QueueBucket): AttemptId | null {
  const { world } = batch;
  const placement = world.terminating.size === 0 ? null : findPlacement(world, bucket.request, "releasing");
  if (placement === null) return null;
  const event = batch.events.length;
  nominate(batch, bucket, placement);
  const given = batch.events[event];
  return given?.kind === "placementNominated" ? given.nomination.attemptId : null;
}
