/** Nothing is lost and nothing appears: workloads, their tasks and their attempts add up after every round. */
import { taskCountOf, type ReadonlyState, type Workload } from "@headroom/engine";
import type { SimulatedRound } from "../run/simulation.ts";
import { mustHold } from "./violation.ts";

export function checkConservation({ ready, engine }: SimulatedRound): void {
  const { state } = engine;
  let unended = 0;
  for (const workload of state.workloads.values()) {
    checkTasks(workload);
    if (workload.endedAtMs === null) unended++;
  }
  const expected = state.submittedCount - state.endedCount;
  mustHold(
    unended === expected,
    () => `${unended} workloads have not ended, ${state.submittedCount} - ${state.endedCount} should`,
  );
  checkAttempts(state);
  for (const reply of ready.replies) {
    if (reply.kind !== "accepted" || reply.result.kind !== "workloadSubmitted") continue;
    const { workloadId } = reply.result;
    mustHold(state.workloads.has(workloadId), () => `${workloadId} was accepted and is not there`);
  }
}

function checkTasks(workload: Workload): void {
  const { id, spec, nextTask, retries, activeAttempts, succeededCount, failedCount, stopRequested } = workload;
  const taskCount = taskCountOf(spec);
  const accounted = taskCount - nextTask + retries.length + activeAttempts.length + succeededCount + failedCount;
  // Tasks of a cancelled workload that were under way end without counting as either.
  if (!stopRequested)
    mustHold(accounted === taskCount, () => `${id}: ${accounted} tasks are accounted for, it has ${taskCount}`);
  mustHold(nextTask <= taskCount && accounted <= taskCount, () => `${id}: more tasks than the ${taskCount} it has`);
  const isOver = workload.endedAtMs !== null;
  const isWaiting = !stopRequested && (nextTask < taskCount || retries.length > 0);
  const hasLife = isWaiting || activeAttempts.length > 0;
  mustHold(
    isOver !== hasLife,
    () => `${id} ${isOver ? "ended with tasks under way" : "has no task left and has not ended"}`,
  );
  const phases = isOver ? ["succeeded", "failed", "cancelled"] : ["pending", "running", "stopping"];
  mustHold(phases.includes(workload.phase), () => `${id} is ${workload.phase}`);
}

/** Attempts and workloads name each other. */
function checkAttempts(state: ReadonlyState): void {
  let named = 0;
  for (const workload of state.workloads.values()) {
    named += workload.activeAttempts.length;
    for (const attemptId of workload.activeAttempts) {
      const attempt = state.attempts.get(attemptId);
      mustHold(
        attempt?.workloadId === workload.id,
        () => `${workload.id} names ${attemptId}, which is not its attempt`,
      );
    }
  }
  mustHold(named === state.attempts.size, () => `${state.attempts.size} attempts are active, workloads name ${named}`);
}
