/** The plan beside the same plan under other assumptions. */
import type { SolvedPlan } from "@headroom/protocol";
import { grouped } from "@headroom/views";
import type { ReactElement } from "react";
import { NumberTable } from "../../parts/number-table.tsx";
import { Panel } from "../../parts/page.tsx";
import { dateText, differenceText, monthText, shareText, usdText } from "./plan-text.ts";

export function VariantsPanel({ plan: { variants, riskPct } }: { readonly plan: SolvedPlan }): ReactElement {
  const columns = [
    "Variant",
    "Difference",
    "Cost",
    "Capital",
    "Ordered",
    "First order by",
    "Utilisation",
    "Shortage risk",
  ];
  return (
    <Panel title="Variants side by side">
      <NumberTable label="Variants" columns={columns} rows={variants.map(variantRow)} />
      <p className="border-t border-line px-4 py-2.5 text-xs text-ink-2">
        Each variant is planned again at the lowest expected cost, with up to {riskPct}% risk of a shortage in a month.
        Cost counts purchases, running cost and flexible capacity, less what the hardware is worth at the end.
      </p>
      {variants.map(({ name, outcome }) =>
        outcome.kind === "impossible" ? (
          <div key={name} className="border-t border-line px-4 py-2.5">
            <p className="font-medium">
              {name}: no plan meets the demand of {outcome.pool} in {monthText(outcome.month)}
            </p>
            <p className="text-ink-2">
              {grouped(Math.ceil(outcome.demandAtRisk))} accelerators are needed,{" "}
              {grouped(Math.floor(outcome.possible))} are possible. Without any one of these constraints this month
              could be met:
            </p>
            <ul className="list-disc pl-5 text-ink-2">
              {outcome.constraints.map((text) => (
                <li key={text}>{text}</li>
              ))}
            </ul>
          </div>
        ) : null,
      )}
    </Panel>
  );
}

function variantRow({ name, outcome }: SolvedPlan["variants"][number]): readonly string[] {
  if (outcome.kind !== "planned") {
    const text = outcome.kind === "impossible" ? "no plan" : "not solved in time";
    return [name, text, "–", "–", "–", "–", "–", "–"];
  }
  return [
    name,
    outcome.differenceUsd === null ? "–" : differenceText(outcome.differenceUsd),
    usdText(outcome.costUsd),
    usdText(outcome.capitalUsd),
    grouped(outcome.accelerators),
    outcome.firstOrderBy === null ? "–" : dateText(outcome.firstOrderBy),
    shareText(outcome.utilisation),
    shareText(outcome.shortageRisk),
  ];
}
