/**
 * Capacity and money ahead of time. Start with `document/plan-document.ts` (what a plan is made from), then `optimise/make-plan.ts`;
 * `check/` recomputes a plan without the optimiser's code. It must not read files or clocks.
 */
export { forecastCeilings, readCeilingDocument, type CeilingReport } from "./ceilings/ceilings.ts";
export { checkPlan } from "./check/check-plan.ts";
export { readDemandDocument, sizeDemand, type SizedDemand, type WorkSizer } from "./demand/demand-document.ts";
export {
  HISTORY_WEEKS_MIN,
  measuredDemand,
  monthsToEnd,
  type MeasuredDemand,
  type WeeklyUse,
} from "./demand/measured-demand.ts";
export {
  planDocumentSchema,
  readPlanDocument,
  type PlanDocument,
  type PlanDocumentProblem,
} from "./document/plan-document.ts";
export type { CapacityPlan } from "./optimise/capacity-plan.ts";
export { proofMonths, type ProofMonth } from "./futures/proof.ts";
export type { ImpossiblePlan } from "./optimise/impossible.ts";
export { loadSolver, type Solver } from "./optimise/linear-model.ts";
export { makePlan, usualLimits, type PlanOutcome } from "./optimise/make-plan.ts";
export { solvePlan, type SolvedPlan } from "./solved/solved-plan.ts";
export { readPlanRequest } from "./solved/plan-request.ts";
export { meanSpeed } from "./document/supply.ts";
export { planReadings, type PlanReadings, type PoolCapacity } from "./triggers/plan-readings.ts";
export {
  evaluateTriggers,
  readTriggerDocument,
  triggerMeasures,
  type TriggerDocument,
  type TriggerMeasure,
  type TriggerState,
} from "./triggers/triggers.ts";
export { proposalOfTrigger, type TriggerProposal } from "./triggers/trigger-proposal.ts";
export { losesWork, runSpotJob, type SpotAccount, type SpotJob } from "./offers/spot-job.ts";
export { offlineOptimum } from "./offers/spot-optimum.ts";
export { ExpectedCostPolicy } from "./offers/spot-policy.ts";
export { spotSeries, type SpotRow, type SpotSeries } from "./offers/spot-series.ts";
export { forecast, type Forecast } from "./forecast/forecast.ts";
export { scoreForecast, type ForecastScore } from "./forecast/score.ts";
export { calendarPeriods, detectSeasons } from "./forecast/season.ts";
