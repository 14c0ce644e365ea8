/**
 * Usage and money, outside the engine: the journal as usage rows, prices as documents, bills that reconcile to the micro-dollar.
 * It does no I/O. Start with `rows/usage-fold.ts`.
 */
export { milliMsOf, clipRow, USAGE_STATES, type UsageRow, type UsageState } from "./rows/row.ts";
export { UsageFold } from "./rows/usage-fold.ts";
export {
  cutRow,
  HOUR_MS,
  isWithin,
  periodEndMs,
  periodStartMs,
  UsageTotals,
  type GroupField,
  type UsagePeriod,
  type UsageTotal,
} from "./rows/usage-totals.ts";
export {
  priceBook,
  priceDocument,
  meteredMicroUsd,
  type Billing,
  type CapacityPrice,
  type MeteredPrice,
  type PoolPrice,
  type PriceBook,
  type PriceDocument,
} from "./prices/price-documents.ts";
export { withDeclaredPrices, type DeclaredPool } from "./prices/declared-prices.ts";
export { hourCost, hourCosts, monthCosts } from "./prices/capacity-cost.ts";
export { sortedLines, type MeteredLine } from "./metered/metered-line.ts";
export { StoreFold } from "./metered/store-fold.ts";
export { gatewayRecord, GatewayUsage, type GatewayRecord } from "./metered/gateway-usage.ts";
export { instantOf, MICRO, microUsd } from "./prices/amounts.ts";
export { charges, HourlyRows, isUnused, MILLI_MS_PER_HOUR, type BillingRange, type Charge } from "./bill/charges.ts";
export { billedCharges, rangeOfRows, type Billable } from "./bill/billed-charges.ts";
export { allColumns, focusColumns, type FocusColumn, type FocusRow } from "./focus/focus-columns.ts";
export { PowerMeter, type PowerPoint } from "./energy/power-meter.ts";
export { focusRows, monthsOf } from "./focus/focus-rows.ts";
export { meteredFocusRows } from "./focus/metered-rows.ts";
export { FocusEvaluation, type FocusViolation } from "./focus/evaluate.ts";
export type { FocusText } from "./focus/row-rules.ts";
export { demoMonth, type DemoMonth } from "./focus/demo-fleet.ts";
export { focusText, focusValueText } from "./focus/focus-text.ts";
export { checkFeed, type FeedDefect, type FeedLimits, type FeedRow, type FeedVerdict } from "./feeds/check-feed.ts";
export { csvRecords, type CsvRecord } from "./feeds/csv-records.ts";
export { feedHeader, feedHeaderRefusal, feedRow, type FeedHeader } from "./feeds/feed-table.ts";
export {
  compareOffers,
  offerQuestion,
  type Offer,
  type OfferMarket,
  type OfferQuestion,
  type StatedConditions,
} from "./feeds/compare-offers.ts";
export { offersAnswer, type NamedRow, type NamedTco, type OffersAnswer } from "./feeds/offers-answer.ts";
export { usefulHour, type OfferConditions, type UsefulHour } from "./feeds/useful-hour.ts";
export { breakEven, costOf, sensitivities, tcoDocument, type OwnedOption, type TcoDocument } from "./tco/tco.ts";
export { costAnomalies, costFields, CostReport, type CostField, type CostTotal } from "./report/cost-report.ts";
export {
  CauseTotals,
  HOUR_CAUSES,
  type CauseGroup,
  type CauseHours,
  type CauseLine,
  type HourCause,
  type UsedShares,
} from "./report/cause-hours.ts";
export { causeAnswer, thousandthsText, type CauseAnswer } from "./report/cause-answer.ts";
export { costAnswer, type CostAnswer, type CostQuestion } from "./report/cost-answer.ts";
export { costChanges, type CostChanges } from "./report/cost-changes.ts";
export { QuarterFold } from "./review/quarter-facts.ts";
export { quarterOf, type Quarter } from "./review/quarter.ts";
export { WaitingFold, type TeamWait } from "./review/waiting-fold.ts";
export { reviewQuarter, type Review, type ReviewCost } from "./review/review.ts";
