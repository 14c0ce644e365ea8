/** A team's budget in words: its usage, and the time at which it will be used up. */
import { writeInstant } from "@headroom/protocol";
import type { Team } from "@headroom/protocol";
import { spentText } from "./budget-text.ts";
import { plural } from "./plain-text.ts";

export interface BudgetBound {
  readonly resource: "gpuHours" | "money";
  readonly spent: number;
  readonly limit: number;
}

/** Usage of each limit of a budget; empty for a team without a budget. */
export function budgetBounds({ budget, account }: Team): readonly BudgetBound[] {
  if (budget === undefined || account === undefined) return [];
  const { gpuHours, microUsd } = budget;
  return [
    ...(gpuHours === undefined ? [] : [{ resource: "gpuHours" as const, spent: account.gpuHours, limit: gpuHours }]),
    ...(microUsd === undefined ? [] : [{ resource: "money" as const, spent: account.microUsd, limit: microUsd }]),
  ];
}

/**
 * The team as it will be at a later time of the present period, if running work continues. No event marks the passing
 * of time.
 */
export function budgetAsOf(team: Team, atMs: number): Team {
  const { account } = team;
  const now = account?.forecast?.now;
  if (account === undefined || now === undefined) return team;
  const untilMs = Math.max(account.atMs, Math.min(atMs, account.renewsAtMs ?? atMs));
  const days = (untilMs - account.atMs) / DAY_MS;
  return {
    ...team,
    account: {
      ...account,
      atMs: untilMs,
      gpuHours: account.gpuHours + now.gpuHoursPerDay * days,
      microUsd: account.microUsd + now.microUsdPerDay * days,
    },
  };
}

export const isUsedUp = (team: Team): boolean => budgetBounds(team).some(({ spent, limit }) => spent >= limit);

/** `88 GPU-hours left`, `12.5 GPU-hours over`. */
export function leftText({ resource, spent, limit }: BudgetBound): string {
  return spent > limit ? `${spentText(resource, spent - limit)} over` : `${spentText(resource, limit - spent)} left`;
}

/** Whether the budget is soft or hard, with the meaning of the word. */
export const whenOver: Readonly<Record<NonNullable<Team["budget"]>["over"], string>> = {
  warn: "soft: no effect on work when it is used up",
  hold: "hard: when it is used up, no work starts",
  stop: "hard: when it is used up, no work starts and running work is stopped",
};

export interface BudgetPace {
  /** `what runs now`, `the last 7 days`. */
  readonly basis: string;
  /** `192 GPU-hours and $480 a day`. */
  readonly pace: string;
  readonly usedUpAtMs: number | null;
  /** Expected usage at the renewal, in percent; `null`: it is used up before, or is never renewed. */
  readonly percentAtRenewal: number | null;
}

/**
 * Sentences about when the budget will be used up, at the present rate and at the recent one; empty if nothing is left.
 */
export function budgetPaces(team: Team): readonly BudgetPace[] {
  const { account } = team;
  if (account?.forecast === undefined) return [];
  const { now, lately } = account.forecast;
  return [
    paceOf(team, "running work", now),
    ...(lately === null ? [] : [paceOf(team, `the last ${wholeText(account.atMs - lately.sinceMs)}`, lately)]),
  ];
}

type PaceForecast = NonNullable<NonNullable<Team["account"]>["forecast"]>["now"];

function paceOf(team: Team, basis: string, { gpuHoursPerDay, microUsdPerDay, usedUpAtMs }: PaceForecast): BudgetPace {
  const perDay = { gpuHours: gpuHoursPerDay, money: microUsdPerDay };
  const bounds = budgetBounds(team);
  const { atMs = 0, renewsAtMs = null } = team.account ?? {};
  const parts = bounds.map(({ resource, spent, limit }) =>
    renewsAtMs === null || limit === 0 ? 0 : (spent + (perDay[resource] * (renewsAtMs - atMs)) / DAY_MS) / limit,
  );
  const isRenewedBefore = usedUpAtMs === null && renewsAtMs !== null;
  return {
    basis,
    pace: `${bounds.map(({ resource }) => spentText(resource, perDay[resource])).join(" and ")} a day`,
    usedUpAtMs,
    percentAtRenewal: isRenewedBefore ? Math.floor(Math.max(0, ...parts) * 100) : null,
  };
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function wholeText(spanMs: number): string {
  const [unitMs, unit] = spanMs < DAY_MS ? ([HOUR_MS, "hour"] as const) : ([DAY_MS, "day"] as const);
  const count = Math.floor(spanMs / unitMs);
  return count === 1 ? unit : plural(count, unit);
}

/**
 * Text such as `12 of 100 GPU-hours (12%) this month, 88 GPU-hours left; hard: past it nothing starts`; `null` for a
 * team without a budget.
 */
export function budgetSentence(team: Team): string | null {
  const { budget, account } = team;
  if (budget === undefined || account === undefined) return null;
  const bounds = budgetBounds(team).map((bound) => {
    const { resource, spent, limit } = bound;
    const part = limit === 0 ? "" : ` (${Math.floor((spent / limit) * 100)}%)`;
    return `${spentText(resource, spent)} of ${spentText(resource, limit)}${part}, ${leftText(bound)}`;
  });
  const { renewsAtMs } = account;
  const period = renewsAtMs === null ? "in all" : `this month, renewed at ${writeInstant(renewsAtMs)}`;
  return `${bounds.join("; ")}; ${period}; ${whenOver[budget.over]}`;
}

/** `At the pace of what runs now, 192 GPU-hours a day, it is used up at 2026-11-24T10:00:00Z.` */
export function forecastSentences(team: Team): readonly string[] {
  return budgetPaces(team).map(({ basis, pace, usedUpAtMs, percentAtRenewal }) => {
    const end =
      usedUpAtMs !== null
        ? `it will be used up at ${writeInstant(Math.ceil(usedUpAtMs / 1_000) * 1_000)}`
        : percentAtRenewal === null
          ? "it will never be used up"
          : `${percentAtRenewal}% of it will be used when it is renewed`;
    return `At the rate of ${basis}, ${pace}, ${end}.`;
  });
}
