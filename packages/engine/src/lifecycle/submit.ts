import { initialReplicas, specOfGroup, workloadId, minWorkersOf } from "@headroom/model";
import type { ProducedArtifact, WorkloadId, WorkloadSpec, Rejection, Command } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { withdraw } from "../transitions/nominations.ts";
import { couldHoldByCounts } from "../placement/could-ever.ts";
import { emptyFleetWorkers } from "../placement/place-on-type.ts";
import type { Capacity } from "../cluster/capacity.ts";
import { WAITING_WORKLOADS_MAX } from "../state/state.ts";
import { Slot } from "../cluster/scratch.ts";
import { bookedSequenceOf } from "../cluster/world.ts";
import type { World } from "../cluster/world.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";
import { needsOthers, resolveAfter } from "./dependencies.ts";
import { endWorkloadIfDone } from "./end-attempt.ts";
import { recordScale } from "./scale-endpoint.ts";
import { stopTasks } from "./stop-tasks.ts";

export function submitWorkload(batch: Batch, spec: WorkloadSpec, actor: string): Decision {
  const admissionFailure = submissionAdmissionFailure(batch.world, spec, batch.world.state.teams);
  if (admissionFailure !== null) return refused(admissionFailure);
  return done({ kind: "workloadSubmitted", workloadId: recordSubmission(batch, spec, actor) });
}

export function recordSubmission(batch: Batch, spec: WorkloadSpec, actor: string): WorkloadId {
  const id = workloadId(`w${batch.world.state.submittedCount + 1}`);
  const event = { kind: "workloadSubmitted", version: 4, atMs: batch.nowMs, workloadId: id, spec, actor } as const;
  const resolved = needsOthers(spec) ? resolveAfter(batch.world, spec) : null;
  const { waitsFor, given } = resolved?.kind === "resolved" ? resolved : NOTHING;
  if (waitsFor.length > 0 || given.length > 0)
    batch.emit({
      ...event,
      ...(waitsFor.length === 0 ? {} : { waitsFor }),
      ...(given.length === 0 ? {} : { given }),
    });
  else batch.emit(event);
  if (spec.kind === "serve")
    recordScale(batch, id, { replicas: initialReplicas(spec), actor, ground: { kind: "submitted" } });
  return id;
}

/** Submits the workload of a pipeline's step. The artifacts of the steps before it are given to it, besides the registered inputs that it names. */
export function recordStepWorkload(
  batch: Batch,
  spec: WorkloadSpec,
  actor: string,
  given: readonly ProducedArtifact[],
): WorkloadId {
  const id = workloadId(`w${batch.world.state.submittedCount + 1}`);
  const resolved = needsOthers(spec) ? resolveAfter(batch.world, spec) : null;
  const { waitsFor, given: used } = resolved?.kind === "resolved" ? resolved : NOTHING;
  const all = [...given, ...used.filter(({ name }) => given.every((each) => each.name !== name))];
  batch.emit({
    kind: "workloadSubmitted",
    version: 4,
    atMs: batch.nowMs,
    workloadId: id,
    spec,
    actor,
    ...(waitsFor.length === 0 ? {} : { waitsFor }),
    ...(all.length === 0 ? {} : { given: all }),
  });
  return id;
}

const NOTHING = { waitsFor: [], given: [] } as const;

/** The reason why a spec is refused under these teams, or `null` if it is accepted. */
export function submissionAdmissionFailure(
  world: World,
  spec: WorkloadSpec,
  teams: { has(team: WorkloadSpec["team"]): boolean },
): Rejection | null {
  const { state } = world;
  if (!teams.has(spec.team)) return { code: "unknownTeam", team: spec.team };
  const activeCount = state.submittedCount - state.endedCount;
  if (activeCount >= WAITING_WORKLOADS_MAX) {
    const waitingCount = activeCount - runningCount(world);
    if (waitingCount >= WAITING_WORKLOADS_MAX)
      return { code: "queueFull", waitingCount, maxCount: WAITING_WORKLOADS_MAX };
  }
  if (needsOthers(spec)) {
    const resolved = resolveAfter(world, spec);
    if (resolved.kind === "refused") return resolved.rejection;
  }
  return sizeAdmissionFailure(world, spec);
}

/** The refusal of a gang that exceeds the fleet, if the policy refuses such work. */
export function sizeAdmissionFailure(world: World, spec: WorkloadSpec): Rejection | null {
  const { state, capacity } = world;
  if (state.policy.exceedsFleet !== "reject" || couldHoldByCounts(world, spec)) return null;
  return tooLarge(capacity, spec);
}

interface RunningCount {
  readonly bookedSequence: number;
  readonly count: number;
}

const lastRunningCount = new Slot<RunningCount>(() => ({ bookedSequence: -1, count: 0 }), { survivesUndo: false });

/**
 * Number of workloads with an attempt. It is computed only near the limit of the queue, and once after each change of
 * allocations.
 */
function runningCount(world: World): number {
  const bookedSequence = bookedSequenceOf(world);
  const known = world.scratch.get(lastRunningCount);
  if (known.bookedSequence === bookedSequence) return known.count;
  const running = new Set<WorkloadId>();
  for (const { workloadId: id } of world.state.attempts.values()) running.add(id);
  world.scratch.set(lastRunningCount, { bookedSequence, count: running.size });
  return running.size;
}

/**
 * The rejection of a gang that exceeds the fleet. It names the first task group that does not fit alone; if each fits
 * alone, the first task group.
 */
function tooLarge(capacity: Capacity, spec: WorkloadSpec): Rejection {
  const { gang } = spec;
  const placeable = ({ gang: asked, acceleratorTypes }: WorkloadSpec): number =>
    Math.max(0, ...capacity.acceptable(acceleratorTypes).map((type) => emptyFleetWorkers(type, asked)));
  const groups = gang.taskGroups?.map((_, index) => specOfGroup(spec, index)) ?? [spec];
  const first = groups.find((group) => placeable(group) < minWorkersOf(group.gang)) ?? groups[0] ?? spec;
  return {
    code: "tooLarge",
    workers: first.gang.workers,
    placeableWorkers: placeable(first),
    acceleratorsPerWorker: first.gang.accelerators,
  };
}

export function stopWorkload(batch: Batch, id: WorkloadId, actor: string): Decision {
  const { state } = batch.world;
  const workload = state.workloads.get(id);
  if (workload === undefined) return refused({ code: "unknownWorkload", workloadId: id });
  if (workload.endedAtMs !== null) return refused({ code: "workloadEnded", workloadId: id, phase: workload.phase });
  if (!workload.stopRequested) {
    batch.emit({ kind: "workloadStopRequested", version: 1, atMs: batch.nowMs, workloadId: id, actor });
    for (const nomination of Array.from(state.nominations.values()))
      if (nomination.workloadId === id) withdraw(batch, nomination, "its workload was stopped");
    stopTasks(batch, workload);
    endWorkloadIfDone(batch, workload, { kind: "cancelled" });
  }
  return done({ kind: "workloadStopping", workloadId: id });
}

/**
 * Holds or releases a workload. Holding a held workload, or releasing one that is not held, changes nothing and is no
 * error.
 */
export function holdWorkload(
  batch: Batch,
  { kind, workloadId: id, actor }: Command & { readonly kind: "holdWorkload" | "releaseWorkload" },
): Decision {
  const workload = batch.world.state.workloads.get(id);
  if (workload === undefined) return refused({ code: "unknownWorkload", workloadId: id });
  if (workload.endedAtMs !== null) return refused({ code: "workloadEnded", workloadId: id, phase: workload.phase });
  const fact = { version: 1, atMs: batch.nowMs, workloadId: id, actor } as const;
  const isHold = kind === "holdWorkload";
  if (isHold !== (workload.held === true)) batch.emit({ kind: isHold ? "workloadHeld" : "workloadReleased", ...fact });
  return done({ kind: isHold ? "workloadHeld" : "workloadReleased", workloadId: id });
}
