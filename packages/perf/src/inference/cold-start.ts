import type { BuiltReplica } from "./replica.ts";
import { acceleratorCount, weightBytesPerAccelerator } from "./replica.ts";

/** Sources of a replica's weights and image at its start. */
export interface ColdStartPath {
  /** Time in s until a node is available; 0: one is idle. */
  readonly provisioningS: number;
  /** Size in GB of the container image that the node has to download; the following field: the download rate. */
  readonly imageGb: number;
  readonly imageGbPerS: number;
  /** Rate in GB/s at which one node reads weights (file system, object store, local disk or page cache). */
  readonly weightsGbPerS: number;
  /**
   * Number of replicas that read from the same storage at a time; the following field: the storage's total rate in
   * GB/s.
   */
  readonly simultaneousReplicas: number;
  readonly storageGbPerS: number;
  /** Bandwidth from host memory to one accelerator in GB/s. */
  readonly hostLinkGbPerS: number;
  readonly acceleratorsPerNode: number;
  readonly isCompiledBefore: boolean;
}

/** Time of a start in s; the parts add up to `totalS`. */
export interface ColdStart {
  readonly provisioningS: number;
  readonly imageS: number;
  readonly weightsS: number;
  readonly engineS: number;
  readonly totalS: number;
}

/**
 * Start-up time of an engine without its weights, in s. vLLM took 37.6 s for a model of 0.6B and 58.1 s for one of 4B
 * on an A100, weights included (blog on sleep mode, 26 October 2025): processes, compiler, captured graphs. A compiler
 * cache from an earlier start halves it (llm-d measured 110 s against 52 s, llm-d-autoscaling#1433).
 */
const engineStartS = 36;
const engineStartCachedS = 18;

/** Reading and copying overlap, so the slowest of three rates decides: the node's read, the storage, the host links. */
export function coldStart(replica: BuiltReplica, path: ColdStartPath): ColdStart {
  const count = acceleratorCount(replica.layout);
  const perAcceleratorGb = weightBytesPerAccelerator(replica) / 1e9;
  const onNode = Math.min(count, path.acceleratorsPerNode);
  const weightsS = Math.max(
    (perAcceleratorGb * onNode) / path.weightsGbPerS,
    (perAcceleratorGb * count * path.simultaneousReplicas) / path.storageGbPerS,
    perAcceleratorGb / path.hostLinkGbPerS,
  );
  const imageS = path.imageGb > 0 ? path.imageGb / path.imageGbPerS : 0;
  const engineS = path.isCompiledBefore ? engineStartCachedS : engineStartS;
  const totalS = path.provisioningS + imageS + weightsS + engineS;
  return { provisioningS: path.provisioningS, imageS, weightsS, engineS, totalS };
}
