/**
 * The performance model. It predicts time, memory and cost of a training run or an endpoint from datasheets,
 * architectures, formulas and a few fitted constants. It must not read files, clocks or the network, and no part is
 * specific to one source of measurements. Start with `catalogue/` (accelerators, nodes, fabrics, models), then
 * `training/step.ts`.
 */
export * from "./catalogue/accelerator.ts";
export * from "./catalogue/accelerators.ts";
export * from "./catalogue/accelerator-types.ts";
export * from "./catalogue/calibration.ts";
export * from "./catalogue/fabric.ts";
export * from "./catalogue/hugging-face.ts";
export * from "./catalogue/links.ts";
export * from "./catalogue/model.ts";
export * from "./catalogue/models.ts";
export * from "./catalogue/recipes.ts";
export * from "./catalogue/node.ts";
export * from "./catalogue/nodes.ts";
export * from "./catalogue/number-format.ts";
export * from "./catalogue/power-limit.ts";
export { otherModelReason } from "./catalogue/other-models.ts";
export * from "./catalogue/user-entries.ts";
export * from "./constants.ts";
export * from "./training/evidence.ts";
export * from "./training/feasibility.ts";
export * from "./training/interval.ts";
export * from "./training/job.ts";
export * from "./training/measured-runs.ts";
export * from "./training/memory.ts";
export * from "./training/scaling.ts";
export * from "./training/search/best.ts";
export * from "./training/search/nearest.ts";
export * from "./training/search/ordinary.ts";
export * from "./training/search/pareto.ts";
export * from "./training/search/space.ts";
export * from "./training/step.ts";
export * from "./constants-inference.ts";
export * from "./inference/index.ts";
export * from "./batching/index.ts";
export { deriveCalibration, type Calibration, type ServingCalibration } from "./calibration/derive.ts";
export { acceleratorOfDevice } from "./calibration/device-names.ts";
export { readProfile, type CalibrationProfile, type ProfileReading } from "./calibration/profile.ts";
export * from "./correction/fleet-correction.ts";
export * from "./correction/fleet-report.ts";
export * from "./correction/measured-steps.ts";
export * from "./correction/slow-runs.ts";
export * from "./failures/checkpoint-interval.ts";
export * from "./failures/domains.ts";
export * from "./failures/rates.ts";
export * from "./failures/spares.ts";
export { fabricCounts, fabricOf, fabricRequest } from "./network/fabric-counts.ts";
export type { FabricWall, WallPoint } from "./network/fabric-wall.ts";
export type {
  FabricAnswer,
  FabricCounts,
  FabricImpossible,
  FabricLevel,
  FabricRequest,
} from "./network/fabric-request.ts";
export * from "./storage/axes.ts";
export * from "./storage/demand.ts";
export * from "./storage/tiers.ts";
export { answerSizing, type SizingAnswer, type SizingQuestion } from "./sizing/answer.ts";
export { designCluster, usualClusterSettings, type ClusterDesign, type ClusterPrices } from "./sizing/cluster.ts";
export * from "./sizing/failures.ts";
export { sizeNetwork, type JobMix, type MixJob, type NetworkReport } from "./sizing/network.ts";
export type { Impossible, ModelChoice } from "./sizing/resolve.ts";
export * from "./sizing/serving-comparison.ts";
export * from "./sizing/serving.ts";
export * from "./sizing/storage.ts";
export { describePlan } from "./sizing/plan-text.ts";
export { predictRun, type PlacedRun, type RunPrediction } from "./sizing/run-prediction.ts";
export { sizeSubmission, throughputOf, type SubmissionCheck, type SubmissionSizing } from "./sizing/submission.ts";
export { sizeTraining, type TrainingReport } from "./sizing/training.ts";
export * from "./sizing/training-defaults.ts";
export type { TrainingSizing } from "./sizing/training-setting.ts";
