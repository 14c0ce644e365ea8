/**
 * Books the amounts that attempts and nominations hold into the indexes. `apply/`, `indexState` and tentative plans use
 * it. Every booking has an exact inverse.
 */
import {
  growthCount,
  growthSteps,
  isEviction,
  minWorkersOf,
  isPreemptible,
  preemptibilityOf,
  mayEvict,
  invariant,
} from "@headroom/model";
import type {
  ExecutorAbility,
  WorkloadId,
  Attempt,
  Nomination,
  StopReason,
  Workload,
  WorkloadSpec,
} from "@headroom/model";
import { canDo, executorOf } from "../state/executors.ts";
import { amountHeld } from "./amounts.ts";
import type { Held } from "./amounts.ts";
import { workloadOf } from "./entities.ts";
import { EvictableWork } from "./evictable-work.ts";
import type { Holder } from "./user-use.ts";
import type { World } from "./world.ts";

export const countsForTeam = ({ stop }: Attempt): boolean => stop === null || !isEviction(stop.reason);

export const holderOf = ({ spec: { team }, actor }: Pick<Workload, "spec" | "actor">): Holder => ({ team, actor });

/** Adds the amounts of workers to their team's usage (1), or subtracts them (-1). */
function countWorkers(world: World, workload: Workload, held: Held, sign: 1 | -1): void {
  const { teamUse, rules } = world;
  const { spec } = workload;
  teamUse.add(holderOf(workload), amountHeld(world, spec.gang, held), !isPreemptible(rules, spec), sign);
}

/** Books everything an attempt holds, by its phase. */
export function holdAttempt(world: World, attempt: Attempt): void {
  const workload = workloadOf(world, attempt.workloadId);
  const { gang } = workload.spec;
  const { capacity } = world;
  // Terminating workers are marked before their amounts are booked, because their places may already be nominated for
  // other requests.
  if (attempt.stop !== null) capacity.leave(gang, attempt.workers, 1);
  capacity.take(attempt.id, gang, attempt.workers);
  if (attempt.terminating !== undefined) {
    capacity.leave(gang, attempt.terminating, 1);
    capacity.take(attempt.id, gang, attempt.terminating);
  }
  if (countsForTeam(attempt)) countWorkers(world, workload, attempt, 1);
  fileEvictable(world, attempt, workload.spec);
  fileTerminating(world, attempt);
  world.completions.file(attempt, workload.spec);
  world.budgets.count(attempt, 1);
  world.decayedUsage.count(attempt, 1);
}

/** Adds an attempt to the index of preemptible work, or removes it. */
function fileEvictable({ evictable, rules }: World, attempt: Attempt, spec: WorkloadSpec): void {
  const preemptibility = attempt.stop === null && mayEvict(rules) ? preemptibilityOf(rules, spec) : "never";
  if (preemptibility === "never") return unfileEvictable(evictable, attempt, spec);
  let known = evictable.get(spec.team);
  if (known === undefined) evictable.set(spec.team, (known = new EvictableWork()));
  // A new policy may change which plans can evict the attempt, so it is removed from the other index.
  const [own, other] = preemptibility === "always" ? [known.always, known.guarded] : [known.guarded, known.always];
  other.delete(attempt, spec);
  own.add(attempt, spec);
}

function unfileEvictable(evictable: World["evictable"], attempt: Attempt, spec: WorkloadSpec): void {
  if (evictable.size === 0) return;
  const known = evictable.get(spec.team);
  if (known === undefined) return;
  known.delete(attempt, spec);
  if (known.size === 0) evictable.delete(spec.team);
}

/** Adds a fully or partly evicted attempt to the index, or removes it. */
function fileTerminating({ terminating }: World, attempt: Attempt): void {
  if (attempt.terminating !== undefined || !countsForTeam(attempt)) terminating.add(attempt);
  else terminating.delete(attempt);
}

export function releaseAttempt(world: World, attempt: Attempt): void {
  const workload = workloadOf(world, attempt.workloadId);
  const { gang } = workload.spec;
  const { capacity } = world;
  capacity.release(attempt.id, gang, attempt.workers, attempt.stop !== null);
  if (attempt.terminating !== undefined) capacity.release(attempt.id, gang, attempt.terminating, true);
  if (countsForTeam(attempt)) countWorkers(world, workload, attempt, -1);
  world.completions.remove(attempt);
  world.budgets.count(attempt, -1);
  world.terminating.delete(attempt);
  world.decayedUsage.count(attempt, -1);
  unfileEvictable(world.evictable, attempt, workload.spec);
}

/** Marks all workers of a running attempt as terminating for this reason (1), or undoes that (-1). */
export function leaveAttempt(world: World, attempt: Attempt, reason: StopReason, sign: 1 | -1): void {
  const workload = workloadOf(world, attempt.workloadId);
  world.capacity.leave(workload.spec.gang, attempt.workers, sign);
  fileEvictable(world, attempt, workload.spec);
  fileTerminating(world, attempt);
  world.completions.file(attempt, workload.spec);
  if (!isEviction(reason)) return;
  countWorkers(world, workload, attempt, sign === 1 ? -1 : 1);
  if (sign === 1) world.teamUse.limitEpoch++;
}

/** Books a nomination (1), or removes it (-1). */
export function holdNomination(world: World, nomination: Nomination, sign: 1 | -1): void {
  const workload = workloadOf(world, nomination.workloadId);
  world.capacity.nomination(workload.spec.gang, nomination.workers, sign);
  countWorkers(world, workload, nomination, sign);
}

/** Whether the nominated place is free of terminating work, so that the task can start there. */
export function canKeepNomination({ capacity, state }: World, { workers }: Nomination): boolean {
  return workers.every(({ node, accelerators }) => {
    const slot = capacity.slot(node);
    const known = state.nodes.get(node);
    invariant(known !== undefined, `no node ${node}`);
    return slot.usable && slot.canKeep(accelerators) && capacity.hasPower(slot, accelerators, "idle");
  });
}

/**
 * Number of workers that a running gang requests at once. A gang below its minimum requests the missing workers. Any
 * other gang requests one worker, one slice, or the best step of its throughput curve. 0 if the gang may not grow.
 */
export function growthOf(
  { rules, state }: Pick<World, "rules" | "state">,
  { spec, stopRequested }: Workload,
  attempt: Attempt,
): number {
  if (rules.elastic.grow === "never" || stopRequested || attempt.stop !== null || attempt.terminating !== undefined)
    return 0;
  if (attempt.launchAtMs !== undefined) return 0;
  if (attempt.missing !== undefined || attempt.joining !== undefined || attempt.joinFailure !== undefined) return 0;
  if (state.nominations.size > 0 && state.nominations.has(attempt.id)) return 0;
  const { length } = attempt.workers;
  if (length >= spec.gang.workers || !canResize(state, attempt)) return 0;
  const lacks = minWorkersOf(spec.gang) - length;
  if (lacks > 0) return lacks;
  const usual = growthCount(spec, attempt.workers);
  return rules.elastic.by === "throughput" ? (growthSteps(spec, length, usual)[0]?.workers ?? 0) : usual;
}

/** Whether a gang may change its size while it runs. */
export const canResize = (state: World["state"], attempt: Attempt): boolean => runsUnder(state, attempt, "resize");

/** Whether a gang's lost workers may be replaced on other nodes while it runs. */
export const canReplace = (state: World["state"], attempt: Attempt): boolean =>
  runsUnder(state, attempt, "replaceWorkers");

function runsUnder(state: World["state"], attempt: Attempt, capability: ExecutorAbility): boolean {
  const executor = executorOf(state, attempt);
  return executor !== null && canDo(state, executor, capability);
}

/** Recomputes preemptible work and growth requests after their rules changed. */
export function recount(world: World): void {
  const { teamUse, state, queue, rules } = world;
  world.completions.reset(rules);
  teamUse.forget(rules);
  for (const attempt of state.attempts.values()) {
    const workload = workloadOf(world, attempt.workloadId);
    if (countsForTeam(attempt)) countWorkers(world, workload, attempt, 1);
    queue.setGrowth(workload, attempt.id, growthOf(world, workload, attempt));
    fileEvictable(world, attempt, workload.spec);
    world.completions.file(attempt, workload.spec);
  }
  for (const nomination of state.nominations.values())
    countWorkers(world, workloadOf(world, nomination.workloadId), nomination, 1);
  teamUse.limitEpoch++;
}

/** Recomputes user usage after teams changed. */
export function recountUsers(world: World): void {
  const { teamUse, state } = world;
  teamUse.users.clear();
  if (!teamUse.users.isKept) return;
  const count = (id: WorkloadId, held: Held): void => {
    const workload = state.workloads.get(id) as Workload;
    teamUse.addForUser(holderOf(workload), amountHeld(world, workload.spec.gang, held), 1);
  };
  for (const attempt of state.attempts.values()) if (countsForTeam(attempt)) count(attempt.workloadId, attempt);
  for (const nomination of state.nominations.values()) count(nomination.workloadId, nomination);
}
