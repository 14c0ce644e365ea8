import { usualNode } from "../catalogue/nodes.ts";
import type { Cluster } from "../catalogue/node.ts";
import type { NumberFormat } from "../catalogue/number-format.ts";
import { fabricCounts, fabricOf } from "../network/fabric-counts.ts";
import type { FabricCounts, FabricRequest } from "../network/fabric-request.ts";
import { fabricWall, type FabricWall, type MixedJob } from "../network/fabric-wall.ts";
import { mixedPrecision, type TrainingJob } from "../training/job.ts";
import { findBestPlan } from "../training/search/best.ts";
import { wholeSpace } from "../training/search/space.ts";
import {
  impossible,
  isImpossible,
  resolveAccelerator,
  resolveModel,
  type Impossible,
  type ModelChoice,
} from "./resolve.ts";

/** The jobs that run on the fabric. They determine the size at which the fabric becomes the limit. */
export interface JobMix {
  readonly accelerator: string;
  /** Limit of the share of accelerator time that jobs may wait for the network between nodes. */
  readonly lossShare: number;
  readonly jobs: readonly MixJob[];
}

export interface MixJob {
  readonly model: ModelChoice;
  /** Share of the accelerator-hours of the mix. */
  readonly share: number;
  readonly scaling: "weak" | "strong";
  /**
   * Number of accelerators of the job at its smallest size. The best plan is searched for this size; larger sizes add
   * replicas.
   */
  readonly acceleratorCount: number;
  readonly sequenceLength: number;
  readonly globalBatch: number;
  readonly format: NumberFormat;
  readonly stack: "fused" | "eager" | "compiled";
}

export interface NetworkReport extends Omit<FabricCounts, "kind" | "request"> {
  readonly kind: "network";
  readonly wall: FabricWall | undefined;
}

export function sizeNetwork(request: FabricRequest, mix: JobMix | undefined): NetworkReport | Impossible {
  const answer = fabricCounts(request);
  if (answer.kind === "impossible") return answer;
  const { request: _request, kind: _kind, ...counts } = answer;
  if (mix === undefined || mix.jobs.length === 0) return { kind: "network", ...counts, wall: undefined };
  const cluster = clusterOf(answer, mix);
  if (isImpossible(cluster)) return cluster;
  const jobs: MixedJob[] = [];
  for (const job of mix.jobs) {
    const mixed = mixedJob(job, cluster);
    if (isImpossible(mixed)) return mixed;
    jobs.push(mixed);
  }
  const limits = { nodeCountMax: request.nodeCount, lossShare: mix.lossShare };
  return { kind: "network", ...counts, wall: fabricWall(jobs, cluster, limits) };
}

/** A cluster of the accelerator's usual servers with the ports of this fabric. */
function clusterOf(counts: FabricCounts, mix: JobMix): Cluster | Impossible {
  const accelerator = resolveAccelerator(mix.accelerator);
  if (isImpossible(accelerator)) return accelerator;
  const { portsPerNode, planes, portGbps, nodeCount } = counts.request;
  const node = { ...usualNode(accelerator), scaleOutGbPerS: (portsPerNode * planes * portGbps) / 8 };
  return { node, nodeCount, fabric: fabricOf(counts) };
}

function mixedJob(mixed: MixJob, cluster: Cluster): MixedJob | Impossible {
  const model = resolveModel(mixed.model);
  if (isImpossible(model)) return model;
  const job: TrainingJob = {
    model,
    sequenceLength: mixed.sequenceLength,
    globalBatch: mixed.globalBatch,
    method: { kind: "full" },
    precision: mixedPrecision(mixed.format),
    software: { stack: mixed.stack, attention: "flash" },
  };
  const system = {
    cluster: { ...cluster, nodeCount: Math.ceil(mixed.acceleratorCount / cluster.node.acceleratorCount) },
  };
  const found = findBestPlan(job, system, wholeSpace(job, system, mixed.acceleratorCount));
  if (found.kind !== "found") {
    const what = `${model.name} with a batch of ${mixed.globalBatch} has no plan on ${mixed.acceleratorCount} accelerators`;
    return impossible(what, "more accelerators, or another batch");
  }
  return { name: model.name, share: mixed.share, job, plan: found.best.plan, scaling: mixed.scaling };
}
