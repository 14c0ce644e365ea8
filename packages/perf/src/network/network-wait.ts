import { nonBlockingFabric, type Fabric } from "../catalogue/fabric.ts";
import type { ParallelPlan, TrainingJob, TrainingSystem } from "../training/job.ts";
import { estimateStep } from "../training/step.ts";

/** What the network between nodes costs a job. */
export interface NetworkWait {
  /** Share of the time that is spent waiting for the network between nodes. */
  readonly networkShare: number;
  /** The part of it that a non-blocking fabric of the same ports would save. */
  readonly oversubscriptionShare: number;
}

/** Ports so fast that what remains is not the network between nodes. */
const boundlessGbPerS = 1e9;

/** The step on this network against the same step with ports without limit, and with the same ports and no narrow level. */
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
