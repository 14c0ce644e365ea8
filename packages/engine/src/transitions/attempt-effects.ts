/** Builds the effects about an attempt, for the round that places it, for stops, and for repeats after a restart. */
import type {
  CheckpointGang,
  GrowGang,
  LaunchGang,
  ReplaceWorkers,
  ShrinkGang,
  StopGang,
} from "../contract/effects.ts";
import type { ExecutorId } from "../model/fleet.ts";
import { executorOf as executorOfAttempt } from "../state/executors.ts";
import type { Attempt, StopReason, WorkerAllocation } from "../model/workload.ts";
import { checkpointTimeoutOf } from "../policy/checkpoint-timeout.ts";
import { checkpointEveryMs } from "./checkpoint-every.ts";
import { workloadOf } from "../cluster/entities.ts";
import { InvariantError } from "../base/invariant.ts";
import type { World } from "../cluster/world.ts";

export function launchOf(world: World, attempt: Attempt): LaunchGang {
  const { spec, given } = workloadOf(world, attempt.workloadId);
  const launch: LaunchGang = {
    kind: "launchGang",
    executor: executorOf(world, attempt),
    attemptId: attempt.id,
    workloadId: attempt.workloadId,
    task: attempt.task,
    number: attempt.number,
    spec,
    workers: attempt.workers,
    sequence: attempt.placedSequence,
  };
  const everyMs = checkpointEveryMs(world, { spec }, attempt);
  return {
    ...launch,
    ...(given === undefined ? {} : { artifacts: given }),
    ...(everyMs === undefined ? {} : { checkpointEveryMs: everyMs }),
  };
}

export function stopOf(world: World, attempt: Attempt, reason: StopReason): StopGang {
  return {
    kind: "stopGang",
    executor: executorOf(world, attempt),
    attemptId: attempt.id,
    graceTimeoutMs: workloadOf(world, attempt.workloadId).spec.graceTimeoutMs,
    reason,
  };
}

export function checkpointOf(world: World, attempt: Attempt, untilMs: number): CheckpointGang {
  return { kind: "checkpointGang", executor: executorOf(world, attempt), attemptId: attempt.id, untilMs };
}

export function growthOf(world: World, attempt: Attempt, workers: readonly WorkerAllocation[]): GrowGang {
  return {
    kind: "growGang",
    executor: executorOf(world, attempt),
    attemptId: attempt.id,
    workloadId: attempt.workloadId,
    firstRank: attempt.workers.length - workers.length,
    workers,
    launch: launchOf(world, attempt),
  };
}

export function replaceOf(world: World, attempt: Attempt, ranks: readonly number[]): ReplaceWorkers {
  return {
    kind: "replaceWorkers",
    executor: executorOf(world, attempt),
    attemptId: attempt.id,
    workloadId: attempt.workloadId,
    workers: ranks.map((rank) => ({ rank, worker: attempt.workers[rank] as WorkerAllocation })),
  };
}

export function shrinkOf(world: World, attempt: Attempt): ShrinkGang {
  const { spec } = workloadOf(world, attempt.workloadId);
  const checkpointTimeoutMs = attempt.startedAtMs === null ? 0 : checkpointTimeoutOf(world.rules, spec);
  return {
    kind: "shrinkGang",
    executor: executorOf(world, attempt),
    attemptId: attempt.id,
    workers: attempt.workers.length,
    graceTimeoutMs: spec.graceTimeoutMs,
    ...(checkpointTimeoutMs > 0 ? { checkpointTimeoutMs } : {}),
  };
}

function executorOf({ state }: World, attempt: Attempt): ExecutorId {
  const executor = executorOfAttempt(state, attempt);
  if (executor === null) throw new InvariantError(`attempt ${attempt.id} runs in no pool`);
  return executor;
}
