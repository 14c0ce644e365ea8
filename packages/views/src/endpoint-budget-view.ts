/** The budget of an endpoint, and what it spent. */
import { endpointRenewalMs, isBudgetSpent } from "@headroom/model";
import type { Workload } from "@headroom/model";
import { endpointSpending } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import { writeInstant, type Endpoint } from "@headroom/protocol";

export function endpointBudgetView(state: ReadonlyState, workload: Workload, nowMs: number): Endpoint["budget"] {
  const { spec, account } = workload;
  const spending = endpointSpending(state, workload, nowMs);
  if (spec.kind !== "serve" || spec.budget === undefined || account === undefined || spending === null) return null;
  const { microUsd, period, over } = spec.budget;
  const figures = { ...spending, renewsAtMs: endpointRenewalMs(spec.budget, nowMs) };
  const part = microUsd === 0 ? 100 : Math.floor((100 * spending.spentMicroUsd) / microUsd);
  const spent = `${part}% of ${money(microUsd)} for this ${period} is spent`;
  const until = `until ${writeInstant(figures.renewsAtMs)}`;
  const stays = over === "stop" ? "no replica runs" : `no replica runs beyond replicas.min (${spec.replicas.min})`;
  const sentence = isBudgetSpent({ spec, account })
    ? `${spent}: ${stays} ${until}.`
    : `${spent}, renewed ${until.replace("until", "at")}.`;
  return { microUsd, period, over, ...figures, sentence: `${sentence}${unpricedText(state, workload)}` };
}

/** Says which replicas the budget does not count: those whose pool has no price. */
function unpricedText({ attempts, nodes, pools }: ReadonlyState, { activeAttempts }: Workload): string {
  const workers = activeAttempts.flatMap((id) => attempts.get(id)?.workers ?? []);
  const used = new Set(workers.flatMap(({ node }) => nodes.get(node)?.pool ?? []));
  const unpriced = [...used].filter((name) => pools.get(name)?.priceMicroUsdPerHour === undefined).toSorted();
  if (unpriced.length === 0) return "";
  return ` Replicas in ${unpriced.join(", ")} are not counted: ${unpriced.length === 1 ? "the pool has" : "these pools have"} no price.`;
}

const money = (microUsd: number): string => `${(microUsd / 1_000_000).toFixed(2)} USD`;
