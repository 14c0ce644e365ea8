/**
 * Seeded faults: when nodes die and return, and which attempts fail. Every answer is a pure function of the seed and
 * the entity, so that a fork of a run has the same faults.
 */
import { hashText } from "@headroom/model";
import type { LaunchGang, NodeId } from "@headroom/model";
import { drawBelow, drawExponential } from "./exponential.ts";
import type { RunPlan } from "../executor/run-plan.ts";

export interface FaultOptions {
  readonly seed: number;
  /** Mean time in ms between losses of one node; `null`: nodes never fail. */
  readonly nodeMeanUpMs: number | null;
  /** Mean time in ms until a lost node returns. */
  readonly nodeMeanDownMs: number;
  /** Notice in ms before a loss, like a spot termination notice; absent: none. */
  readonly nodeNoticeMs?: number;
  /** Number of failing attempts in every 10,000. */
  readonly attemptFailuresPer10000: number;
  /** Levels of failure domains that are lost as a whole; absent: none. */
  readonly levels?: readonly LevelFaults[];
  /** Losses at stated times; absent: none. */
  readonly losses?: readonly StatedLoss[];
}

/** Random losses of whole failure domains of one level. */
export interface LevelFaults {
  /** A level of the fabric such as `leaf`, `pool`, `site`, or the name of a label such as `rack` or `feed`. */
  readonly level: string;
  /** Mean time in ms between losses of one domain of the level. */
  readonly meanUpMs: number;
}

/** Nodes that are lost at one instant and return at one instant. */
export interface StatedLoss {
  readonly nodes: readonly NodeId[];
  /** Time in ms from the first submission. */
  readonly atMs: number;
  readonly forMs: number;
}

export interface NodeFaults {
  /**
   * Time in ms from joining or returning to the loss of the node; `null`: never. `occurrence` counts earlier losses of
   * this node.
   */
  upMs(nodeOrdinal: number, occurrence: number): number | null;
  downMs(nodeOrdinal: number, occurrence: number): number;
  /** Notice in ms before the loss; `null`: no notice. */
  readonly noticeMs: number | null;
}

export function seededNodeFaults(options: FaultOptions): NodeFaults {
  const { seed, nodeMeanUpMs, nodeMeanDownMs, nodeNoticeMs = null } = options;
  const spell = (meanMs: number, purpose: string, sequence: number): number =>
    Math.max(1, Math.round(meanMs * drawExponential({ seed, sequence, purpose })));
  return {
    upMs: (node, occurrence) => (nodeMeanUpMs === null ? null : spell(nodeMeanUpMs, `node ${node} up`, occurrence)),
    downMs: (node, occurrence) => spell(nodeMeanDownMs, `node ${node} down`, occurrence),
    noticeMs: nodeNoticeMs,
  };
}

/** The plan of one attempt under faults: a failing attempt fails at a uniformly drawn moment of its run. */
export function faultyPlan(options: FaultOptions, launch: LaunchGang, undisturbed: RunPlan): RunPlan {
  const { seed, attemptFailuresPer10000 } = options;
  if (attemptFailuresPer10000 === 0) return undisturbed;
  // The draw depends on the attempt's identity, so that launch order and policy do not change the faults of other
  // attempts.
  const sequence = Number.parseInt(hashText(`${launch.spec.name} ${launch.task} ${launch.number}`).slice(0, 8), 16);
  if (drawBelow({ seed, sequence, purpose: "attempt fails" }, 10_000) >= attemptFailuresPer10000) return undisturbed;
  const share = drawBelow({ seed, sequence, purpose: "attempt fails at" }, 10_000);
  return { durationMs: Math.floor((undisturbed.durationMs * share) / 10_000), exitCode: 1 };
}
