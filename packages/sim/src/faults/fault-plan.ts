/**
 * Seeded misfortune: when nodes die and come back, and which attempts fail. Every answer is a pure function of the seed and
 * of what it is about, so that a fork of a run meets the same fate as the run.
 */
import { hashText, type LaunchGang } from "@headroom/engine";
import { drawBelow, drawExponential } from "./exponential.ts";
import type { RunPlan } from "../executor/run-plan.ts";

export interface FaultOptions {
  readonly seed: number;
  /** Mean time between the losses of one node; `null`: nodes live for ever. */
  readonly nodeMeanUpMs: number | null;
  /** Mean time until a lost node is back. */
  readonly nodeMeanDownMs: number;
  /** So long before a loss it is told that the node goes, as those who lend nodes at a discount do; absent: nobody tells. */
  readonly nodeNoticeMs?: number;
  /** Attempts that fail by themselves, of every 10,000. */
  readonly attemptFailuresPer10000: number;
}

export interface NodeFaults {
  /** From joining or coming back to the loss; `null`: never. `occurrence` counts the losses of this node from 0. */
  upMs(nodeOrdinal: number, occurrence: number): number | null;
  downMs(nodeOrdinal: number, occurrence: number): number;
  /** How long before a loss it is told; `null`: never. */
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

/** The plan of one attempt under faults: an unlucky one fails at a uniformly drawn moment of its run. */
export function faultyPlan(options: FaultOptions, launch: LaunchGang, undisturbed: RunPlan): RunPlan {
  const { seed, attemptFailuresPer10000 } = options;
  if (attemptFailuresPer10000 === 0) return undisturbed;
  // Drawn by the attempt's identity: neither the order of the launches nor the policy shifts another attempt's luck.
  const sequence = Number.parseInt(hashText(`${launch.spec.name} ${launch.task} ${launch.number}`).slice(0, 8), 16);
  if (drawBelow({ seed, sequence, purpose: "attempt fails" }, 10_000) >= attemptFailuresPer10000) return undisturbed;
  const share = drawBelow({ seed, sequence, purpose: "attempt fails at" }, 10_000);
  return { durationMs: Math.floor((undisturbed.durationMs * share) / 10_000), exitCode: 1 };
}
