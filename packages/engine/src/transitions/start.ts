/** Records the decision for the first request of a bucket: a start, growth, or a nomination. */
import { attemptIdOf, revisionNumberOf, taskOf, InvariantError } from "@headroom/model";
import type { Event, AttemptId, WorkloadId, Attempt, Nomination, Workload } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { growthOf, launchOf } from "./attempt-effects.ts";
import { predictedRun } from "../usage/run-times.ts";
import { activeAttempt, rememberWorkload, workloadOf } from "../cluster/entities.ts";
import { plannedStagingMs } from "../cluster/transfers.ts";
import type { QueueBucket } from "../cluster/queue.ts";
import { readyTask } from "../state/ready-task.ts";
import type { WorkloadEntity } from "../state/state.ts";
import { verifyPlacement } from "../placement/verify/placement.ts";
import { growingAttempt } from "../cluster/request.ts";
import type { Placement } from "../cluster/request.ts";

/**
 * Starts the first request of the bucket, or lets its gang grow, with the workers of the placement. Returns the id of
 * the attempt.
 */
export function start(batch: Batch, bucket: QueueBucket, placement: Placement): AttemptId {
  const { world, nowMs: atMs } = batch;
  verifyPlacement(world, bucket, placement);
  batch.countStart(placement.workers.length);
  const growing = growingAttempt(world, bucket.request);
  if (growing !== null) {
    const { workers } = placement;
    batch.emit({ kind: "gangGrown", version: 2, atMs, attemptId: growing.id, workers });
    batch.ask(growthOf(world, growing, workers));
    return growing.id;
  }
  const next = nextAttempt(batch, bucket);
  recordPlace(batch, next, placement);
  const id = next.attemptId;
  const attempt = activeAttempt(world, id);
  if (attempt === undefined) throw new InvariantError(`attempt ${id} was placed and is not there`);
  batch.ask(launchOf(world, attempt));
  return id;
}

/** Records the workers of an attempt. */
export function recordPlace(
  batch: Batch,
  { attemptId: id, workloadId, task, number }: AttemptIdentity,
  { acceleratorType, workers }: Placement,
  launchAtMs: number | null = null,
): void {
  const { world, nowMs: atMs } = batch;
  // Built field by field, because this is one of the most frequent events.
  const placed = {
    kind: "gangPlaced",
    version: 2,
    atMs,
    attemptId: id,
    workloadId,
    task,
    number,
    acceleratorType,
    workers,
  } as const;
  const { state, rules } = world;
  const workload = workloadOf(world, workloadId);
  // Plans use the predicted run time as the expected end of the attempt.
  const prediction = predictedRun(rules, state.runTimes, workload);
  const predicted = prediction === null ? placed : { ...placed, prediction };
  const launched = launchAtMs === null ? predicted : { ...predicted, launchAtMs };
  const stagingMs = stagingBefore(world, workload, workers);
  const staged = stagingMs === 0 ? launched : { ...launched, stagingMs };
  const revisionNumber = revisionToPlace(world, workload);
  batch.emit(revisionNumber === 1 ? staged : { ...staged, revisionNumber });
}

function stagingBefore(world: Batch["world"], { spec, given }: Workload, workers: Placement["workers"]): number {
  if (spec.data?.inputs === undefined) return 0;
  const nodes = workers.map(({ node }) => node);
  return plannedStagingMs(world, spec, given, nodes);
}

/**
 * The revision that the next replica of an endpoint runs: during a rollout the present one, as long as it has fewer
 * replicas than it should have.
 */
function revisionToPlace({ state }: Batch["world"], workload: Workload): number {
  const { rollout, activeAttempts } = workload;
  const present = revisionNumberOf(workload);
  if (rollout === undefined) return present;
  let staying = 0;
  for (const id of activeAttempts) {
    const attempt = state.attempts.get(id);
    if (attempt?.stop === null && revisionNumberOf(attempt) === present) staying++;
  }
  return staying < rollout.stable ? present : rollout.number;
}

/** Gives the place of an ended attempt to the next attempt of the same task, which is launched at `launchAtMs`. */
export function placeRetry(batch: Batch, ended: Attempt, launchAtMs: number): void {
  recordPlace(batch, nextAfter(batch, ended), ended, launchAtMs);
}

/** Nominates the first request of the bucket for a place that is being freed. */
export function nominate(batch: Batch, bucket: QueueBucket, { acceleratorType, workers }: Placement): void {
  const { world, nowMs: atMs } = batch;
  batch.countStart(workers.length);
  const growing = growingAttempt(world, bucket.request);
  const who = growing === null ? nextAttempt(batch, bucket) : identityOf(growing);
  const place: Nomination = { ...who, acceleratorType, workers, growth: growing !== null, atMs };
  batch.emit({ kind: "placementNominated", version: 1, atMs, nomination: place });
}

/** Nominates a migrating task for its new place. */
export function nominateMigration(batch: Batch, migrating: Attempt, { acceleratorType, workers }: Placement): void {
  const place = { acceleratorType, workers, growth: false, atMs: batch.nowMs, afterAttempt: migrating.id };
  const nomination: Nomination = { ...nextAfter(batch, migrating), ...place };
  batch.emit({ kind: "placementNominated", version: 1, atMs: batch.nowMs, nomination });
}

/**
 * The placement that an event gives to work that starts, now or after terminating work has ended. It is `null` if the
 * event places nothing, or places workers of a gang that already runs.
 */
export function placeGiven(event: Event): Pick<Nomination, "workloadId" | "acceleratorType" | "workers"> | null {
  if (event.kind === "gangPlaced") return event;
  if (event.kind !== "placementNominated" || event.nomination.growth || event.nomination.afterAttempt !== undefined)
    return null;
  return event.nomination;
}

interface AttemptIdentity {
  readonly attemptId: AttemptId;
  readonly workloadId: WorkloadId;
  readonly task: number;
  readonly number: number;
}

const identityOf = ({ id, workloadId, task, number }: Attempt): AttemptIdentity => ({
  attemptId: id,
  workloadId,
  task,
  number,
});

/** The next attempt of the task after this one. */
function nextAfter({ world }: Batch, { workloadId, task, number }: Attempt): AttemptIdentity {
  const { spec } = workloadOf(world, workloadId);
  const next = { task, number: number + 1 };
  return { attemptId: attemptIdOf(workloadId, next, spec), workloadId, ...next };
}

/** The identity of the attempt that would start the first request of the bucket. */
function nextAttempt({ nowMs, world }: Batch, bucket: QueueBucket): AttemptIdentity {
  const workload = bucket.waiting.first() as WorkloadEntity;
  rememberWorkload(world, workload);
  const task = readyTask(workload, nowMs);
  if (task === null) throw new InvariantError(`workload ${workload.id} is in the queue without a task that may start`);
  const number = task >= workload.nextTask ? 1 : taskOf(workload, task).attemptCount + 1;
  const { id: workloadId, spec } = workload;
  return { attemptId: attemptIdOf(workloadId, { task, number }, spec), workloadId, task, number };
}
