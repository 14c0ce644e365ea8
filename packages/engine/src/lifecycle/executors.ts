/**
 * Declarations and contact of executors. An executor that falls silent, or is removed, changes nothing about its
 * attempts: nobody knows whether they run. Only its answer ends them, or an operator who gives them up.
 */
import type { Attempt, Command, ExecutorId, ExecutorState, ImportedHistory } from "@headroom/model";
import type { Batch } from "../batch/batch.ts";
import { executorOf } from "../state/executors.ts";
import { done, refused } from "./decision.ts";
import type { Decision } from "./decision.ts";
import { endAttempt } from "./end-attempt.ts";

export function setExecutor(batch: Batch, command: Command & { readonly kind: "setExecutor" }): Decision {
  const { executor, change, actor } = command;
  const { world, nowMs: atMs } = batch;
  const known = world.state.executorStates.get(executor);
  switch (change.kind) {
    case "declare":
      if (known === undefined || !known.isDeclared || known.phase === "removed" || known.mode !== change.mode)
        batch.emit({ kind: "executorDeclared", version: 1, atMs, executor, mode: change.mode, actor });
      return done({ kind: "executorSet", executor, attempts: attemptsOf(batch, executor).length });
    case "remove":
      if (known === undefined || !known.isDeclared) return refused({ code: "unknownExecutor", executor });
      if (known.phase !== "removed") batch.emit({ kind: "executorRemoved", version: 1, atMs, executor, actor });
      return done({ kind: "executorSet", executor, attempts: attemptsOf(batch, executor).length });
    case "importHistory":
      return importHistory(batch, { known, actor, history: change.history });
    case "abandon":
      return abandon(batch, { known, executor, actor, reason: change.reason });
  }
}

interface Imported {
  readonly known: ExecutorState | undefined;
  readonly actor: string;
  readonly history: ImportedHistory;
}

/** The same content leaves no event. */
function importHistory(batch: Batch, { known, actor, history }: Imported): Decision {
  const { executor } = history;
  if (known === undefined || !known.isDeclared || known.phase === "removed")
    return refused({ code: "unknownExecutor", executor });
  const before = batch.world.state.importedHistories.get(executor);
  if (before?.digest !== history.digest)
    batch.emit({ kind: "historyImported", version: 1, atMs: batch.nowMs, history, actor });
  return done({ kind: "executorSet", executor, attempts: attemptsOf(batch, executor).length });
}

interface Abandoned {
  readonly known: ExecutorState | undefined;
  readonly executor: ExecutorId;
  readonly actor: string;
  readonly reason: string;
}

/** Ends the attempts of an executor that does not answer, so that their tasks run elsewhere. */
function abandon(batch: Batch, { known, executor, actor, reason }: Abandoned): Decision {
  if (known === undefined) return refused({ code: "unknownExecutor", executor });
  if (known.phase === "reachable") return refused({ code: "executorReachable", executor });
  const attempts = attemptsOf(batch, executor);
  const { nowMs: atMs } = batch;
  batch.emit({ kind: "executorAbandoned", version: 1, atMs, executor, attempts: attempts.length, actor, reason });
  const detail = `${actor} gave it up while its executor ${executor} was ${known.phase}${reason === "" ? "" : `: ${reason}`}`;
  for (const attempt of attempts)
    endAttempt(batch, attempt, { outcome: attempt.stop === null ? "lost" : "stopped", exit: null, detail });
  return done({ kind: "executorSet", executor, attempts: attempts.length });
}

const attemptsOf = ({ world: { state } }: Batch, executor: ExecutorId): readonly Attempt[] =>
  [...state.attempts.values()].filter((attempt) => executorOf(state, attempt) === executor);

/** Records that an executor does not answer. Repeated reports change nothing, whatever their reason. */
export function loseExecutor(batch: Batch, executor: ExecutorId, detail: string): void {
  const known = batch.world.state.executorStates.get(executor);
  if (known?.phase === "unreachable" || known?.phase === "removed") return;
  batch.emit({ kind: "executorLost", version: 1, atMs: batch.nowMs, executor, detail });
}

/** Records that an executor answers. One that has always answered leaves no event. */
export function regainExecutor(batch: Batch, executor: ExecutorId): void {
  const known = batch.world.state.executorStates.get(executor);
  if (known === undefined || known.phase === "reachable" || known.phase === "removed") return;
  batch.emit({ kind: "executorReturned", version: 1, atMs: batch.nowMs, executor });
}
