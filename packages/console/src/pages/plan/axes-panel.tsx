/** Axes that run out, one row for each, with a bar over the months. */
import type { SolvedPlan } from "@headroom/protocol";
import type { ReactElement } from "react";
import { useNow } from "../../connect/use-now.ts";
import { Panel } from "../../parts/page.tsx";
import { amountText, isPast, monthText, shareText } from "./plan-text.ts";

type Axis = SolvedPlan["axes"][number];

const columns = [
  { title: "Axis", className: "" },
  { title: "", className: "hidden w-1/3 md:table-cell" },
  { title: "Median", className: "" },
  { title: "1 in 20", className: "" },
  { title: "Probability", className: "hidden text-right sm:table-cell" },
  { title: "Extend by", className: "" },
];

export function AxesPanel({ plan }: { readonly plan: SolvedPlan }): ReactElement {
  const nowMs = useNow();
  return (
    <Panel title="Axes that run out">
      <p className="px-4 py-2.5 text-xs text-ink-2">
        Each axis as it is without any order. Median (red): use passes the capacity in half of the cases; 1 in 20
        (brown): it can do so in one case of 20; Probability: it does so within the plan. Extend by: an extension that
        is ordered in this month is there in time even then. Overdue: on-demand or spot capacity has to bridge until it
        comes.{" "}
        {plan.hasCeilings
          ? "The capacities are those of the stored document of ceilings."
          : "Only accelerators are known. Store the plan with --ceilings to see network, storage, power, cooling, space and people too."}
      </p>
      <div className="scroll-thin relative overflow-x-auto" tabIndex={0} role="group" aria-label="Axes that run out">
        <table className="w-full text-left">
          <caption className="sr-only">Axes and the months in which they run out</caption>
          <thead className="text-xs text-ink-3">
            <tr>
              {columns.map(({ title, className }) =>
                title === "" ? (
                  <td key="months" className={`px-4 py-2 ${className}`}>
                    <MonthsHeader plan={plan} />
                  </td>
                ) : (
                  <th key={title} scope="col" className={`px-4 py-2 font-medium ${className}`}>
                    {title}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody className="divide-y divide-line border-t border-line">
            {plan.axes.map((axis) => (
              <AxisRow key={axis.axis} axis={axis} nowMs={nowMs} />
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}

function MonthsHeader({ plan: { months } }: { readonly plan: SolvedPlan }): ReactElement {
  return (
    <span aria-hidden="true" className="flex justify-between">
      <span>{monthText(months[0] ?? "")}</span>
      <span>{monthText(months.at(-1) ?? "")}</span>
    </span>
  );
}

function AxisRow({ axis, nowMs }: { readonly axis: Axis; readonly nowMs: number }): ReactElement {
  const { unit, capacity, bindsP50, bindsP95, probability, orderBy } = axis;
  const isLate = orderBy !== null && isPast(orderBy, nowMs);
  return (
    <tr>
      <th scope="row" className="px-4 py-2 font-medium">
        {axis.axis}
        <p className="text-xs font-normal text-ink-3">
          {amountText(capacity[0] ?? 0)} {unit}
        </p>
      </th>
      <td className="hidden px-4 py-2 md:table-cell">
        <Bar axis={axis} />
      </td>
      <td className="px-4 py-2 whitespace-nowrap">{bindsP50 === null ? "–" : monthText(bindsP50)}</td>
      <td className="px-4 py-2 whitespace-nowrap">{bindsP95 === null ? "–" : monthText(bindsP95)}</td>
      <td className="hidden px-4 py-2 text-right sm:table-cell">{shareText(probability)}</td>
      <td className={`px-4 py-2 whitespace-nowrap ${isLate ? "font-medium text-bad" : ""}`}>
        {orderBy === null ? "–" : monthText(orderBy)}
        {isLate ? <p className="text-xs font-normal">overdue</p> : null}
      </td>
    </tr>
  );
}

type Part = "enough" | "risk" | "out";
const partClasses: Readonly<Record<Part, { readonly className: string; readonly y: number }>> = {
  enough: { className: "fill-good", y: 4 },
  risk: { className: "fill-wait", y: 2 },
  out: { className: "fill-bad", y: 0 },
};

/** Enough, at risk, used up: the thicker, the worse. The months stand in the row as text. */
function Bar({ axis: { p50, p95, capacity } }: { readonly axis: Axis }): ReactElement {
  const spans: { readonly part: Part; readonly from: number; to: number }[] = [];
  for (const [month, most] of capacity.entries()) {
    const part = (p50[month] ?? 0) > most ? "out" : (p95[month] ?? 0) > most ? "risk" : "enough";
    const last = spans.at(-1);
    if (last?.part === part) last.to = month + 1;
    else spans.push({ part, from: month, to: month + 1 });
  }
  return (
    <svg
      viewBox={`0 0 ${capacity.length} 10`}
      preserveAspectRatio="none"
      aria-hidden="true"
      className="h-3 w-full rounded-sm"
    >
      {spans.map(({ part, from, to }) => {
        const { className, y } = partClasses[part];
        return <rect key={from} x={from} width={to - from} y={y} height={10 - 2 * y} className={className} />;
      })}
    </svg>
  );
}
