import { scalingCurve, type ScalingWall } from "../training/scaling.ts";
import type { TrainingSetting } from "./training-setting.ts";

export interface ScalingReport {
  readonly kind: "strong" | "weak";
  readonly points: readonly ScalingPoint[];
  /** Sizes at which no plan fits, or for which no plan divides the batch. */
  readonly withoutPlan: readonly number[];
  /** The size above which a doubling does not pay, and the scarce resource there. `undefined` if all doublings pay. */
  readonly wall: ScalingWall | undefined;
}

/** A size of the run with the best plan for this size. */
export interface ScalingPoint {
  readonly acceleratorCount: number;
  readonly globalBatch: number;
  readonly stepSeconds: number;
  readonly tokensPerS: number;
  /** Tokens per second and accelerator, relative to the smallest size. */
  readonly efficiency: number;
}

/** Sizes that are compared, relative to the requested size: halvings below it and doublings above it. */
const factors = [1 / 4, 1 / 2, 1, 2, 4];

export function scalingOf({ question, job, system }: TrainingSetting): ScalingReport {
  const { acceleratorCount, scaling } = question;
  const usual = factors.map((factor) => acceleratorCount * factor).filter(Number.isInteger);
  const acceleratorCounts = question.scalingCounts ?? usual;
  const smallest = Math.min(...acceleratorCounts);
  // A curve with weak scaling starts with a proportional share of the batch, so that the requested size has the
  // requested batch.
  const share =
    scaling === "weak" ? Math.max(1, Math.round((job.globalBatch * smallest) / acceleratorCount)) : job.globalBatch;
  const curve = scalingCurve({ ...job, globalBatch: share }, system, { kind: scaling, acceleratorCounts });
  return {
    kind: curve.kind,
    points: curve.points.map((point) => ({
      acceleratorCount: point.acceleratorCount,
      globalBatch: point.globalBatch,
      stepSeconds: point.best.step.seconds,
      tokensPerS: point.tokensPerSecond,
      efficiency: point.efficiency,
    })),
    withoutPlan: curve.tooSmall,
    wall: curve.wall,
  };
}
