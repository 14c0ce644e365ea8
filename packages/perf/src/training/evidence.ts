import { matrixClassOf, type MatrixClass } from "../catalogue/number-format.ts";
import { measuredRuns } from "./measured-runs.ts";
import { acceleratorCountOf, acceleratorOf, type ParallelPlan, type TrainingJob, type TrainingSystem } from "./job.ts";

/** What a run has in common with others of its kind, as far as it decides how well a prediction is founded. */
export interface RunKind {
  readonly architecture: string;
  readonly stack: string;
  readonly hasExperts: boolean;
  readonly matrixClass: MatrixClass;
  readonly acceleratorCount: number;
}

/** Measured runs of one kind: the largest of them, and from how many publications they come. */
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
 * Points of distance for each trait in which a run differs from what was measured, chosen so that intervals hold alike near and
 * far when whole sources are left out.
 */
const differences = {
  architecture: 1,
  stack: 1,
  hasExperts: 1,
  matrixClass: 0.5,
  doubling: 0.15,
  lonely: 0.5,
} as const;

/** From here on a prediction is extrapolated: another architecture, stack or family than anything that was measured. */
const farDistance = 1;

/** Distance of a run when nothing at all was measured. */
const farthest = 4;

export interface EvidenceReading {
  /** 0 where several publications measured runs of its kind and size. */
  readonly distance: number;
  readonly isFar: boolean;
  /** The nearest kind of run that was measured. */
  readonly nearest: EvidencePoint | undefined;
}

/**
 * How far a run lies from the nearest kind of run that was measured: more for another architecture, framework, family or
 * precision, a larger scale, a single publication. A calibrated accelerator is known, whatever was published of it.
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

/** A kind of run in words: "Blackwell, fused, fp8, mixture of experts, up to 256 accelerators". */
export function describeRunKind({ architecture, stack, matrixClass, hasExperts, acceleratorCount }: RunKind): string {
  const family = hasExperts ? "mixture of experts" : "dense";
  return `${architecture}, ${stack}, ${matrixClass}, ${family}, up to ${acceleratorCount} accelerators`;
}

/** The kinds of run among measured ones, each with its largest size and the number of its sources. */
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
