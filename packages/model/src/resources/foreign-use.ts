/**
 * Use of nodes by work that Headroom does not run: jobs that users submit to Slurm themselves, pods of another
 * scheduler. Headroom places work on the rest, and never stops foreign work.
 */
import type { AcceleratorSet } from "./accelerator-set.ts";
import type { NodeId } from "./ids.ts";

/** Amounts that foreign work uses on a node, as an executor counts them. */
export interface ForeignUseReport {
  readonly nodeId: NodeId;
  /** Number of whole accelerators. An accelerator that foreign work uses in part counts as a whole one. */
  readonly accelerators: number;
  readonly coresMilli: number;
  readonly memoryMib: number;
}

/** Foreign use of a node as recorded. */
export interface ForeignUse {
  /**
   * The accelerators that count as used. Executors report a number; the accelerators are chosen among those that no
   * attempt of Headroom holds.
   */
  readonly accelerators: AcceleratorSet;
  readonly coresMilli: number;
  readonly memoryMib: number;
}
