/** Findings about the fleet that a change of it answers. Each has the change as a proposal would make it, and its ground in numbers. */
import type { ProposalGround, ProposedChange, TeamName } from "@headroom/model";

/**
 * `fault`: a node reported critical faults. `repeatedLoss`: a node was lost again and again. `lemon`: faults and losses of a node add up. `stall`: a workload reports no
 * progress any more. `spares`: a pool loses more nodes at a time than it has hot spares. `walltime`: work requests far
 * more time than similar work took. `drift`: nodes differ from the facts that a remediation document states. `straggler`: ranks of a
 * gang on one node have been slower than the others for a while. `deviation`: readings of a node are worse than those of its comparable set for over an hour. `checkpoint`: work saves checkpoints far more, or less, often than
 * the failures of its nodes ask for. `power`: a domain draws more than its cap on power or cooling. `request`: work requests far more memory,
 * cores or accelerators than its earlier runs used.
 */
export const FINDING_KINDS = [
  "fault",
  "repeatedLoss",
  "lemon",
  "stall",
  "spares",
  "walltime",
  "drift",
  "straggler",
  "deviation",
  "checkpoint",
  "power",
  "request",
] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

export interface Finding {
  /** The kind and the subject. The same finding has the same id in every look. */
  readonly id: string;
  readonly kind: FindingKind;
  readonly sinceMs: number;
  readonly change: ProposedChange;
  /** The team whose work the finding is about; `null`: the fleet. */
  readonly team: TeamName | null;
  /** Why the change should be made. At most 200 characters. */
  readonly reason: string;
  readonly ground: readonly ProposalGround[];
}

export const ground = (measure: string, value: number, unit = ""): ProposalGround => ({
  measure,
  valueMilli: Math.round(value * 1000),
  unit,
});

const REASON_MAX = 200;

/** Reasons contain names and texts of logs, so they are shortened. */
export const shortReason = (text: string): string =>
  text.length <= REASON_MAX ? text : `${text.slice(0, REASON_MAX - 1)}…`;
