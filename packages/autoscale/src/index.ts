/**
 * How many replicas an endpoint needs: rules that decide it (`policies/`), a simulation of an endpoint whose replicas
 * come and go (`simulation/`), and the offline optimum to compare them with (`offline/`). `rollouts/`: whether a new
 * revision is worse than the one before. `control/`: decisions on live endpoints, from reports of gateways to commands of the
 * engine. Pure. Start with `contract.ts`.
 */
export { IdleYields, waitsForPlace } from "./control/idle-yield.ts";
export { LoadReports, SILENT_AFTER_MS, type TotalLoad } from "./control/load-reports.ts";
export { RolloutControl, type JudgedRollout, type SteerCommand } from "./control/rollout-control.ts";
export { scaledEndpoint, ScalingControl, type ScaleCommand, type ScaledEndpoint } from "./control/scaling-control.ts";
export { ReplicaCapacity, type Objectives, type Traffic } from "./capacity.ts";
export { compareScalers, type Comparison } from "./compare.ts";
export type { Autoscaler, EndpointSample, ReplicaBounds, ScaleDecision } from "./contract.ts";
export type { LoadReading } from "./targets/load-reading.ts";
export { TargetScaler, type Need, type TargetDecision } from "./targets/target-scaler.ts";
export type { MetricReading } from "./targets/metric-reading.ts";
export type { Targets } from "./targets/targets.ts";
export { detection, falseAlarms, usualMargins, type Detection } from "./rollouts/measure.ts";
export type { Moments, RevisionReading } from "./rollouts/reading.ts";
export { noRegression, type Regression } from "./rollouts/trial.ts";
export { rolloutVerdict, type RolloutFigure, type RolloutMargins, type RolloutVerdict } from "./rollouts/verdict.ts";
export {
  chooseFleet,
  type ChosenFleet,
  type FleetChoice,
  type FleetQuestion,
  type RequestClass,
} from "./mixed/fleet-choice.ts";
export { EndpointScaler, targetsFor } from "./targets/endpoint-scaler.ts";
export { PredictiveScaler } from "./policies/predictive.ts";
export { ElasticServing, type ElasticSetting } from "./simulation/elastic-serving.ts";
export type { ScaledResult } from "./simulation/scaled-result.ts";
export { SharedFleetSimulation, type SharedEndpoint, type SharedFleetResult } from "./simulation/shared-fleet.ts";
export { lengthProblem, tickTraffic, type TickTraffic } from "./simulation/tick-traffic.ts";
