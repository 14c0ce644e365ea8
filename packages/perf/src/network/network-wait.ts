import { nonBlockingFabric, type Fabric } from "../catalogue/fabric.ts";
import type { ParallelPlan, TrainingJob, TrainingSystem } from "../training/job.ts";
import { estimateStep } from "../training/step.ts";

/** Time that a job loses to the network between nodes. */
export interface NetworkWait {
  /** Share of time in which the job waits for the network between nodes. */
  readonly networkShare: number;
  /** The part of `networkShare` that a non-blocking fabric with the same ports would save. */
  readonly oversubscriptionShare: number;
}

/** Port bandwidth that is so large that the network between nodes takes no time. */
const boundlessGbPerS = 1e9;

/**
 * Compares the step on this network with the same step with unlimited ports, and with the same step with the same ports
 * on a non-blocking fabric.
 */
export function networkWait(job: TrainingJob, plan: ParallelPlan, system: TrainingSystem): NetworkWait {
  const { cluster } = system;
  const seconds = (fabric: Fabric, scaleOutGbPerS: number): number => {
    const node = { ...cluster.node, scaleOutGbPerS };
    return estimateStep(job, plan, { ...system, cluster: { ...cluster, node, fabric } }).seconds;
  };
  const { scaleOutGbPerS } = cluster.node;
  const here = seconds(cluster.fabric, scaleOutGbPerS);
  return {
    networkShare: 1 - seconds(nonBlockingFabric, boundlessGbPerS) / here,
    oversubscriptionShare: 1 - seconds(nonBlockingFabric, scaleOutGbPerS) / here,
  };
}
