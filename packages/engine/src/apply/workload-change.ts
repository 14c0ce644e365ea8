/** Folds a change of a workload's spec. The workload's allocations and requests leave the indexes and are filed again. */
import { changedSpec } from "@headroom/model";
import type { EventOf, WorkloadChanges, WorkloadId } from "@headroom/model";
import { growthOf, holdAttempt, releaseAttempt } from "../cluster/holdings.ts";
import { fileDependencies, waitForItsTime, waitForWindows, waitForWindowsAhead } from "../cluster/world.ts";
import type { WritableAttempt, WritableWorkload } from "../state/mutable-state.ts";
import { accrueEndpoint, openEndpointAccount } from "./endpoint-accounts.ts";
import { activeAttempt, queueIfReady, touchedAttempt, touchedWorkload } from "./writable.ts";
import type { WritableWorld } from "./writable.ts";

export function changeWorkload(world: WritableWorld, event: EventOf<"workloadChanged">): void {
  const { changes, workloadId } = event;
  const workload = touchedWorkload(world, workloadId);
  const attempts = changesHoldings(changes)
    ? workload.activeAttempts.flatMap((id) => activeAttempt(world, id) ?? [])
    : [];
  for (const attempt of attempts) {
    releaseAttempt(world, attempt);
    world.queue.setGrowth(workload, attempt.id, 0);
  }
  world.queue.remove(workload);
  const { spec: before } = workload;
  if (changes.budget !== undefined) accrueEndpoint(world, workload);
  workload.spec = changedSpec(workload.spec, changes);
  if (changes.budget !== undefined)
    openEndpointAccount(world, workload, before.kind === "serve" ? before.budget?.period : undefined);
  if (changes.hold === true) workload.held = true;
  else if (changes.hold === false) delete workload.held;
  if (changes.after !== undefined) replaceDependencies(world, workload, event);
  for (const attempt of attempts) holdAgain(world, workload, attempt);
  for (const nomination of world.state.nominations.values())
    if (nomination.workloadId === workloadId) waitForWindowsAhead(world, nomination);
  const { startWindow, notBeforeMs } = workload.spec;
  if (startWindow !== undefined) world.startWindow.lookAtMs = -1;
  if (typeof changes.notBeforeMs === "number" && notBeforeMs !== undefined && notBeforeMs > event.atMs)
    world.timers.add({ kind: "retry", atMs: notBeforeMs, workloadId });
  queueIfReady(world, workload, event.atMs);
  if (world.rules.backfill.protectedStarts > 0) world.queue.markDirty();
}

/** Whether running work is indexed by one of the changed fields. */
const changesHoldings = ({ priority, walltimeMs, workers, minWorkers }: WorkloadChanges): boolean =>
  priority !== undefined || walltimeMs !== undefined || workers !== undefined || minWorkers !== undefined;

function holdAgain(world: WritableWorld, workload: WritableWorkload, attempt: WritableAttempt): void {
  const { walltimeMs } = workload.spec;
  const { prediction } = attempt;
  // A prediction is never longer than the walltime.
  if (prediction !== undefined && walltimeMs !== null && prediction.durationMs >= walltimeMs)
    delete touchedAttempt(world, attempt.id).prediction;
  holdAttempt(world, attempt);
  world.queue.setGrowth(workload, attempt.id, growthOf(world, workload, attempt));
  waitForItsTime(world.timers, attempt, walltimeMs);
  waitForWindows(world, attempt);
}

/** The lists of dependents keep the order of submission, as if they had been indexed from the state. */
function replaceDependencies(
  world: WritableWorld,
  workload: WritableWorkload,
  { given, waitsFor }: EventOf<"workloadChanged">,
): void {
  const { dependents, state } = world;
  for (const wait of workload.waitsFor ?? []) {
    const others = (dependents.get(wait.workloadId) ?? []).filter((id) => id !== workload.id);
    if (others.length === 0) dependents.delete(wait.workloadId);
    else dependents.set(wait.workloadId, others);
  }
  delete workload.waitsFor;
  delete workload.given;
  if (given !== undefined) workload.given = given;
  if (waitsFor === undefined) return;
  workload.waitsFor = waitsFor;
  fileDependencies(world, workload);
  const ordinalOf = (id: WorkloadId): number => state.workloads.get(id)?.ordinal ?? 0;
  for (const wait of waitsFor)
    dependents.get(wait.workloadId)?.sort((left, right) => ordinalOf(left) - ordinalOf(right));
}
