import type { Cluster } from "../catalogue/node.ts";
import type { ParallelPlan, TrainingJob } from "../training/job.ts";
import { networkWait } from "./network-wait.ts";

/**
 * A kind of job in a mix of jobs, with the plan for the job's smallest size. Larger sizes have more data-parallel
 * replicas.
 */
export interface MixedJob {
  readonly name: string;
  /** Share of the accelerator-hours of the mix. */
  readonly share: number;
  readonly job: TrainingJob;
  readonly plan: ParallelPlan;
  /**
   * `weak`: the batch grows with the number of replicas. `strong`: the batch stays the same, so each replica has less
   * work.
   */
  readonly scaling: "weak" | "strong";
}

export interface WallPoint {
  readonly nodeCount: number;
  /** Share of the accelerator time of the whole mix in which jobs wait for the network between nodes. */
  readonly networkShare: number;
  /** The part of `networkShare` that a non-blocking fabric with the same ports would save. */
  readonly oversubscriptionShare: number;
  readonly byJob: readonly { readonly name: string; readonly networkShare: number }[];
}

export interface FabricWall {
  readonly points: readonly WallPoint[];
  /**
   * The first size at which the mix loses more than the limit, and the cause. `undefined` if the loss stays within the
   * limit at every size.
   */
  readonly wall: { readonly nodeCount: number; readonly blame: "oversubscription" | "ports" } | undefined;
}

/**
 * Doubles the size of every job of a mix step by step. At each size it computes the share of time that jobs wait for
 * the network between nodes, by comparing a step on this fabric with the same step with unlimited ports.
 */
export function fabricWall(
  jobs: readonly MixedJob[],
  cluster: Cluster,
  limits: { readonly nodeCountMax: number; readonly lossShare: number },
): FabricWall {
  const points: WallPoint[] = [];
  for (let nodeCount = 1; nodeCount <= limits.nodeCountMax; nodeCount *= 2) {
    const point = wallPoint(jobs, cluster, nodeCount);
    if (point !== undefined) points.push(point);
  }
  const first = points.find((point) => point.networkShare > limits.lossShare);
  if (first === undefined) return { points, wall: undefined };
  const isFabric = first.oversubscriptionShare * 2 > first.networkShare;
  return { points, wall: { nodeCount: first.nodeCount, blame: isFabric ? "oversubscription" : "ports" } };
}

/** The figures for one size. `undefined` if no job of the mix can run at this size. */
function wallPoint(jobs: readonly MixedJob[], cluster: Cluster, nodeCount: number): WallPoint | undefined {
  const byJob: { name: string; networkShare: number }[] = [];
  let lost = 0;
  let saved = 0;
  let shares = 0;
  for (const mixed of jobs) {
    const grown = grownTo(mixed, cluster, nodeCount);
    if (grown === undefined) continue;
    const wait = networkWait(grown.job, grown.plan, { cluster: { ...cluster, nodeCount: grown.nodeCount } });
    byJob.push({ name: mixed.name, networkShare: wait.networkShare });
    lost += mixed.share * wait.networkShare;
    saved += mixed.share * wait.oversubscriptionShare;
    shares += mixed.share;
  }
  if (shares === 0) return undefined;
  return { nodeCount, networkShare: lost / shares, oversubscriptionShare: saved / shares, byJob };
}

interface GrownJob {
  readonly job: TrainingJob;
  readonly plan: ParallelPlan;
  readonly nodeCount: number;
}

function grownTo({ job, plan, scaling }: MixedJob, cluster: Cluster, nodeCount: number): GrownJob | undefined {
  const accelerators = nodeCount * cluster.node.acceleratorCount;
  const data = accelerators / (plan.tensor * plan.pipeline * plan.context);
  if (data < plan.data || !Number.isInteger(data)) return undefined;
  const factor = data / plan.data;
  const globalBatch = scaling === "weak" ? job.globalBatch * factor : job.globalBatch;
  if (globalBatch < data * plan.microBatch || globalBatch % (data * plan.microBatch) !== 0) return undefined;
  const shardCount = plan.shardCount === plan.data ? data : plan.shardCount;
  return { job: { ...job, globalBatch }, plan: { ...plan, data, shardCount }, nodeCount };
}
