import type { ScaleCommand } from "@headroom/autoscale";
import { clockOf, forkEngine, type Engine } from "@headroom/engine";
import { commandId, type WorkloadId } from "@headroom/model";

/**
 * Whether an endpoint without a replica would get a place if another one had fewer replicas and these had stopped. The answer is a
 * round of a fork, so it counts the queue, quotas, back-offs, holds and what the place has.
 */
export function makesRoom(engine: Engine, waitingId: WorkloadId, command: ScaleCommand): boolean {
  const fork = forkEngine(engine);
  const nowMs = clockOf(engine);
  fork.receive([{ ...command, commandId: commandId("makes-room"), actor: "autoscaler", idempotencyKey: null }], nowMs);
  fork.advance();
  const { workloads, attempts } = fork.state;
  const stopping = (workloads.get(command.workloadId)?.activeAttempts ?? []).flatMap((id) => {
    const attempt = attempts.get(id);
    return attempt === undefined || attempt.stop === null ? [] : [attempt];
  });
  if (stopping.length === 0) return false;
  fork.receive(
    stopping.map(({ id, workers }) => ({
      kind: "attemptExited",
      attemptId: id,
      exits: workers.map((_, worker) => ({ kind: "exited", worker, code: 0 })),
    })),
    nowMs,
  );
  fork.advance();
  return (fork.state.workloads.get(waitingId)?.activeAttempts.length ?? 0) > 0;
}
