import { matrixClassOf, type MatrixClass } from "../catalogue/number-format.ts";
import { measuredRuns } from "./measured-runs.ts";
import { acceleratorCountOf, acceleratorOf, type ParallelPlan, type TrainingJob, type TrainingSystem } from "./job.ts";

/** Traits of a run that determine how similar it is to measured runs. */
export interface RunKind {
  readonly architecture: string;
  readonly stack: string;
  readonly hasExperts: boolean;
  readonly matrixClass: MatrixClass;
  readonly acceleratorCount: number;
}

/** Measured runs of one kind: the largest number of accelerators, and the number of publications. */
export interface EvidencePoint extends RunKind {
  readonly sourceCount: number;
}

export function runKindOf(job: TrainingJob, plan: ParallelPlan, system: TrainingSystem): RunKind {
  const accelerator = acceleratorOf(system);
  return {
    architecture: accelerator.architecture ?? accelerator.name,
    stack: job.software.stack,
    hasExperts: job.model.experts !== undefined,
    matrixClass: matrixClassOf(job.precision.linear),
    acceleratorCount: acceleratorCountOf(plan),
  };
}

/**
 * Distance that is added for each trait in which a run differs from a measured run. The values were chosen so that
 * intervals are equally accurate for small and large distances, in tests that leave out whole sources.
 */
const differences = {
  architecture: 1,
  stack: 1,
  hasExperts: 1,
  matrixClass: 0.5,
  doubling: 0.15,
  lonely: 0.5,
} as const;

/**
 * From this distance on, a prediction is an extrapolation: the architecture, stack or model family differs from those
 * of every measured run.
 */
const farDistance = 1;

/** Distance if there are no measurements. */
const farthest = 4;

export interface EvidenceReading {
  /** Distance from the nearest measured run. 0 if several publications measured runs of this kind and size. */
  readonly distance: number;
  readonly isFar: boolean;
  /** The nearest kind of run that was measured. */
  readonly nearest: EvidencePoint | undefined;
}

/**
 * Distance of a run from the nearest kind of measured run. It grows with each difference in architecture, framework,
 * model family or precision, with a larger number of accelerators, and if only a single publication measured the kind.
 * A calibrated accelerator counts as measured.
 */
export function evidenceFor(
  run: RunKind,
  evidence: readonly EvidencePoint[] = measuredRuns,
  isCalibrated: "calibrated" | "uncalibrated" = "uncalibrated",
): EvidenceReading {
  let distance = farthest;
  let nearest: EvidencePoint | undefined;
  for (const point of evidence) {
    const known = isCalibrated === "calibrated" ? { ...point, architecture: run.architecture } : point;
    const away = distanceTo(run, known);
    if (away < distance) [distance, nearest] = [away, point];
  }
  return { distance, isFar: distance >= farDistance, nearest };
}

function distanceTo(run: RunKind, point: EvidencePoint): number {
  const doublings = Math.max(0, Math.log2(run.acceleratorCount / point.acceleratorCount));
  return (
    (run.architecture === point.architecture ? 0 : differences.architecture) +
    (run.stack === point.stack ? 0 : differences.stack) +
    (run.hasExperts === point.hasExperts ? 0 : differences.hasExperts) +
    (run.matrixClass === point.matrixClass ? 0 : differences.matrixClass) +
    differences.doubling * doublings +
    (point.sourceCount > 1 ? 0 : differences.lonely)
  );
}

/** A kind of run in words, such as "Blackwell, fused, fp8, mixture of experts, up to 256 accelerators". */
export function describeRunKind({ architecture, stack, matrixClass, hasExperts, acceleratorCount }: RunKind): string {
  const family = hasExperts ? "mixture of experts" : "dense";
  return `${architecture}, ${stack}, ${matrixClass}, ${family}, up to ${acceleratorCount} accelerators`;
}

/** The kinds of the measured runs, each with its largest number of accelerators and its number of sources. */
export function evidenceOf(
  runs: readonly { readonly kind: RunKind; readonly source: string }[],
): readonly EvidencePoint[] {
  const cells = new Map<string, { kind: RunKind; sources: Set<string> }>();
  for (const { kind, source } of runs) {
    const key = [kind.architecture, kind.stack, kind.hasExperts, kind.matrixClass].join("|");
    const cell = cells.get(key);
    if (cell === undefined) cells.set(key, { kind, sources: new Set([source]) });
    else {
      cell.sources.add(source);
      if (kind.acceleratorCount > cell.kind.acceleratorCount) cell.kind = kind;
    }
  }
  return [...cells.values()].map(({ kind, sources }) => ({ ...kind, sourceCount: sources.size }));
}
