/**
 * Nominations. Each becomes an attempt, or the growth of an attempt, when the terminating work in its place has ended.
 */
import { invariant } from "@headroom/model";
import type { Nomination } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { spentBudget } from "../usage/gate.ts";
import { growthOf, launchOf } from "./attempt-effects.ts";
import { looksAround, respectsAntiAffinity } from "../placement/filters/anti-affinity.ts";
import { admitsNode } from "../placement/filters/data-places.ts";
import { nodeCheck } from "../placement/filters/filters.ts";
import { recordPlace } from "./start.ts";
import { activeAttempt, workloadOf } from "../cluster/entities.ts";
import { canKeepNomination } from "../cluster/holdings.ts";
import { PlacementRequest } from "../cluster/placement-request.ts";
import type { World } from "../cluster/world.ts";

export function keepNominations(batch: Batch): void {
  const { world } = batch;
  const { nominations } = world.state;
  if (nominations.size === 0) return;
  // All nominations are checked before the first one starts: a withdrawn nomination may free the place of another one,
  // whichever was made first.
  for (const nomination of Array.from(nominations.values())) {
    const reason = whyWithdrawn(world, nomination);
    if (reason !== null) withdraw(batch, nomination, reason);
  }
  for (const nomination of Array.from(nominations.values())) {
    // A migrating task must leave its old place first.
    if (nomination.afterAttempt !== undefined) continue;
    if (canKeepNomination(world, nomination) && !isShrinking(world, nomination) && isFreeOfConflicts(world, nomination))
      keepNomination(batch, nomination);
  }
}

/** The reason why the nomination must be withdrawn, or `null` if it stays valid. */
function whyWithdrawn(world: World, nomination: Nomination): string | null {
  if (world.rules.eviction.nominations === "forgotten") return "the policy forgets promises after a round";
  if (isHeldBack(world, nomination)) return "it is held";
  if (spentBudget(world.state, workloadOf(world, nomination.workloadId).spec.team) !== null)
    return "the budget of its team is used up";
  if (runsIntoWindow(world, nomination)) return "it would run into a window of the calendar";
  if (!isStillThere(world, nomination)) return "a node of the promised place is no longer usable";
  if (!hasPowerOnceFreed(world, nomination)) return "a domain of the promised place has no power left";
  return isAdmitted(world, nomination) ? null : "its data may not be worked on there any more";
}

/**
 * Returns whether the nomination is withdrawn because its workload is held. A hold does not affect running work that
 * migrates or grows.
 */
const isHeldBack = (world: World, { workloadId, growth, afterAttempt }: Nomination): boolean =>
  !growth && afterAttempt === undefined && workloadOf(world, workloadId).held === true;

/** Returns whether the nominated work, if it started now, could overlap a calendar window of its nodes. */
function runsIntoWindow(world: World, { workloadId, workers }: Nomination): boolean {
  if (!world.calendar.hasWindows) return false;
  const { request } = world.queue.classOf(workloadOf(world, workloadId));
  const isOpen = nodeCheck(world, request, { bases: ["calendar"] });
  return workers.some(({ node }) => !isOpen(world.capacity.slot(node)));
}

/** Returns whether the power caps admit the nominated workers when terminating work has ended. A cap may have been lowered since. */
const hasPowerOnceFreed = ({ capacity }: World, { workers }: Nomination): boolean =>
  capacity.power === null ||
  workers.every(({ node, accelerators }) => capacity.hasPower(capacity.slot(node), accelerators, "releasing"));

/** Returns whether all work has ended that anti-affinity forbids near the nominated workers. */
function isFreeOfConflicts(world: World, { workloadId, attemptId, growth, workers }: Nomination): boolean {
  const { spec, actor } = workloadOf(world, workloadId);
  if (!looksAround(world, spec)) return true;
  const grows = growth ? attemptId : null;
  const request = PlacementRequest.of({ spec, actor }, { rules: world.rules, growth: workers.length, grows });
  // The nomination's own workers are booked already.
  return respectsAntiAffinity(world, request.with({ beside: workers }), workers, "idle");
}

/**
 * Returns whether the workload's data may be used on the nominated nodes. The data rules of a site or pool may have
 * changed since the nomination.
 */
const isAdmitted = (world: World, { workloadId, workers }: Nomination): boolean => {
  const { spec } = workloadOf(world, workloadId);
  return workers.every(({ node }) => admitsNode(world, spec, node));
};

/**
 * Returns whether the gang that is to grow still has terminating workers. New ranks follow the existing ranks, so
 * growth waits until the terminating ranks have ended.
 */
const isShrinking = ({ state }: World, { attemptId, growth }: Nomination): boolean =>
  growth && state.attempts.get(attemptId)?.terminating !== undefined;

/** Returns whether the nominated nodes still take work, and the attempt that is to grow or migrate still runs. */
function isStillThere({ capacity, state }: World, { workers, growth, attemptId, afterAttempt }: Nomination): boolean {
  // The attempt ended before it migrated, and does not continue.
  if (afterAttempt !== undefined && !state.attempts.has(afterAttempt)) return false;
  if (growth && state.attempts.get(attemptId)?.stop !== null) return false;
  return workers.every(({ node }) => capacity.slot(node).usable);
}

export function withdraw(batch: Batch, { attemptId }: Nomination, reason: string): void {
  batch.emit({ kind: "nominationWithdrawn", version: 1, atMs: batch.nowMs, attemptId, reason });
  batch.placesLeft++;
}

function keepNomination(batch: Batch, nomination: Nomination): void {
  const { attemptId, workers } = nomination;
  const launchAtMs = (nomination.notBeforeMs ?? 0) > batch.nowMs ? (nomination.notBeforeMs ?? null) : null;
  if (nomination.growth) batch.emit({ kind: "gangGrown", version: 2, atMs: batch.nowMs, attemptId, workers });
  else recordPlace(batch, nomination, nomination, launchAtMs);
  if (launchAtMs !== null) return;
  const attempt = activeAttempt(batch.world, attemptId);
  invariant(attempt !== undefined, `attempt ${attemptId} was placed and is not there`);
  batch.ask(nomination.growth ? growthOf(batch.world, attempt, workers) : launchOf(batch.world, attempt));
}
