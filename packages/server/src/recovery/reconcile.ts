/**
 * After a restart, compares the running attempts of the journal with those that the executors report. The code is pure:
 * differences become observations for the engine, and stops for attempts that the engine no longer knows. Running
 * attempts are adopted without any action. Only launches without any report are requested again; executors launch an
 * attempt at most once.
 */
import { executorOf } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import type {
  Attempt,
  AttemptId,
  Effect,
  ExecutorId,
  NodeId,
  NodeSpec,
  Observation,
  WorkerExit,
} from "@headroom/model";
import type { KnownAttempt } from "@headroom/executors";
import { labelled } from "../node-labels.ts";

/** Report of one executor about its attempts and nodes. */
export interface ExecutorReport {
  readonly id: ExecutorId;
  readonly attempts: readonly KnownAttempt[];
  /** Nodes of the executor; `null`: it could not list its nodes, and the known nodes stay as they are. */
  readonly nodes: readonly NodeSpec[] | null;
  /** Whether an attempt or node that is missing from the answer does not exist (`Executor.attemptsAreComplete`). */
  readonly isComplete: boolean;
}

export interface Reconciliation {
  readonly observations: readonly Observation[];
  readonly effects: readonly Effect[];
}

/** Grace period in ms of attempts that the engine no longer knows, because their own grace period is unknown. */
const UNKNOWN_GRACE_MS = 10_000;

export function reconcile(state: ReadonlyState, reports: readonly ExecutorReport[]): Reconciliation {
  const observations: Observation[] = [];
  const effects: Effect[] = [];
  const known = new Set<AttemptId>();
  for (const report of reports) {
    for (const attempt of report.attempts)
      if (isOwn(state, report.id, attempt.attemptId)) {
        known.add(attempt.attemptId);
        observations.push(...observationsOf(state, attempt));
      } else if (mayRun(attempt)) effects.push(stopOf(attempt.attemptId, report.id));
  }
  // Attempts of executors that did not answer, or that this control plane does not have, are unknown and stay as recorded.
  const complete = new Set(reports.flatMap(({ id, isComplete }) => (isComplete ? [id] : [])));
  for (const attempt of state.attempts.values()) {
    if (known.has(attempt.id) || attempt.phase === "launching") continue;
    const id = executorOf(state, attempt);
    if (id === null ? reports.length > 0 : complete.has(id)) observations.push(vanished(attempt));
  }
  for (const report of reports) if (report.nodes !== null) observations.push(...observeNodes(state, report));
  return { observations, effects };
}

/** Recorded attempts of the executor that its answer lacks, although it may not be complete: they are unknown. */
export function missingAttempts(
  state: ReadonlyState,
  { id, attempts, isComplete }: ExecutorReport,
): readonly AttemptId[] {
  if (isComplete) return [];
  const known = new Set(attempts.map(({ attemptId }) => attemptId));
  return [...state.attempts.values()].flatMap((attempt) =>
    attempt.phase !== "launching" && !known.has(attempt.id) && executorOf(state, attempt) === id ? [attempt.id] : [],
  );
}

/** Whether the attempt is active and belongs to this executor, not to another one. */
function isOwn(state: ReadonlyState, id: ExecutorId, attemptId: AttemptId): boolean {
  const attempt = state.attempts.get(attemptId);
  return attempt !== undefined && (executorOf(state, attempt) ?? id) === id;
}

/** The newest attempt that any executor knows. It shows which point the journal had once reached. */
export function newestKnown(reports: readonly ExecutorReport[]): KnownAttempt | null {
  let newest: KnownAttempt | null = null;
  for (const { attempts } of reports) {
    for (const attempt of attempts) if (newest === null || attempt.sequence > newest.sequence) newest = attempt;
  }
  return newest;
}

function observationsOf(state: ReadonlyState, { attemptId, phase }: KnownAttempt): readonly Observation[] {
  switch (phase.kind) {
    case "launching":
      return [];
    case "running":
      return [{ kind: "attemptRunning", attemptId }];
    case "ended":
      // The executor reports this end with the artifacts, once it has read them. Ended without them, the work would have made nothing.
      if (hasMade(state, attemptId, phase.exits)) return [{ kind: "attemptRunning", attemptId }];
      return [{ kind: "attemptExited", attemptId, exits: phase.exits }];
    case "lost": {
      const { detail, cause } = phase;
      return [{ kind: "attemptLost", attemptId, detail, ...(cause === undefined ? {} : { cause }) }];
    }
    default:
      return phase satisfies never;
  }
}

/** Whether the attempt succeeded and its workload declares artifacts. */
function hasMade({ attempts, workloads }: ReadonlyState, id: AttemptId, exits: readonly WorkerExit[]): boolean {
  const attempt = attempts.get(id);
  const produces = attempt === undefined ? [] : (workloads.get(attempt.workloadId)?.spec.produces ?? []);
  return produces.length > 0 && exits.every((exit) => exit.kind === "exited" && exit.code === 0);
}

const mayRun = ({ phase }: KnownAttempt): boolean => phase.kind === "launching" || phase.kind === "running";

function stopOf(attemptId: AttemptId, executor: ExecutorId): Effect {
  return { kind: "stopGang", executor, attemptId, graceTimeoutMs: UNKNOWN_GRACE_MS, reason: "cancelled" };
}

function vanished({ id, phase }: Attempt): Observation {
  const detail = `it was ${phase} before the control plane restarted, and no executor knows it now`;
  return { kind: "attemptLost", attemptId: id, detail };
}

function observeNodes(state: ReadonlyState, { id, nodes, isComplete }: ExecutorReport): Observation[] {
  const observations: Observation[] = [];
  const seen = new Set<NodeId>();
  for (const node of nodes ?? []) {
    seen.add(node.id);
    // A node of an undeclared pool is reported once the pool is declared.
    if (state.pools.get(node.pool)?.executor === id) {
      observations.push({ kind: "nodeSeen", node: labelled(state, node) });
    }
  }
  // A node that another system does not list is lost only after a time (`executors/unlisted-nodes.ts`).
  if (!isComplete) return observations;
  for (const node of state.nodes.values()) {
    if (seen.has(node.id) || node.health === "lost" || state.pools.get(node.pool)?.executor !== id) continue;
    observations.push({ kind: "nodeUnreachable", nodeId: node.id, detail: "the executor no longer lists it" });
  }
  return observations;
}
