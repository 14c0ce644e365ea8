/**
 * The model's prediction for one attempt of a workload that names its model. The measured steps of the attempt are
 * compared with it.
 */
import { findAccelerator } from "../catalogue/accelerators.ts";
import { modelFamilyOf, type ModelFamily } from "../correction/fleet-correction.ts";
import type { StepParts } from "../correction/slow-runs.ts";
import type { StepBreakdown } from "../training/step.ts";
import { isImpossible, knownAccelerators } from "./resolve.ts";
import { workerQuestion, type SubmissionSizing } from "./submission.ts";
import { sizeTraining } from "./training.ts";
import { settingOf } from "./training-setting.ts";

/** An attempt of a workload and its placement. */
export interface PlacedRun {
  readonly training: SubmissionSizing["training"];
  readonly acceleratorType: string;
  readonly acceleratorsPerWorker: number;
  readonly workers: number;
}

export interface RunPrediction {
  readonly kind: "predicted";
  /** The catalogue's name of the accelerator type. */
  readonly acceleratorType: string;
  readonly family: ModelFamily;
  readonly acceleratorCount: number;
  /**
   * Seconds of a step without correction. The prediction also has the ends of the 80% interval and the components of
   * the step.
   */
  readonly seconds: number;
  readonly lowSeconds: number;
  readonly highSeconds: number;
  readonly parts: StepParts;
  /**
   * If true, the prediction uses measured rates of the accelerator. The run then does not correct the catalogue's
   * rates.
   */
  readonly isCalibrated: boolean;
}

const networkParts: readonly (keyof StepBreakdown)[] = [
  "tensorExchange",
  "contextExchange",
  "expertExchange",
  "stageTransfer",
  "stateExchange",
];

/** Predicts a run without correction, even if the question contains a correction. */
export function predictRun(run: PlacedRun): RunPrediction | { readonly kind: "unpredicted"; readonly reason: string } {
  const known = knownAccelerators(run.training.catalogue);
  if (isImpossible(known)) return { kind: "unpredicted", reason: known.reason };
  const accelerator = findAccelerator(run.acceleratorType, known);
  if (accelerator === undefined) {
    return { kind: "unpredicted", reason: `the catalogue has no accelerator ${run.acceleratorType}` };
  }
  const question = { ...workerQuestion(run, accelerator, run.workers), correction: undefined, alternatives: false };
  const setting = settingOf(question);
  if ("kind" in setting) return { kind: "unpredicted", reason: setting.reason };
  const answer = sizeTraining({ ...question, scalingCounts: [question.acceleratorCount] });
  if (answer.kind === "impossible") return { kind: "unpredicted", reason: answer.reason };
  const { seconds, breakdown, interval } = answer.step;
  const network = networkParts.reduce((sum, part) => sum + breakdown[part], 0);
  return {
    kind: "predicted",
    acceleratorType: accelerator.name,
    family: modelFamilyOf(setting.job),
    acceleratorCount: question.acceleratorCount,
    seconds,
    lowSeconds: interval.lowSeconds,
    highSeconds: interval.highSeconds,
    // Input is read while the accelerators compute, so the model expects no time in a step in which they wait for
    // storage.
    parts: { compute: seconds - network, network, storage: 0 },
    isCalibrated: answer.isCalibrated,
  };
}
