import type { BuiltReplica } from "./replica.ts";
import { acceleratorCount, weightBytesPerAccelerator } from "./replica.ts";

/** Where a starting replica's node, image and weights come from. */
export interface ColdStartPath {
  /** Time in s until a node is available. 0 if a node is idle. */
  readonly provisioningS: number;
  /** `imageGb`: size in GB of the container image that the node downloads. `imageGbPerS`: download rate in GB/s. */
  readonly imageGb: number;
  readonly imageGbPerS: number;
  /** Rate in GB/s at which one node reads weights (file system, object store, local disk or page cache). */
  readonly weightsGbPerS: number;
  /**
   * `simultaneousReplicas`: number of replicas that read from the same storage at the same time. `storageGbPerS`: total
   * rate of the storage in GB/s.
   */
  readonly simultaneousReplicas: number;
  readonly storageGbPerS: number;
  /** Bandwidth from host memory to one accelerator in GB/s. */
  readonly hostLinkGbPerS: number;
  readonly acceleratorsPerNode: number;
  readonly isCompiledBefore: boolean;
}

/** Time of a start in s. The parts add up to `totalS`. */
export interface ColdStart {
  readonly provisioningS: number;
  readonly imageS: number;
  readonly weightsS: number;
  readonly engineS: number;
  readonly totalS: number;
}

/**
 * Time in s that an engine takes to start, without loading weights. Including the weights, vLLM took 37.6 s for a model
 * of 0.6B and 58.1 s for one of 4B on an A100 (blog on sleep mode, 26 October 2025): processes, compiler, captured
 * graphs. A compiler cache from an earlier start halves the time (llm-d measured 110 s without and 52 s with it,
 * llm-d-autoscaling#1433).
 */
const engineStartS = 36;
const engineStartCachedS = 18;

/**
 * Time of a cold start. Reading and copying of weights overlap, so the slowest of three rates decides: reading by the
 * node, the storage, or the host links.
 */
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
