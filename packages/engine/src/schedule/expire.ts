/** The first phase of a round: what time alone brings about. */
import type { Batch } from "../batch.ts";
import { requestStop } from "../decide/stop-attempt.ts";
import { readyTask } from "../state/ready-task.ts";

/** Walltimes that ran out stop their attempts; back-offs that ended put their workloads back in the queue. */
export function expire(batch: Batch): void {
  const { world, nowMs } = batch;
  const next = world.timers.nextAtMs();
  if (next === null || next > nowMs) return;
  const due = world.timers.takeDue(nowMs);
  const overrun = due
    .flatMap((timer) => (timer.kind === "walltime" ? (world.state.attempts.get(timer.attemptId) ?? []) : []))
    .filter((attempt) => attempt.phase === "running")
    .toSorted((left, right) => left.placedSequence - right.placedSequence);
  for (const attempt of overrun) requestStop(batch, attempt, "walltimeExceeded");
  for (const timer of due) {
    if (timer.kind !== "retry") continue;
    const workload = world.state.workloads.get(timer.workloadId);
    if (workload === undefined || workload.endedAtMs !== null || readyTask(workload, nowMs) === null) continue;
    if (!world.queue.has(workload)) world.queue.add(workload);
  }
}
