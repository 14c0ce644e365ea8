import type { WorkloadEvent } from "../events.ts";
import type { WorkloadId } from "../model/ids.ts";
import { invariant } from "../state/invariant.ts";
import { ENDED_WORKLOADS_KEPT } from "../state/state.ts";
import { NO_ATTEMPTS, removeWorkload, workloadOf } from "../state/entities.ts";
import { unreachable } from "../state/unreachable.ts";
import type { World, WorkloadEntity } from "../state/world.ts";

/** Shared by all workloads that have none: whoever adds the first makes a list of its own. */
const NO_RETRIES = [] as const;
const NO_ENDED_ATTEMPTS = [] as const;
const NO_COUNTS: ReadonlyMap<number, number> = new Map();

export function applyWorkloadEvent(world: World, event: WorkloadEvent): void {
  switch (event.kind) {
    case "workloadSubmitted":
      return submit(world, event);
    case "workloadStopRequested": {
      const workload = workloadOf(world, event.workloadId);
      world.queue.remove(workload);
      workload.stopRequested = true;
      workload.phase = "stopping";
      workload.revision = world.state.sequence;
      return;
    }
    case "workloadEnded":
      return end(world, event);
    default:
      unreachable(event);
  }
}

function submit(world: World, event: WorkloadEvent & { readonly kind: "workloadSubmitted" }): void {
  const { state, queue } = world;
  const workload: WorkloadEntity = {
    id: event.workloadId,
    ordinal: ++state.submittedCount,
    spec: event.spec,
    submittedAtMs: event.atMs,
    actor: event.actor,
    phase: "pending",
    stopRequested: false,
    nextTask: 0,
    retries: NO_RETRIES,
    failureCounts: NO_COUNTS,
    attemptCounts: NO_COUNTS,
    activeAttempts: NO_ATTEMPTS,
    succeededCount: 0,
    failedCount: 0,
    endedAttempts: NO_ENDED_ATTEMPTS,
    checkpoint: null,
    firstStartedAtMs: null,
    endedAtMs: null,
    endReason: null,
    endOrdinal: 0,
    revision: state.sequence,
    digestRevision: 0,
    digestLanes: null,
    placementClass: null,
  };
  state.workloads.set(workload.id, workload);
  queue.add(workload);
}

function end(world: World, event: WorkloadEvent & { readonly kind: "workloadEnded" }): void {
  const { state, queue, endedKept } = world;
  const workload = workloadOf(world, event.workloadId);
  invariant(workload.activeAttempts.length === 0, `workload ${workload.id} ends with attempts still active`);
  queue.remove(workload);
  workload.phase = event.phase;
  workload.endReason = event.reason;
  workload.endedAtMs = event.atMs;
  workload.endOrdinal = ++state.endedCount;
  workload.revision = state.sequence;
  endedKept.push(workload.id);
  if (endedKept.length - world.endedDropped > ENDED_WORKLOADS_KEPT) dropOldestEnded(world);
}

function dropOldestEnded(world: World): void {
  const { endedKept } = world;
  const id = endedKept[world.endedDropped++] as WorkloadId;
  removeWorkload(world, id);
  // The array gives its front back once half of it is gone, so that dropping stays constant time on average.
  if (world.endedDropped * 2 <= endedKept.length) return;
  endedKept.splice(0, world.endedDropped);
  world.endedDropped = 0;
}
