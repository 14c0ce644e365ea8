/** Orders with their last days, and the cost of being late. */
import type { SolvedPlan } from "@headroom/protocol";
import { grouped } from "@headroom/views";
import type { ReactElement } from "react";
import { useNow } from "../../connect/use-now.ts";
import { NumberTable } from "../../parts/number-table.tsx";
import { Panel } from "../../parts/page.tsx";
import { dateText, dueText, lateText, monthText, orderText, usdText } from "./plan-text.ts";

const kinds: Readonly<Record<SolvedPlan["orders"][number]["kind"], string>> = {
  own: "purchase",
  lease: "lease",
  reserve: "reservation",
  rent: "rent",
  expansion: "build-out",
};

export function OrdersPanel({ plan: { orders, retirements } }: { readonly plan: SolvedPlan }): ReactElement {
  return (
    <Panel title="Orders">
      {orders.length === 0 ? (
        <p className="px-4 py-3 text-ink-2">The plan needs no order.</p>
      ) : (
        <OrdersTable orders={orders} />
      )}
      {retirements.length === 0 ? null : (
        <div className="border-t border-line">
          <NumberTable
            label="Retirements"
            columns={["Out of service", "Accelerators", "Resale"]}
            rows={retirements.map(({ month, accelerators, cohort, isEndOfLife, resaleUsd }) => [
              monthText(month),
              `${grouped(accelerators)} × ${cohort}`,
              isEndOfLife ? "end of life" : usdText(resaleUsd),
            ])}
          />
        </div>
      )}
      <p className="border-t border-line px-4 py-2.5 text-xs text-ink-2">
        An order on its day is in service by the first day of its month in 95% of cases. Lead time: days in half of the
        cases and in 95%, and the line of the order that is most often the last. A month late: on-demand and spot
        capacity for that month, less the running cost that is saved; accelerators that are short are demand at the
        accepted risk that nothing can serve.
      </p>
    </Panel>
  );
}

/** On a phone the first three columns are enough to act. */
const columns = [
  { title: "Order by", className: "whitespace-nowrap" },
  { title: "Order", className: "" },
  { title: "A month late costs", className: "" },
  { title: "In service", className: "hidden md:table-cell" },
  { title: "Lead time", className: "hidden md:table-cell" },
  { title: "Upfront, a month", className: "hidden text-right md:table-cell" },
];

function OrdersTable({ orders }: Pick<SolvedPlan, "orders">): ReactElement {
  const nowMs = useNow();
  return (
    <div className="scroll-thin relative overflow-x-auto" tabIndex={0} role="group" aria-label="Orders">
      <table className="w-full text-left" aria-label="Orders">
        <thead className="text-xs text-ink-3">
          <tr>
            {columns.map(({ title, className }) => (
              <th key={title} scope="col" className={`px-4 py-2 font-medium ${className}`}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line border-t border-line">
          {orders.map((order) => (
            <tr key={`${order.orderBy} ${order.name} ${order.inService}`} className="align-top">
              {orderCells(order, nowMs).map(([text, detail], index) => (
                <td key={columns[index]?.title} className={`px-4 py-2 ${columns[index]?.className ?? ""}`}>
                  {text}
                  <p className="text-xs text-ink-3">{detail}</p>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type Order = SolvedPlan["orders"][number];

function orderCells(order: Order, nowMs: number): readonly (readonly [text: string, detail: string])[] {
  const { orderBy, kind, pool, inService, until, lead, upfrontUsd, monthlyUsd } = order;
  return [
    [dateText(orderBy), dueText(orderBy, nowMs)],
    [orderText(order), pool === null ? kinds[kind] : `${kinds[kind]}, pool ${pool}`],
    [lateText(order), ""],
    [monthText(inService), until === null ? "" : `until ${monthText(until)}`],
    [leadText(order), lead === null || lead.line === "delivery" ? "" : lead.line],
    [usdText(upfrontUsd), usdText(monthlyUsd)],
  ];
}

function leadText({ lead }: Order): string {
  if (lead === null) return "–";
  return lead.p50Days === lead.p95Days ? `${lead.p95Days} days` : `${lead.p50Days} to ${lead.p95Days} days`;
}
