/**
 * The engine's state as API resources. The code consists of pure functions of (engine, query), which the server and the
 * console's demo use. They must not decide, cache or change anything, and results never share objects with the state.
 */
export * from "./accelerator-names.ts";
export * from "./apply-forecast.ts";
export { applyWarnings } from "./apply-warnings.ts";
export * from "./budget-text.ts";
export * from "./calendar-view.ts";
export * from "./artifact-lineage.ts";
export * from "./artifact-view.ts";
export { orderPhaseText, spanText } from "./capacity-order-text.ts";
export * from "./capacity-order-view.ts";
export { checkAdviceQuery, orderAdviceView } from "./order-advice-view.ts";
export * from "./drill-view.ts";
export * from "./endpoint-view.ts";
export * from "./capacity-recorder.ts";
export * from "./defragmentation-view.ts";
export * from "./event-sentence.ts";
export { historyView, hoursOf } from "./imported-history-view.ts";
export { executorPhase, executorUse, NO_EXECUTOR_USE } from "./executor-view.ts";
export * from "./event-title.ts";
export { closedByText, teamSharesOf, stopReasonText, type TeamShareChange } from "./eviction-text.ts";
export { withCataloguePower } from "./catalogue-power.ts";
export { nodesOfDomains, type DomainName, type NamedFleet } from "./failure-domains.ts";
export * from "./fleet-view.ts";
export { findingsView } from "./finding-view.ts";
export { findWaste } from "./idle-resources.ts";
export { mapLetters } from "./health-map.ts";
export * from "./health-view.ts";
export { capsOfNode } from "./node-caps.ts";
export * from "./incident-view.ts";
export * from "./knob-table.ts";
export * from "./level-refusal.ts";
export * from "./forecast-view.ts";
export * from "./forecast-words.ts";
export { refusedCursor } from "./page-cursor.ts";
export * from "./start-listings.ts";
export { gangSizeText } from "./gang-size-text.ts";
export { stagingText } from "./staging-text.ts";
export { cronText } from "./cron-text.ts";
export { stepReasonSentence, stepWaitSentence, triggerText } from "./pipeline-text.ts";
export * from "./pipeline-plan-view.ts";
export * from "./pipeline-view.ts";
export * from "./plain-text.ts";
export * from "./proposal-effect.ts";
export { proposalPhaseText, proposalRuleText, proposedChangeText } from "./proposal-text.ts";
export * from "./proposal-view.ts";
export { isReadable, readableHistory, type ReadableTeams } from "./readable-teams.ts";
export { TeamReader } from "./team-reader.ts";
export * from "./replay-view.ts";
export * from "./quota-warnings.ts";
export { rolloutFigureText, stepsText } from "./rollout-text.ts";
export { groundText, loadGroundText, metricGapText, scalingSentence } from "./scale-text.ts";
export * from "./schedule-view.ts";
export * from "./policy-text.ts";
export * from "./policy-view.ts";
export * from "./prediction-text.ts";
export * from "./rejection-view.ts";
export * from "./slow-run-text.ts";
export * from "./spec-terms.ts";
export * from "./status-view.ts";
export * from "./team-budget.ts";
export * from "./team-text.ts";
export * from "./team-view.ts";
export { closedPlacesText } from "./shortfall-text.ts";
export * from "./verdict-view.ts";
export * from "./wake-text.ts";
export * from "./waste-view.ts";
export * from "./tried-change.ts";
export * from "./what-if-figures.ts";
export * from "./what-if-view.ts";
export * from "./wire-forms.ts";
export { readHistory } from "./workload-history.ts";
export { workloadList } from "./workload-list.ts";
export { Story, type StoryLine } from "./workload-story.ts";
export type { RankComparison } from "./telemetry/attempt-series.ts";
export { performanceSentences } from "./telemetry/performance-text.ts";
export { AttemptSeries, isTelemetrySignal, ranksInPlace, sampleOf } from "./telemetry/attempt-series.ts";
export type { MetricsRange, NewestReport, TelemetrySample } from "./telemetry/attempt-series.ts";
export { rejectedLineTexts, rejectedLinesText } from "./telemetry/rejected-lines-text.ts";
export { AcceleratorReadings, measuredAttempts, READINGS_FRESH_MS } from "./telemetry/accelerator-readings.ts";
export type { MeasuredAttempt } from "./telemetry/accelerator-readings.ts";
export { AcceleratorSeries } from "./telemetry/accelerator-series.ts";
export type { ReadingValues } from "./telemetry/accelerator-series.ts";
export { NewestReports } from "./telemetry/newest-reports.ts";
export { pointsBetween, Series, SERIES_POINTS_MAX } from "./telemetry/series.ts";
export type { StoredSeries } from "./telemetry/series.ts";
export {
  acceleratorIndexOf,
  acceleratorSample,
  acceleratorSubject,
  seriesUnits,
  subjectSamples,
} from "./telemetry/subject-samples.ts";
export type { SubjectSample } from "./telemetry/subject-samples.ts";
export { seriesView } from "./telemetry/series-view.ts";
export { SubjectRecorder } from "./telemetry/subject-recorder.ts";
export { changeForecastView, type ChangeForecastView } from "./change-forecast.ts";
export { changesRefusal, changesText, engineChanges, fieldChanges } from "./workload-changes.ts";
export {
  activeAttemptView,
  endSentence,
  exitSentence,
  isServing,
  workloadSummary,
  workloadView,
} from "./workload-view.ts";
export { stagingEstimate, transferView } from "./transfer-view.ts";
export { changesWithNotices, noticesInOrder, submissionNotices, withNotices } from "./submission-notices.ts";
