/**
 * Inputs of traced jobs. Traces do not say what jobs read, so each job reads one of a number of data sets of equal size,
 * drawn by popularity: the k-th data set is read in proportion to 1/k (Zipf), as in published traces of shared storage.
 */
import { draw } from "@headroom/model";
import type { DataSpec } from "@headroom/model";
import type { SimulatedStaging } from "../executor/simulated-caches.ts";

export interface TraceInputs {
  readonly seed: number;
  readonly datasetCount: number;
  readonly datasetMib: number;
  readonly nodeCacheMib: number;
  readonly mibPerSecond: number;
  /** Whether placement knows which node has which bytes. */
  readonly isReported: boolean;
}

/** The data of a job by its index. Jobs of one data set share one object, so that they share a bucket of the queue. */
export function dataByPopularity({ seed, datasetCount }: TraceInputs): (index: number) => DataSpec {
  const specs: DataSpec[] = [];
  const sums: number[] = [];
  for (let rank = 0; rank < datasetCount; rank++) {
    specs.push({ inputs: [`s3://simulated/dataset-${rank}`] });
    sums.push((sums.at(-1) ?? 0) + 1 / (rank + 1));
  }
  const total = sums.at(-1) ?? 0;
  return (index) => {
    const at = (draw(seed, index, "input") / 2 ** 32) * total;
    const rank = sums.findIndex((sum) => at < sum);
    return specs[rank < 0 ? datasetCount - 1 : rank]!;
  };
}

export const stagingOf = (inputs: TraceInputs): SimulatedStaging => ({
  mibPerSecond: inputs.mibPerSecond,
  nodeCacheMib: inputs.nodeCacheMib,
  mibOf: () => inputs.datasetMib,
  isReported: inputs.isReported,
});
