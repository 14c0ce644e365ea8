/** A team's budget over time: accelerator-hours, money, or both. Usage of all teams below it counts. */
export interface Budget {
  /** Bound in accelerator-hours; a fraction of an accelerator counts as this fraction. Absent: no bound. */
  readonly gpuHours?: number;
  /** Bound of the cost by the prices of the pools, in micro-dollars. Absent: no bound. */
  readonly microUsd?: number;
  /**
   * `month`: the budget is renewed with every calendar month in UTC. `total`: it is never renewed. Usage counts from
   * the declaration of the budget.
   */
  readonly period: "month" | "total";
  /**
   * Action when the budget is used up. `warn`: an event is recorded, nothing else. `hold`: no work of the team starts.
   * `stop`: running work is stopped too.
   */
  readonly over: "warn" | "hold" | "stop";
}

/** Percentages of a budget; an event is recorded when usage reaches one. */
export const BUDGET_WARNING_PERCENT = 80;
export const BUDGET_SPENT_PERCENT = 100;

/** Recorded usage of a team's budget at an instant. Usage after this instant is added when the account is read. */
export interface Account {
  readonly atMs: number;
  /** Usage of accelerators, in thousandths of an accelerator times ms. */
  readonly milliMs: number;
  /** Cost by hourly prices, in micro-dollars times thousandths of an accelerator times ms. */
  readonly moneyMilliMs: number;
  /** Usage of each recent day, oldest first, without gaps. Absent: no usage was recorded. */
  readonly days?: readonly DayUse[];
  /** The warning percentage that was recorded last, with its budget period. Absent: none was recorded. */
  readonly crossed?: { readonly percent: number; readonly periodStartMs: number };
}

/** Usage in one UTC day, in the units of `Account`. For the first day and the current day: the part counted so far. */
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
