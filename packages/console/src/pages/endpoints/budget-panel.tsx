/** The budget of an endpoint: what it spent, what happens at 80% and at the limit, and when the next period begins. */
import type { Endpoint } from "@headroom/protocol";
import { budgetAmountText, plural } from "@headroom/views";
import type { ReactElement } from "react";
import { Facts, type Fact } from "../../parts/facts.tsx";
import { Panel } from "../../parts/page.tsx";
import { Moment } from "../../parts/time-text.tsx";
import { UsageBar } from "../../parts/usage-bar.tsx";

type Budget = NonNullable<Endpoint["budget"]>;

interface BudgetPanelProps {
  readonly budget: Endpoint["budget"];
  /** Least number of replicas of the endpoint. */
  readonly min: number;
}

export function BudgetPanel({ budget, min }: BudgetPanelProps): ReactElement | null {
  if (budget === null) return null;
  const { microUsd, spentMicroUsd, overflowMicroUsd, period } = budget;
  const percent = microUsd === 0 ? 100 : Math.floor((100 * spentMicroUsd) / microUsd);
  const facts: readonly Fact[] = [
    {
      name: "Spent",
      value: `${usd(spentMicroUsd)} of ${usd(microUsd)} ${period === "day" ? "today" : "this month"} (${percent}%)`,
    },
    ...(overflowMicroUsd === 0 ? [] : [{ name: "Requests that left", value: usd(overflowMicroUsd) }]),
    { name: "At 80%", value: "An event is recorded. Replicas stay." },
    { name: "At 100%", value: limitText(budget, min) },
    { name: "Next period", value: <Moment atMs={budget.renewsAtMs} /> },
    { name: "Now", value: budget.sentence },
  ];
  return (
    <Panel title="Budget">
      <div className="px-4 pt-3">
        <UsageBar
          total={Math.max(1, microUsd, spentMicroUsd)}
          parts={[{ key: "spent", amount: spentMicroUsd, className: percent >= 80 ? "bg-wait" : "bg-accent" }]}
        />
      </div>
      <Facts facts={facts} />
    </Panel>
  );
}

const usd = (microUsd: number): string => budgetAmountText("money", microUsd);

const NONE_STAYS = "No replica stays until the next period.";

function limitText({ over }: Budget, min: number): string {
  switch (over) {
    case "warn":
      return "An event is recorded. Replicas stay.";
    case "minimum":
      return min === 0 ? NONE_STAYS : `At most ${plural(min, "replica")} until the next period.`;
    case "stop":
      return NONE_STAYS;
  }
}
