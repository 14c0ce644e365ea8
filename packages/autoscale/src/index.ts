/**
 * How many replicas an endpoint needs: rules that decide it (`policies/`), a simulation of an endpoint whose replicas
 * come and go (`simulation/`), and the offline optimum to compare them with (`offline/`). Pure. Start with `contract.ts`.
 */
export { ReplicaCapacity, type Objectives, type Traffic } from "./capacity.ts";
export { compareScalers, type Comparison } from "./compare.ts";
export type { Autoscaler, EndpointSample, ReplicaBounds, ScaleDecision } from "./contract.ts";
export type { LoadReading } from "./targets/load-reading.ts";
export { TargetScaler, type Need, type TargetDecision } from "./targets/target-scaler.ts";
export type { Targets } from "./targets/targets.ts";
export { PredictiveScaler } from "./policies/predictive.ts";
export { ElasticServing, type ElasticSetting } from "./simulation/elastic-serving.ts";
export type { ScaledResult } from "./simulation/scaled-result.ts";
