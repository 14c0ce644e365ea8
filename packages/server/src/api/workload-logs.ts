/**
 * A workload's output as one stream. An executor has the logs of single attempts; the stream of a workload continues
 * with its next attempt until the workload has ended.
 */
import type { AttemptId, WorkerAllocation, Workload, WorkloadId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { LogRequest } from "@headroom/executors";
import { refuse } from "@headroom/protocol";
import type { LogChunk, LogQuery } from "@headroom/protocol";
import { readableTeams } from "../auth/team-tree.ts";
import { executorOf } from "./attempt-executor.ts";
import type { Handlers } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";

type Query = Omit<LogQuery, "signal">;

interface Target {
  readonly attemptId: AttemptId;
  readonly workers: readonly WorkerAllocation[];
}

interface Situation {
  /** The newest attempt; `null`: no attempt has started yet. */
  readonly newest: Target | null;
  readonly hasEnded: boolean;
  readonly sequence: number;
}

/** Opens the stream; throws before any output if the workload or attempt does not exist. */
export async function openLogs(
  plane: ControlPlane,
  id: string,
  query: Query,
  signal: AbortSignal,
): Promise<AsyncIterable<LogChunk>> {
  const workloadId = id as WorkloadId;
  const situation = await situationOf(plane, workloadId);
  if (situation === null) throw refuse("unknownWorkload", `There is no workload ${id}; it may have ended long ago.`);
  if (query.attempt === undefined) return workloadChunks(plane, workloadId, query, signal);
  const target = await namedAttempt(plane, workloadId, query.attempt);
  if (target === null)
    throw refuse(
      "unknownAttempt",
      `${id} has no attempt ${query.attempt}, or its output was removed and only the journal knows it.`,
    );
  return attemptChunks(plane, target, query, signal);
}

export const searchLogs: Handlers["searchLogs"] = ({ logSearch }, { query, actor, principal }, gone) =>
  logSearch.search({ query, actor, readableTeams: (state) => readableTeams(state, principal), gone: gone() });

async function* workloadChunks(
  plane: ControlPlane,
  id: WorkloadId,
  query: Query,
  signal: AbortSignal,
): AsyncGenerator<LogChunk> {
  let shown: AttemptId | null = null;
  for (;;) {
    const situation = await situationOf(plane, id);
    if (situation === null || signal.aborted) return;
    const { newest, hasEnded, sequence } = situation;
    if (newest !== null && newest.attemptId !== shown) {
      shown = newest.attemptId;
      yield* attemptChunks(plane, newest, query, signal);
      if (query.follow !== true) return;
      continue;
    }
    if (query.follow !== true || hasEnded) return;
    await nextTurn(plane, id, sequence, signal);
  }
}

async function* attemptChunks(
  plane: ControlPlane,
  target: Target,
  query: Query,
  signal: AbortSignal,
): AsyncGenerator<LogChunk> {
  const { attemptId } = target;
  const executor = await executorOf(plane, target.workers);
  if (executor === null) return;
  const request: LogRequest = {
    worker: query.worker ?? null,
    stream: query.stream ?? null,
    start: query.tailLines === undefined ? { kind: "oldest" } : { kind: "tail", lines: query.tailLines },
    sinceMs: query.sinceMs,
    follow: query.follow === true,
  };
  try {
    for await (const { worker, stream, atMs, text } of executor.logs(attemptId, request, signal)) {
      yield { attemptId, worker, stream, atMs, text };
    }
  } catch (error) {
    // The attempt was placed just now and is not launched yet, or it has been removed since. In both cases it has no
    // output.
    if ((error as { code?: unknown }).code !== "unknownAttempt") throw error;
  }
}

function situationOf({ driver }: ControlPlane, id: WorkloadId): Promise<Situation | null> {
  return driver.read(({ state }) => {
    const workload = state.workloads.get(id);
    if (workload === undefined) return null;
    return { newest: newestAttempt(state, workload), hasEnded: workload.endedAtMs !== null, sequence: state.sequence };
  });
}

function newestAttempt(state: ReadonlyState, workload: Workload): Target | null {
  // A launched attempt may have output; an attempt that is only placed has none.
  const active = workload.activeAttempts.flatMap((attemptId) => state.attempts.get(attemptId) ?? []).at(-1);
  if (active !== undefined && active.startedAtMs !== null) {
    return { attemptId: active.id, workers: active.workers };
  }
  const ended = workload.endedAttempts.at(-1);
  return ended === undefined ? null : { attemptId: ended.id, workers: ended.workers };
}

async function namedAttempt({ driver }: ControlPlane, id: WorkloadId, name: string): Promise<Target | null> {
  return driver.read(({ state }) => {
    const active = state.attempts.get(name as AttemptId);
    if (active !== undefined && active.workloadId === id) {
      return { attemptId: active.id, workers: active.workers };
    }
    const ended = state.workloads.get(id)?.endedAttempts.find((attempt) => attempt.id === name);
    return ended === undefined ? null : { attemptId: ended.id, workers: ended.workers };
  });
}

/** Waits until another attempt of the workload has started, or the workload has ended. */
async function nextTurn(
  { driver }: ControlPlane,
  id: WorkloadId,
  sequence: number,
  signal: AbortSignal,
): Promise<void> {
  for await (const { event } of driver.events(sequence + 1, signal)) {
    if (event.kind === "workloadEnded" && event.workloadId === id) return;
    if (event.kind !== "attemptStarted") continue;
    const { attemptId } = event;
    if (await driver.read(({ state }) => hasAttempt(state.workloads.get(id), attemptId))) return;
  }
}

function hasAttempt(workload: Workload | undefined, attemptId: AttemptId): boolean {
  if (workload === undefined) return true;
  return (
    workload.activeAttempts.includes(attemptId) || workload.endedAttempts.some((attempt) => attempt.id === attemptId)
  );
}
