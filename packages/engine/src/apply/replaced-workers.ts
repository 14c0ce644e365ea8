/** Workers that are lost with a node while their gang continues, and their replacements. */
import type { AttemptEvent } from "../contract/events.ts";
import { ranksOf } from "../model/workload.ts";
import type { WorkerAllocation } from "../model/workload.ts";
import { workloadOf } from "./writable.ts";
import { growthOf, holdAttempt, releaseAttempt } from "../cluster/holdings.ts";
import { waitForWindows } from "../cluster/world.ts";
import type { WritableWorld } from "./writable.ts";
import { wakeForBudgets } from "./accounts.ts";
import { settleUse } from "./settle-use.ts";
import { touchedAttempt } from "./touched.ts";

/** Releases the workers on the lost node; the gang's other workers keep their places and ranks. */
export function loseRanks(world: WritableWorld, event: AttemptEvent & { readonly kind: "ranksLost" }): void {
  const attempt = touchedAttempt(world, event.attemptId);
  const workload = workloadOf(world, attempt.workloadId);
  const ranks = ranksOf(attempt);
  settleUse(world, workload);
  releaseAttempt(world, attempt);
  attempt.workers = attempt.workers.filter((_, index) => !event.ranks.includes(ranks[index] as number));
  attempt.missing = [...(attempt.missing ?? []), ...event.ranks].sort((left, right) => left - right);
  holdAttempt(world, attempt);
  world.queue.setGrowth(workload, attempt.id, 0);
}

export function replaceWorkers(world: WritableWorld, event: AttemptEvent & { readonly kind: "workersReplaced" }): void {
  const attempt = touchedAttempt(world, event.attemptId);
  const workload = workloadOf(world, attempt.workloadId);
  const { missing = [] } = attempt;
  settleUse(world, workload);
  releaseAttempt(world, attempt);
  const workers = [...attempt.workers];
  // In ascending order each worker can be inserted at its rank, because all lower ranks are present.
  missing.forEach((rank, index) => workers.splice(rank, 0, event.workers[index] as WorkerAllocation));
  attempt.workers = workers;
  attempt.joining = [...new Set([...(attempt.joining ?? []), ...missing])].sort((left, right) => left - right);
  delete attempt.missing;
  holdAttempt(world, attempt);
  wakeForBudgets(world, workload.spec.team);
  waitForWindows(world, attempt);
}

export function joinWorkers(
  world: WritableWorld,
  { attemptId }: AttemptEvent & { readonly kind: "workersJoined" },
): void {
  const attempt = touchedAttempt(world, attemptId);
  const workload = workloadOf(world, attempt.workloadId);
  delete attempt.joining;
  world.queue.setGrowth(workload, attempt.id, growthOf(world, workload, attempt));
}
