/**
 * Stops replicas that an endpoint no longer needs. Replicas that serve nothing go first: nominated, launching, not ready.
 * Among ready replicas those go that the decision named, then the youngest, whose caches are the least warm. Stops beyond the bound of the batch follow in
 * the next one.
 */
import { compareText, revisionNumberOf, tasksAtOnceOf } from "@headroom/model";
import type { Attempt, AttemptId, Nomination, Workload } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { activeAttempt } from "../cluster/entities.ts";
import type { World } from "../cluster/world.ts";
import { requestStop } from "../transitions/stop-attempt.ts";
import { withdraw } from "../transitions/nominations.ts";

export function stopSurplusReplicas(batch: Batch): void {
  if (batch.world.shrinking.size > 0) stopAll(batch);
}

function stopAll(batch: Batch): void {
  const { shrinking, state } = batch.world;
  const endpoints = [...shrinking].flatMap((id) => state.workloads.get(id) ?? []);
  // A restored engine has the same endpoints in the order of their submission.
  for (const endpoint of endpoints.toSorted((left, right) => left.ordinal - right.ordinal))
    if (stopSurplus(batch, endpoint)) shrinking.delete(endpoint.id);
}

/** Returns whether the endpoint has no surplus replicas left. */
function stopSurplus(batch: Batch, endpoint: Workload): boolean {
  if (endpoint.scale === undefined || endpoint.stopRequested || endpoint.endedAtMs !== null) return true;
  const { world } = batch;
  const nominations = nominationsOf(world, endpoint);
  const attempts = stayingAttempts(world, endpoint);
  let surplus = nominations.length + attempts.length - tasksAtOnceOf(endpoint);
  for (const nomination of nominations) {
    if (surplus <= 0) return true;
    withdraw(batch, nomination, "its endpoint needs fewer replicas");
    surplus--;
  }
  for (const attempt of surplusAttempts(endpoint, attempts)) {
    if (!batch.mayStop()) return false;
    requestStop(batch, attempt, "scaledDown");
  }
  return true;
}

/** Attempts beyond the number of replicas of each revision. Without a rollout only the present revision has replicas. */
function surplusAttempts(endpoint: Workload, attempts: readonly Attempt[]): readonly Attempt[] {
  const { rollout, scale } = endpoint;
  const left = new Map([[revisionNumberOf(endpoint), rollout?.stable ?? scale?.replicas ?? 0]]);
  if (rollout !== undefined) left.set(rollout.number, rollout.canary);
  const surplus: Attempt[] = [];
  // The most useful replicas stay.
  for (const attempt of attempts.toSorted(byUse(scale?.stopFirst ?? [])).toReversed()) {
    const number = revisionNumberOf(attempt);
    const free = left.get(number) ?? 0;
    if (free > 0) left.set(number, free - 1);
    else surplus.push(attempt);
  }
  return surplus.toReversed();
}

/** Nominations for replicas, also for those that migrate: each stands for one replica that will run. */
const nominationsOf = ({ state }: World, { id }: Workload): readonly Nomination[] =>
  [...state.nominations.values()].filter(({ workloadId, growth }) => workloadId === id && !growth);

const stayingAttempts = (world: World, { activeAttempts }: Workload): readonly Attempt[] =>
  activeAttempts.flatMap((id) => activeAttempt(world, id) ?? []).filter(({ stop }) => stop === null);

const useOf = ({ ready, startedAtMs }: Attempt): number => (ready === undefined ? (startedAtMs === null ? 0 : 1) : 2);

const byUse =
  (stopFirst: readonly AttemptId[]) =>
  (left: Attempt, right: Attempt): number =>
    useOf(left) - useOf(right) ||
    positionIn(stopFirst, left) - positionIn(stopFirst, right) ||
    right.placedSequence - left.placedSequence ||
    compareText(left.id, right.id);

/** Attempts that are not in the list come after those that are. */
function positionIn(ids: readonly AttemptId[], { id }: Attempt): number {
  const at = ids.indexOf(id);
  return at < 0 ? ids.length : at;
}
