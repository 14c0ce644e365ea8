/** Processor time and memory of a workload's running workers. Their executor reports both. */
import { ACTIVE_ATTEMPTS_SHOWN_MAX, refuse } from "@headroom/protocol";
import type { AttemptUsage, WorkloadUsage } from "@headroom/protocol";
import type { Attempt, WorkerAllocation, WorkloadId } from "@headroom/model";
import { executorOf } from "./attempt-executor.ts";
import type { ControlPlane } from "./control-plane.ts";

export async function workloadUsage(plane: ControlPlane, id: string): Promise<WorkloadUsage> {
  const attempts = await plane.driver.read(({ state }) => {
    const workload = state.workloads.get(id as WorkloadId);
    if (workload === undefined) return null;
    const newest = workload.activeAttempts.slice(-ACTIVE_ATTEMPTS_SHOWN_MAX);
    return newest.flatMap((attemptId) => state.attempts.get(attemptId) ?? []);
  });
  if (attempts === null) throw refuse("unknownWorkload", `There is no workload ${id}; it may have ended long ago.`);
  const usages = await Promise.all(attempts.map((attempt) => attemptUsage(plane, attempt)));
  return { workloadId: id, atMs: plane.nowMs(), attempts: usages.filter((usage) => usage !== null) };
}

function placeOf(
  { accelerators: { readings }, nowMs }: ControlPlane,
  worker: WorkerAllocation | undefined,
): Pick<AttemptUsage["workers"][number], "node" | "accelerators"> {
  if (worker === undefined) return {};
  const held = readings.heldBy(worker.node, worker.accelerators, nowMs());
  return { node: worker.node, ...(held === null || held.length === 0 ? {} : { accelerators: [...held] }) };
}

/** Usage of an attempt; `null`: its executor does not report usage, or has not reported any yet. */
async function attemptUsage(plane: ControlPlane, attempt: Attempt): Promise<AttemptUsage | null> {
  const executor = await executorOf(plane, attempt.workers);
  const usage = (await executor?.usage(attempt.id)) ?? null;
  if (usage === null) return null;
  const workers = usage.workers.map(({ worker, cpuMs, rssMib, peakRssMib }) => ({
    worker,
    cpuMs: Math.round(cpuMs),
    rssMib: Math.round(rssMib),
    peakRssMib: Math.round(peakRssMib),
    ...placeOf(plane, attempt.workers[worker]),
  }));
  return { attemptId: attempt.id, task: attempt.task, number: attempt.number, workers };
}
