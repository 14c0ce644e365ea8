/**
 * Interval between checkpoints for work with `checkpoint.every: auto`: Daly's optimum for the failure rate of the
 * fleet's nodes (J. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22,
 * 2006, equation 37).
 */
import type { Attempt, EndedAttempt, WorkloadSpec } from "../model/workload.ts";
import type { ReadonlyState } from "../state/state.ts";

const DAY_MS = 86_400_000;
/**
 * Assumed time per node failure before anything was recorded, with the weight of one failure: 419 interruptions of
 * 2,048 nodes in 54 days (The Llama 3 Herd of Models, table 5).
 */
const PRIOR_NODE_MS = Math.round(((2048 * 54) / 419) * DAY_MS);
/** Assumed cost of a checkpoint, in ms, for work that does not state one. */
export const CHECKPOINT_COST_MS = 30_000;

/** Node failures that interrupted work of which the state has a record, and the node time of that work. */
export interface NodeFailures {
  readonly failureCount: number;
  readonly nodeMs: number;
  /** Mean time between failures of one node: from the recorded failures and one failure at the published rate. */
  readonly meanNodeMs: number;
}

export interface CheckpointInterval {
  readonly everyMs: number;
  /** Time for which one checkpoint stops the work. */
  readonly costMs: number;
  /** Mean time between failures of the work's nodes. */
  readonly failureMs: number;
  readonly nodeCount: number;
  readonly failures: NodeFailures;
}

export function nodeFailures({ workloads, attempts, nowMs }: ReadonlyState): NodeFailures {
  let failureCount = 0;
  let nodeMs = 0;
  for (const { endedAttempts } of workloads.values())
    for (const attempt of endedAttempts) {
      if (isNodeFailure(attempt)) failureCount += 1;
      nodeMs += nodeTimeMs(attempt, attempt.endedAtMs);
    }
  for (const attempt of attempts.values()) nodeMs += nodeTimeMs(attempt, nowMs);
  return { failureCount, nodeMs, meanNodeMs: Math.round((PRIOR_NODE_MS + nodeMs) / (1 + failureCount)) };
}

/** A lost attempt ended with its machine or its supervisor. */
const isNodeFailure = ({ outcome, stopReason }: EndedAttempt): boolean =>
  stopReason === "nodeLost" || (outcome === "lost" && stopReason === null);

const nodeTimeMs = ({ workers, startedAtMs }: Pick<Attempt, "workers" | "startedAtMs">, endMs: number): number =>
  startedAtMs === null ? 0 : Math.max(0, endMs - startedAtMs) * distinctNodes(workers);

export const distinctNodes = (workers: Attempt["workers"]): number => new Set(workers.map(({ node }) => node)).size;

/**
 * Checkpoint interval in whole seconds, at least the cost of a checkpoint. `workers`: present or planned places of the
 * gang.
 */
export function checkpointIntervalOn(
  failures: NodeFailures,
  { checkpointCostMs: costMs = CHECKPOINT_COST_MS }: Pick<WorkloadSpec, "checkpointCostMs">,
  nodeCount: number,
): CheckpointInterval {
  const failureMs = Math.max(1, Math.round(failures.meanNodeMs / Math.max(1, nodeCount)));
  const everyMs = Math.max(1_000, costMs, Math.round(dalyMs(costMs, failureMs) / 1_000) * 1_000);
  return { everyMs, costMs, failureMs, nodeCount, failures };
}

function dalyMs(costMs: number, failureMs: number): number {
  if (costMs >= 2 * failureMs) return failureMs;
  const ratio = costMs / (2 * failureMs);
  return Math.sqrt(2 * costMs * failureMs) * (1 + Math.sqrt(ratio) / 3 + ratio / 9) - costMs;
}

/**
 * Maximum number of nodes of the gang: one for each worker, or as many of the fleet's largest nodes as hold its
 * accelerators.
 */
export function nodeCountOf({ nodes }: ReadonlyState, { gang }: Pick<WorkloadSpec, "gang">): number {
  const largest = [...nodes.values()].reduce((most, { acceleratorCount }) => Math.max(most, acceleratorCount), 1);
  const groups = gang.taskGroups ?? [gang];
  const count = groups.reduce((sum, { workers, accelerators }) => {
    const perNode = accelerators === 0 ? 1 : Math.max(1, Math.floor(largest / accelerators));
    return sum + Math.ceil(workers / perNode);
  }, 0);
  return Math.max(1, count);
}
