/** The model's prediction for one attempt of a workload that names its model; measured steps are compared with it. */
import { findAccelerator } from "../catalogue/accelerators.ts";
import { modelFamilyOf, type ModelFamily } from "../correction/fleet-correction.ts";
import type { StepParts } from "../correction/slow-runs.ts";
import type { StepBreakdown } from "../training/step.ts";
import { isImpossible, knownAccelerators } from "./resolve.ts";
import { workerQuestion, type SubmissionSizing } from "./submission.ts";
import { sizeTraining } from "./training.ts";
import { settingOf } from "./training-setting.ts";

/** An attempt with its placement. */
export interface PlacedRun {
  readonly training: SubmissionSizing["training"];
  readonly acceleratorType: string;
  readonly acceleratorsPerWorker: number;
  readonly workers: number;
}

export interface RunPrediction {
  readonly kind: "predicted";
  /** Name of the type in the catalogue. */
  readonly acceleratorType: string;
  readonly family: ModelFamily;
  readonly acceleratorCount: number;
  /** Uncorrected seconds of a step, with the ends of the 80% interval and the components. */
  readonly seconds: number;
  readonly lowSeconds: number;
  readonly highSeconds: number;
  readonly parts: StepParts;
  /** True: the prediction uses measured rates of the accelerator, so its runs do not correct the catalogue's rates. */
  readonly isCalibrated: boolean;
}

const networkParts: readonly (keyof StepBreakdown)[] = [
  "tensorExchange",
  "contextExchange",
  "expertExchange",
  "stageTransfer",
  "stateExchange",
];

/** Predicts without correction, even if the question contains one. */
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
    // Input is read while the accelerators compute, so the model expects no wait for storage within a step.
    parts: { compute: seconds - network, network, storage: 0 },
    isCalibrated: answer.isCalibrated,
  };
}
