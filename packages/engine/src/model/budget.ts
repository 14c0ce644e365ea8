/** A team's budget over time: accelerator-hours, money, or both. Usage of all teams below it counts. */
export interface Budget {
  /** Accelerator-hours; a fraction of an accelerator counts as such. Absent: no bound. */
  readonly gpuHours?: number;
  /** Cost by the prices of the pools, in micro-dollars. Absent: no bound. */
  readonly microUsd?: number;
  /** `month`: renewed with every calendar month in UTC. `total`: once. Counted from when the budget is declared. */
  readonly period: "month" | "total";
  /**
   * Action when the budget is used up. `warn`: recorded only. `hold`: no work of the team starts. `stop`: running work
   * is stopped too.
   */
  readonly over: "warn" | "hold" | "stop";
}

/** Percentages of a budget; an event is recorded when usage reaches one. */
export const BUDGET_WARNING_PERCENT = 80;
export const BUDGET_SPENT_PERCENT = 100;

/** Usage of a team's budget as of an instant; usage since then is added when it is read. */
export interface Account {
  readonly atMs: number;
  /** Thousandths of an accelerator, times ms. */
  readonly milliMs: number;
  /** Cost at prices per hour: micro-dollars, times thousandths of an accelerator, times ms. */
  readonly moneyMilliMs: number;
  /** Usage of each recent day, oldest first, without gaps; absent: none recorded. */
  readonly days?: readonly DayUse[];
  /** The warning percentage that was recorded last, with its budget period; absent: none. */
  readonly crossed?: { readonly percent: number; readonly periodStartMs: number };
}

/** Usage in one UTC day, in the units of `Account`; for the first and the current day, the part counted so far. */
export interface DayUse {
  readonly fromMs: number;
  readonly milliMs: number;
  readonly moneyMilliMs: number;
}

/** Rate at which running work uses up a budget, per ms. */
export interface Rate {
  readonly milli: number;
  readonly moneyMilli: number;
}
