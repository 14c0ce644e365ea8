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

/** Used percentages of a budget at which an event is recorded. */
export const BUDGET_WARNING_PERCENT = 80;
export const BUDGET_SPENT_PERCENT = 100;

/** Usage of a team's budget as of an instant; usage since then is added when it is read. */
export interface Account {
  readonly atMs: number;
  /** Thousandths of an accelerator, times ms. */
  readonly milliMs: number;
  /** Cost at prices per hour: micro-dollars, times thousandths of an accelerator, times ms. */
  readonly moneyMilliMs: number;
  /** Daily usage of recent days, oldest first, without gaps; absent: not counted yet. */
  readonly days?: readonly DayUse[];
  /** The period in which a used percentage was recorded, and the percentage; absent: none. */
  readonly crossed?: { readonly percent: number; readonly periodStartMs: number };
}

/** Usage of one day in UTC, or of the part of it that was counted; in the units of `Account`. */
export interface DayUse {
  readonly fromMs: number;
  readonly milliMs: number;
  readonly moneyMilliMs: number;
}

/** Rate of usage of running work, per ms. */
export interface Rate {
  readonly milli: number;
  readonly moneyMilli: number;
}
