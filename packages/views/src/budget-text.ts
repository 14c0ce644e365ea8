/** Budgets in words: how much of what is used up. */
import type { Team } from "@headroom/protocol";

const MICRO = 1_000_000;

/** `1,204.5 GPU-hours` or `$96.31`; what that would round to nothing, with more digits: `$0.000128`. */
export function spentText(resource: "gpuHours" | "money", amount: number): string {
  if (resource === "gpuHours") return `${amount < 1 ? small(amount, 4) : rounded(amount, 1)} GPU-hours`;
  const dollars = amount / MICRO;
  return `$${dollars < 0.01 ? small(dollars, 6) : rounded(dollars, 2)}`;
}

/** Never `0` of something that is more than nothing. */
const small = (amount: number, digits: number): string =>
  (amount === 0 ? 0 : Math.max(amount, 10 ** -digits)).toFixed(digits).replace(/\.?0+$/, "");

function rounded(amount: number, digits: number): string {
  const [whole = "0", rest] = amount.toFixed(digits).split(".");
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ",");
  return rest === undefined || /^0+$/.test(rest) ? grouped : `${grouped}.${rest}`;
}

/** `12 of 100 GPU-hours this month (12%), then nothing starts`; `null` for a team without a budget. */
export function budgetSentence({ budget, account }: Team): string | null {
  if (budget === undefined || account === undefined) return null;
  const bounds = [
    ...(budget.gpuHours === undefined
      ? []
      : [{ resource: "gpuHours" as const, spent: account.gpuHours, limit: budget.gpuHours }]),
    ...(budget.microUsd === undefined
      ? []
      : [{ resource: "money" as const, spent: account.microUsd, limit: budget.microUsd }]),
  ].map(({ resource, spent, limit }) => {
    const part = limit === 0 ? "" : ` (${Math.floor((spent / limit) * 100)}%)`;
    return `${spentText(resource, spent)} of ${spentText(resource, limit)}${part}`;
  });
  return `${bounds.join(", ")} ${budget.period === "month" ? "this month" : "in all"}; ${whenOver[budget.over]}`;
}

const whenOver = {
  warn: "past it nothing happens",
  hold: "past it nothing starts",
  stop: "past it what runs is stopped",
} as const;
