/** Changes of a running gang's workers. */
import { ranksOf } from "@headroom/model";
import type { ResizeEvent, AttemptId, WorkerAllocation } from "@headroom/model";
import { growthOf, holdAttempt, releaseAttempt } from "../cluster/holdings.ts";
import { waitForWindows } from "../cluster/world.ts";
import type { WritableAttempt, WritableWorkload } from "../state/mutable-state.ts";
import { accrueLine, wakeForBudgets } from "./accounts.ts";
import { accrueEndpoint, wakeForEndpoint } from "./endpoint-accounts.ts";
import { recordDecayedUsage } from "./decayed-usage.ts";
import { markDirty, takeNomination } from "./plan-events.ts";
import { touchedAttempt, workloadOf } from "./writable.ts";
import type { Appliers, WritableWorld } from "./writable.ts";

export const resizeEvents: Appliers<ResizeEvent> = {
  gangGrown(world, { attemptId, workers }) {
    if (world.state.nominations.has(attemptId)) takeNomination(world, attemptId);
    const { attempt, workload } = rebook(world, attemptId, (grown) => {
      grown.workers = [...grown.workers, ...workers];
    });
    markDirty(world);
    wakeForBudgets(world, workload.spec.team);
    wakeForEndpoint(world, workload, world.state.nowMs);
    waitForWindows(world, attempt);
    world.queue.setGrowth(workload, attemptId, growthOf(world, workload, attempt));
  },
  /** The gang keeps its size until its next attempt, because a failed growth would otherwise be retried without end. */
  joinFailed(world, { attemptId, workers, atMs, detail }) {
    const { workload } = rebook(world, attemptId, (attempt) => {
      keepFirst(attempt, workers);
      attempt.joinFailure = { atMs, detail };
    });
    world.teamUse.limitEpoch++;
    world.queue.setGrowth(workload, attemptId, 0);
  },
  gangShrinkRequested(world, { attemptId, workers }) {
    const attempt = touchedAttempt(world, attemptId);
    releaseAttempt(world, attempt);
    attempt.terminating = [...attempt.workers.slice(workers), ...(attempt.terminating ?? [])];
    keepFirst(attempt, workers);
    holdAttempt(world, attempt);
    world.teamUse.limitEpoch++;
    world.queue.setGrowth(workloadOf(world, attempt.workloadId), attemptId, 0);
  },
  workersLeft(world, { attemptId }) {
    const { attempt, workload } = rebook(world, attemptId, (shrunk) => {
      delete shrunk.terminating;
    });
    world.queue.setGrowth(workload, attemptId, growthOf(world, workload, attempt));
  },
  /** Only the workers on the lost node are released; the gang's other workers keep their places and ranks. */
  gangDegraded(world, { attemptId, lostRanks }) {
    const { workload } = rebook(world, attemptId, (attempt) => {
      const known = ranksOf(attempt);
      attempt.workers = attempt.workers.filter((_, index) => !lostRanks.includes(known[index] as number));
      attempt.missing = [...(attempt.missing ?? []), ...lostRanks].sort((left, right) => left - right);
    });
    world.queue.setGrowth(workload, attemptId, 0);
  },
  workersReplaced(world, event) {
    const { attempt, workload } = rebook(world, event.attemptId, (degraded) => {
      const { missing = [] } = degraded;
      const workers = [...degraded.workers];
      // In ascending order each worker can be inserted at its rank, because all lower ranks are present.
      missing.forEach((rank, index) => workers.splice(rank, 0, event.workers[index] as WorkerAllocation));
      degraded.workers = workers;
      degraded.joining = [...new Set([...(degraded.joining ?? []), ...missing])].sort((left, right) => left - right);
      delete degraded.missing;
    });
    wakeForBudgets(world, workload.spec.team);
    wakeForEndpoint(world, workload, world.state.nowMs);
    waitForWindows(world, attempt);
  },
  workersJoined(world, { attemptId }) {
    const attempt = touchedAttempt(world, attemptId);
    const workload = workloadOf(world, attempt.workloadId);
    delete attempt.joining;
    world.queue.setGrowth(workload, attemptId, growthOf(world, workload, attempt));
  },
};

/** Settles budgets and usage history before running work changes. */
export function settleUse(world: WritableWorld, workload: WritableWorkload): void {
  accrueLine(world, workload.spec.team);
  accrueEndpoint(world, workload);
  recordDecayedUsage(world, workload);
}

/** Changes an attempt's workers. The indexes release the former places and book the new ones. */
function rebook(
  world: WritableWorld,
  id: AttemptId,
  change: (attempt: WritableAttempt) => void,
): { readonly attempt: WritableAttempt; readonly workload: WritableWorkload } {
  const attempt = touchedAttempt(world, id);
  const workload = workloadOf(world, attempt.workloadId);
  settleUse(world, workload);
  releaseAttempt(world, attempt);
  change(attempt);
  holdAttempt(world, attempt);
  return { attempt, workload };
}

function keepFirst(attempt: WritableAttempt, workers: number): void {
  attempt.workers = attempt.workers.slice(0, workers);
  const joining = attempt.joining?.filter((rank) => rank < workers) ?? [];
  if (joining.length > 0) attempt.joining = joining;
  else delete attempt.joining;
}
