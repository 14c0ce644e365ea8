import {
  combineDemands,
  judgeStorage,
  type StorageDemand,
  type StorageTier,
  type StorageVerdict,
} from "../storage/axes.ts";
import {
  checkpointDemand,
  datasetDemand,
  startDemand,
  type AxisDemand,
  type Checkpointing,
  type DatasetReads,
  type StartStorm,
} from "../storage/demand.ts";

/** Kinds of storage work of jobs. Each kind can be absent or occur several times. */
export interface StorageSizing {
  readonly datasets: readonly DatasetReads[];
  readonly checkpoints: readonly Checkpointing[];
  readonly starts: readonly StartStorm[];
}

export interface StorageReport {
  readonly demand: StorageDemand;
  readonly verdicts: readonly { readonly tier: StorageTier; readonly verdict: StorageVerdict }[];
}

/** Storage demand on each axis (capacity, bandwidth, operations, clients), and the load of each tier. */
export function sizeStorage(request: StorageSizing, tiers: readonly StorageTier[]): StorageReport {
  const parts: AxisDemand[] = [
    ...request.datasets.map(datasetDemand),
    ...request.checkpoints.map(checkpointDemand),
    ...request.starts.map(startDemand),
  ];
  const demand = combineDemands(parts);
  return { demand, verdicts: tiers.map((tier) => ({ tier, verdict: judgeStorage(demand, tier) })) };
}
