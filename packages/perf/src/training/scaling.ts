import type { PlannedStep } from "./search/best.ts";
import { findOrdinaryPlan } from "./search/ordinary.ts";
import type { TrainingJob, TrainingSystem } from "./job.ts";
import type { StepBreakdown } from "./step.ts";

/** The resource that limits the run if it uses more accelerators. */
export type ScarceResource =
  | "network between nodes"
  | "links inside the domain"
  | "micro-batches per pipeline"
  | "size of the matrix products"
  | "host time per kernel"
  | "accelerator memory"
  | "memory bandwidth"
  | "evenness of the nodes";

export interface MeasuredScalingPoint {
  readonly acceleratorCount: number;
  readonly globalBatch: number;
  readonly best: PlannedStep;
  readonly tokensPerSecond: number;
  /** Tokens per second and accelerator, relative to the smallest size that fits. */
  readonly efficiency: number;
}

export interface ScalingCurve {
  readonly kind: "strong" | "weak";
  readonly points: readonly MeasuredScalingPoint[];
  /** Sizes at which no plan fits. */
  readonly tooSmall: readonly number[];
  /**
   * The first size from which the step to the next size gains less than required, with the cause. `undefined` if all
   * steps gain enough.
   */
  readonly wall: ScalingWall | undefined;
}

export interface ScalingWall {
  readonly acceleratorCount: number;
  readonly nextCount: number;
  /** Factor by which tokens per second grow if the number of accelerators doubles. */
  readonly gainPerDoubling: number;
  readonly scarce: ScarceResource;
}

export interface ScalingQuestion {
  /**
   * `strong`: the same batch on more accelerators. `weak`: the batch grows with the number of accelerators, starting at
   * the smallest size.
   */
  readonly kind: "strong" | "weak";
  readonly acceleratorCounts: readonly number[];
  /** Minimum factor by which throughput must grow for a doubling to pay. */
  readonly payingGain?: number;
}

const usualPayingGain = 1.6;

const resourceOf: Readonly<Record<keyof StepBreakdown, ScarceResource>> = {
  matmul: "size of the matrix products",
  attention: "size of the matrix products",
  elements: "memory bandwidth",
  routing: "memory bandwidth",
  launch: "host time per kernel",
  recomputation: "accelerator memory",
  tensorExchange: "links inside the domain",
  contextExchange: "network between nodes",
  expertExchange: "network between nodes",
  stageTransfer: "network between nodes",
  bubble: "micro-batches per pipeline",
  stateExchange: "network between nodes",
  optimizer: "memory bandwidth",
  jitter: "evenness of the nodes",
};

/** The usual plan of the stack at each size, and the size above which more accelerators do not pay. */
export function scalingCurve(job: TrainingJob, system: TrainingSystem, question: ScalingQuestion): ScalingCurve {
  const counts = question.acceleratorCounts.toSorted((a, b) => a - b);
  const base = counts[0] ?? 1;
  const points: MeasuredScalingPoint[] = [];
  const tooSmall: number[] = [];
  for (const count of counts) {
    const globalBatch = question.kind === "weak" ? Math.round((job.globalBatch * count) / base) : job.globalBatch;
    const sized = { ...job, globalBatch };
    const result = findOrdinaryPlan(sized, system, count, { precision: job.precision });
    if (result.kind !== "found") {
      tooSmall.push(count);
      continue;
    }
    const tokensPerSecond = (globalBatch * job.sequenceLength) / result.step.seconds;
    const first = points[0];
    const efficiency =
      first === undefined ? 1 : tokensPerSecond / count / (first.tokensPerSecond / first.acceleratorCount);
    points.push({ acceleratorCount: count, globalBatch, best: result, tokensPerSecond, efficiency });
  }
  return { kind: question.kind, points, tooSmall, wall: wallOf(points, question.payingGain ?? usualPayingGain) };
}

function wallOf(points: readonly MeasuredScalingPoint[], payingGain: number): ScalingWall | undefined {
  for (const [index, point] of points.entries()) {
    const later = points.slice(index + 1);
    // A size less than double this one may divide the batch badly, so it says little about growth. The next size is
    // therefore at least double, if there is one.
    const next = later.find((each) => each.acceleratorCount >= 2 * point.acceleratorCount) ?? later.at(-1);
    if (next === undefined) return undefined;
    const doublings = Math.log2(next.acceleratorCount / point.acceleratorCount);
    const gainPerDoubling = (next.tokensPerSecond / point.tokensPerSecond) ** (1 / doublings);
    if (gainPerDoubling >= payingGain) continue;
    const { acceleratorCount } = point;
    return { acceleratorCount, nextCount: next.acceleratorCount, gainPerDoubling, scarce: blame(point, next) };
  }
  return undefined;
}

/** The part of a step whose accelerator-seconds per token grow most between two sizes. */
function blame(point: MeasuredScalingPoint, next: MeasuredScalingPoint): ScarceResource {
  const perToken = (at: MeasuredScalingPoint, part: keyof StepBreakdown): number =>
    (at.best.step.breakdown[part] * at.acceleratorCount) / at.globalBatch;
  const parts = Object.keys(resourceOf) as (keyof StepBreakdown)[];
  const grown = new Map<ScarceResource, number>();
  for (const part of parts) {
    const growth = perToken(next, part) - perToken(point, part);
    grown.set(resourceOf[part], (grown.get(resourceOf[part]) ?? 0) + growth);
  }
  let worst: ScarceResource = "network between nodes";
  for (const [resource, growth] of grown) if (growth > (grown.get(worst) ?? 0)) worst = resource;
  return worst;
}
