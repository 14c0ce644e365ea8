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
