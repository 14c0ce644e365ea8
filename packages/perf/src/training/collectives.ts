import { oversubscriptionAcross } from "../catalogue/fabric.ts";
import { scaleOutPerAcceleratorGbPerS, type Cluster } from "../catalogue/node.ts";
import type { TrainingConstants } from "../constants.ts";

/**
 * Times of collectives by the α-β model (Thakur, Rabenseifner, Gropp 2005; NCCL's rings and trees): bytes divided by
 * bandwidth, plus a latency for each step. In a group of n ranks that are `stride` accelerators apart, some ranks share
 * a scale-up domain, and the other ranks are on other nodes. The times inside and between domains add up, as in NCCL's
 * rail-aligned rings.
 */
export interface Links {
  readonly domainCount: number;
  readonly nearBytes: number;
  readonly farBytes: number;
  readonly cluster: Cluster;
}

/**
 * Latency of the start of a collective and of each further rank of its ring. Small all-reduces inside a node take 40,
 * 48 and 75 µs on 2, 4 and 8 ranks (nccl-tests on A100, VIA-Research/vTrain@f8dda84 trace/a100). Half of that is the
 * latency of one direction.
 */
const startLatency = 15e-6;
const nearLatency = 3e-6;
/** Latency of a hop between nodes (NCCL's tuning table for InfiniBand: 10 to 20 µs). */
const farLatency = 15e-6;

export function linksOf(cluster: Cluster, constants: TrainingConstants, scaleUpShare: number | undefined): Links {
  const { node } = cluster;
  const { scaleUp } = node.accelerator;
  return {
    domainCount: Math.max(scaleUp.domainCount, 1),
    nearBytes: scaleUp.gbPerS * 1e9 * (scaleUpShare ?? constants.scaleUpShare),
    farBytes: scaleOutPerAcceleratorGbPerS(node) * 1e9 * constants.scaleOutShare,
    cluster,
  };
}

/** A group of ranks: its size, the number of ranks in one scale-up domain, and the number of domains. */
export interface Group {
  readonly count: number;
  readonly nearCount: number;
  readonly farCount: number;
  /** Oversubscription of the part of the fabric over which the group is spread. */
  readonly oversubscription: number;
}

export function groupOf(links: Links, count: number, stride: number): Group {
  const fitting = Math.floor(links.domainCount / stride);
  const nearCount = Math.max(1, Math.min(count, fitting));
  const farCount = Math.ceil(count / nearCount);
  const { fabric, node } = links.cluster;
  const nodes = Math.ceil((count * stride) / node.acceleratorCount);
  return { count, nearCount, farCount, oversubscription: farCount > 1 ? oversubscriptionAcross(fabric, nodes) : 1 };
}

/**
 * Time of a reduce-scatter or all-gather. `bytes` is the size of the whole tensor; (n − 1)/n of it passes each rank.
 */
export function gatherSeconds(links: Links, group: Group, bytes: number): number {
  if (group.count <= 1) return 0;
  const { nearCount, farCount } = group;
  const near = ((nearCount - 1) / nearCount) * (bytes / links.nearBytes) + startLatency + (nearCount - 1) * nearLatency;
  if (farCount <= 1) return near;
  const share = bytes / nearCount;
  const far = (((farCount - 1) / farCount) * share * group.oversubscription) / links.farBytes;
  return near + far + Math.log2(farCount) * farLatency;
}

/** Time of an all-reduce. It is a reduce-scatter followed by an all-gather. */
export function reduceSeconds(links: Links, group: Group, bytes: number): number {
  return 2 * gatherSeconds(links, group, bytes);
}

/**
 * Time of an all-to-all that sends each token to `copies` ranks of the group, chosen at random. Inside a domain every
 * copy is sent. Between domains, one copy is sent to each domain that has a destination: on average to f·(1 − (1 −
 * 1/f)^copies) of f domains.
 */
export function dispatchSeconds(links: Links, group: Group, tokenBytes: number, copies: number): number {
  if (group.count <= 1) return 0;
  const { nearCount, farCount } = group;
  const near = (((nearCount - 1) / nearCount) * copies * tokenBytes) / links.nearBytes + startLatency;
  if (farCount <= 1) return near;
  const wanted = (farCount - 1) * (1 - (1 - 1 / farCount) ** copies);
  return near + (wanted * tokenBytes * group.oversubscription) / links.farBytes + farLatency;
}

/** Time of a message to the neighbour that is `stride` accelerators away. */
export function sendSeconds(links: Links, bytes: number, stride: number): number {
  const isNear = stride < links.domainCount;
  return isNear ? bytes / links.nearBytes + startLatency : bytes / links.farBytes + farLatency;
}
