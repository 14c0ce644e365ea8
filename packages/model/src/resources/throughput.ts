/**
 * Throughput that an elastic gang gains by further workers, from its throughput curve. Without a curve, every worker
 * adds the same throughput.
 */
import { sliceSize } from "./slices.ts";
import type { GangSpec, WorkloadSpec } from "./workload.ts";

/** A growth step: the number of added workers, and the gain in thousandths of a single worker's throughput. */
export interface GrowthStep {
  readonly workers: number;
  readonly gainMilli: number;
}

const ONE_WORKER_MILLI = 1000;

/** Throughput of a gang with this number of workers, in thousandths of a single worker's throughput. */
export function throughputMilli({ throughputMilli: curve }: GangSpec, workers: number): number {
  return curve === undefined ? workers * ONE_WORKER_MILLI : (curve[workers - 1] ?? 0);
}

/**
 * Growth steps with a gain, highest gain per worker first. Curves have plateaus and jumps (for example, a batch cannot
 * be divided over three workers), so the best step is not always one worker. `usual`: the number of workers that the
 * gang adds if it has no curve: one worker, or enough to complete a slice.
 */
export function growthSteps(
  spec: Pick<WorkloadSpec, "gang" | "fabric">,
  workers: number,
  usual: number,
): readonly GrowthStep[] {
  const { gang } = spec;
  if (usual === 0) return [];
  if (gang.throughputMilli === undefined) return [{ workers: usual, gainMilli: usual * ONE_WORKER_MILLI }];
  const slice = sliceSize(spec, undefined);
  const now = throughputMilli(gang, workers);
  const steps: GrowthStep[] = [];
  for (let size = workers + usual; size <= gang.workers; size += slice) {
    const gainMilli = throughputMilli(gang, size) - now;
    if (gainMilli > 0) steps.push({ workers: size - workers, gainMilli });
  }
  return steps.sort((left, right) => compareSteps(right, left) || left.workers - right.workers);
}

/** Compares two steps by their gain per worker. */
export const compareSteps = (left: GrowthStep, right: GrowthStep): number =>
  left.gainMilli * right.workers - right.gainMilli * left.workers;
