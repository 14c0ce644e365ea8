import { correctionFactor, type CorrectionRun, type FleetCorrection } from "./fleet-correction.ts";

/** Seconds of a step by component. */
export interface StepParts {
  readonly compute: number;
  readonly network: number;
  readonly storage: number;
}

export type StepPart = keyof StepParts;

/** A run that is slower than runs of its kind. */
export interface SlowRun {
  readonly expectedSeconds: number;
  /** Share by which the run exceeds the corrected prediction. */
  readonly excessShare: number;
  /** The component that exceeds its expectation most; undefined if components were not measured. */
  readonly responsible: StepPart | undefined;
}

/** Runs slower than this share above the corrected prediction are reported. */
export const slowShare = 0.15;

const partNames: readonly StepPart[] = ["compute", "network", "storage"];

/** Whether a run is slow for its kind, and which component is the cause; undefined if it is not slow. */
export function slowRunOf(
  run: CorrectionRun,
  correction: FleetCorrection,
  parts?: { readonly predicted: StepParts; readonly measured: StepParts },
): SlowRun | undefined {
  const { factor } = correctionFactor(correction, run.acceleratorType, run.family);
  const expectedSeconds = run.predictedSeconds * factor;
  const excessShare = run.measuredSeconds / expectedSeconds - 1;
  if (!(excessShare > slowShare)) return undefined;
  if (parts === undefined) return { expectedSeconds, excessShare, responsible: undefined };
  const excessOf = (part: StepPart): number => parts.measured[part] - parts.predicted[part] * factor;
  let responsible: StepPart = "compute";
  for (const part of partNames) if (excessOf(part) > excessOf(responsible)) responsible = part;
  return { expectedSeconds, excessShare, responsible };
}
