/**
 * Interval between checkpoints for work with `checkpoint.every: auto`: Daly's optimum for the failure rate of the
 * fleet's nodes (J. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22,
 * 2006, equation 37).
 */
import type { Attempt, EndedAttempt, WorkloadSpec } from "@headroom/model";
import type { ReadonlyState } from "../state/state.ts";

const DAY_MS = 86_400_000;
/**
 * Prior for the time between failures of one node, with the weight of one recorded failure: 419 interruptions of 2,048
 * nodes in 54 days (The Llama 3 Herd of Models, table 5).
 */
const PRIOR_NODE_MS = Math.round(((2048 * 54) / 419) * DAY_MS);
/** Assumed time that a checkpoint takes, in ms, for work that does not state it. */
export const CHECKPOINT_COST_MS = 30_000;

/**
 * Node failures that interrupted attempts which the state still has a record of, and the node time of these attempts.
 */
export interface NodeFailures {
  readonly failureCount: number;
  readonly nodeMs: number;
  /**
   * Mean time between failures of one node. It is computed from the recorded failures and, so that few records do not
   * mislead, from one assumed failure at the published rate.
   */
  readonly meanNodeMs: number;
}

export interface CheckpointInterval {
  readonly everyMs: number;
  /** Time for which one checkpoint interrupts the work. */
  readonly costMs: number;
  /** Mean time until any of the work's nodes fails. */
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

/** Whether the attempt ended by the loss of its node, or of its supervisor. */
const isNodeFailure = ({ outcome, stopReason }: EndedAttempt): boolean =>
  stopReason === "nodeLost" || (outcome === "lost" && stopReason === null);

const nodeTimeMs = ({ workers, startedAtMs }: Pick<Attempt, "workers" | "startedAtMs">, endMs: number): number =>
  startedAtMs === null ? 0 : Math.max(0, endMs - startedAtMs) * distinctNodes(workers);

export const distinctNodes = (workers: Attempt["workers"]): number => new Set(workers.map(({ node }) => node)).size;

/**
 * Checkpoint interval, in whole seconds but at least the time that a checkpoint takes. `nodeCount`: number of nodes on
 * which the gang runs or will run.
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
 * Number of nodes that the gang would take if each of them were as large as the fleet's largest node. A worker without
 * accelerators counts as one node.
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
