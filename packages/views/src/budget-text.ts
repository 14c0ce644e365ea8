/** Formats amounts of budgets. */
import type { Event } from "@headroom/protocol";

const MICRO = 1_000_000;

/** `1,204.5 GPU-hours` or `$96.31`. */
export function spentText(resource: "gpuHours" | "money", amount: number): string {
  const text = budgetAmountText(resource, amount);
  return resource === "gpuHours" ? `${text} GPU-hours` : text;
}

/** An amount such as `1,204.5` (hours) or `$96.31`. Small amounts get more digits: `$0.000128`. */
export function budgetAmountText(resource: "gpuHours" | "money", amount: number): string {
  if (resource === "gpuHours") return amount < 1 ? small(amount, 4) : rounded(amount, 1);
  const dollars = amount / MICRO;
  return `$${dollars < 0.01 ? small(dollars, 6) : rounded(dollars, 2)}`;
}

/** Digits are added so that a positive amount is never shown as `0`. */
const small = (amount: number, digits: number): string =>
  (amount === 0 ? 0 : Math.max(amount, 10 ** -digits)).toFixed(digits).replace(/\.?0+$/, "");

function rounded(amount: number, digits: number): string {
  const [whole = "0", rest] = amount.toFixed(digits).split(".");
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ",");
  return rest === undefined || /^0+$/.test(rest) ? grouped : `${grouped}.${rest}`;
}

type EndpointBudgetEvent = Extract<
  Event,
  { readonly kind: "endpointBudgetCrossed" | "endpointBudgetRenewed" | "overflowCharged" }
>;

export function endpointBudgetSentence(event: EndpointBudgetEvent): string {
  switch (event.kind) {
    case "endpointBudgetCrossed":
      return `Endpoint ${event.workloadId} has spent ${event.percent}% of its budget: ${spentText("money", event.spent)} of ${spentText("money", event.limit)}.`;
    case "endpointBudgetRenewed":
      return `The budget of endpoint ${event.workloadId} was renewed.`;
    case "overflowCharged":
      return `Gateway ${event.gateway} counted ${spentText("money", event.microUsd)} for requests that left endpoint ${event.workloadId}.`;
  }
}
