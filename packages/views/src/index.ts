/**
 * The engine's state as API resources: pure functions of (engine, query), used by the server and by the console's demo.
 * They must not decide, cache or change anything; results never alias the state.
 */
export * from "./apply-forecast.ts";
export { applyWarnings } from "./apply-warnings.ts";
export * from "./budget-text.ts";
export * from "./calendar-view.ts";
export * from "./capacity-recorder.ts";
export * from "./defragmentation-view.ts";
export * from "./event-sentence.ts";
export * from "./event-title.ts";
export { closedByText, teamSharesOf, stopReasonText, type TeamShareChange } from "./eviction-text.ts";
export * from "./fleet-view.ts";
export * from "./knob-table.ts";
export * from "./level-refusal.ts";
export * from "./forecast-view.ts";
export * from "./forecast-words.ts";
export { refusedCursor } from "./page-cursor.ts";
export * from "./start-listings.ts";
export { gangSizeText } from "./gang-size-text.ts";
export * from "./plain-text.ts";
export * from "./replay-view.ts";
export * from "./quota-warnings.ts";
export * from "./schedule-view.ts";
export * from "./policy-text.ts";
export * from "./policy-view.ts";
export * from "./prediction-text.ts";
export * from "./rejection-view.ts";
export * from "./spec-terms.ts";
export * from "./status-view.ts";
export * from "./team-budget.ts";
export * from "./team-text.ts";
export * from "./team-view.ts";
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
export { AttemptSeries, sampleOf } from "./telemetry/attempt-series.ts";
export type { MetricsRange, NewestReport, TelemetrySample } from "./telemetry/attempt-series.ts";
export { NewestReports } from "./telemetry/newest-reports.ts";
export { SERIES_POINTS_MAX } from "./telemetry/series.ts";
export { activeAttemptView, exitSentence, workloadSummary, workloadView } from "./workload-view.ts";
