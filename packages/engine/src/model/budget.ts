/** A team's budget over time: accelerator-hours, money, or both. Usage of all teams below it counts. */
export interface Budget {
  /** Hours of one accelerator; a share counts as the part that it is. Absent: no bound. */
  readonly gpuHours?: number;
  /** By the prices of the pools, in micro-dollars. Absent: no bound. */
  readonly microUsd?: number;
  /** `month`: renewed with every calendar month in UTC. `total`: once. Counted from when the budget is declared. */
  readonly period: "month" | "total";
  /** Once it is used up. `warn`: it is recorded, nothing else. `hold`: nothing of the team starts. `stop`: what runs is stopped, too. */
  readonly over: "warn" | "hold" | "stop";
}

/** The parts of a budget at which it is recorded that so much is used up, in percent. */
export const BUDGET_WARNING_PERCENT = 80;
export const BUDGET_SPENT_PERCENT = 100;

/** Usage of a team's budget as of an instant; usage since then is added when it is read. */
export interface Account {
  readonly atMs: number;
  /** Thousandths of an accelerator, times ms. */
  readonly milliMs: number;
  /** The same at the price of an hour: micro-dollars, times thousandths, times ms. */
  readonly moneyMilliMs: number;
  /** Daily usage of recent days, oldest first, without gaps; absent: not counted yet. */
  readonly days?: readonly DayUse[];
  /** The period for which a part of the budget was recorded as used up, and which; absent: none. */
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
