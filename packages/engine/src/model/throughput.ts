/** What further workers bring to an elastic gang, by the curve that came with it; without one, each as much as the first. */
import { sliceSize } from "./slices.ts";
import type { GangSpec, WorkloadSpec } from "./workload.ts";

/** So many workers more, and what they bring together, in thousandths of what one worker alone gets done. */
export interface GrowthStep {
  readonly workers: number;
  readonly gainMilli: number;
}

const ONE_WORKER_MILLI = 1000;

/** What so many workers get done, in thousandths of what one does. */
export function throughputMilli({ throughputMilli: curve }: GangSpec, workers: number): number {
  return curve === undefined ? workers * ONE_WORKER_MILLI : (curve[workers - 1] ?? 0);
}

/**
 * By how many workers it may grow so that each of them brings something, the step that brings most for each of its workers first.
 * Curves have plateaus and jumps (a batch that no plan divides over three workers), so the best step is not always one worker.
 * `usual`: what it grows by without a curve, in slices by whole ones.
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

/** By what each worker of a step brings. */
export const compareSteps = (left: GrowthStep, right: GrowthStep): number =>
  left.gainMilli * right.workers - right.gainMilli * left.workers;
