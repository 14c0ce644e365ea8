/** The stored capacity plan: what runs out when, what to order by when, what a late order costs. */
import type { SolvedPlan, StoredPlan } from "@headroom/protocol";
import { plural } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { planQuery } from "../../data/queries.ts";
import { dayText } from "../../format/moment.ts";
import { Page } from "../../parts/page.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { AxesPanel } from "./axes-panel.tsx";
import { DemandPanel } from "./demand-panel.tsx";
import { OrdersPanel } from "./orders-panel.tsx";
import { monthText } from "./plan-text.ts";
import { ShortAnswers } from "./short-answers.tsx";
import { VariantsPanel } from "./variants-panel.tsx";

export function PlanPage(): ReactElement {
  const { data, error, refetch } = useQuery(planQuery(useClient()));
  return (
    <Page title="Plan" layout="flow" summary={summaryText(data)}>
      {data === undefined ? (
        error === null ? (
          <Loading label="Loading the plan" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          {data.solved === null ? <NothingStored /> : <Solved plan={data.solved} />}
        </>
      )}
    </Page>
  );
}

function summaryText(stored: StoredPlan | undefined): string {
  if (stored?.solved == null) return "Shortages ahead, orders with their last days, and the cost of waiting";
  const { name, months, riskPct } = stored.solved;
  const by = `stored by ${stored.actor} on ${dayText(stored.storedAtMs ?? 0)}`;
  return `${name}: ${plural(months.length, "month")} from ${monthText(months[0] ?? "")}, at most ${riskPct}% risk of a shortage in a month; ${by}`;
}

function NothingStored(): ReactElement {
  return (
    <Empty icon="plan" title="No plan is stored">
      <p>
        A plan states demand by month and the ways to buy capacity. Store one, and this page says what runs out when,
        what to order by when, and what a late order costs:
      </p>
      <p className="mt-2 font-mono">headroom plan store plan.yaml --ceilings ceilings.yaml</p>
      <p className="mt-2">The folder examples/plan has both documents to begin with.</p>
    </Empty>
  );
}

function Solved({ plan }: { readonly plan: SolvedPlan }): ReactElement {
  return (
    <div className="flex max-w-7xl flex-col gap-4 px-4 pb-6 md:px-6">
      <ShortAnswers plan={plan} />
      <AxesPanel plan={plan} />
      <OrdersPanel plan={plan} />
      <VariantsPanel plan={plan} />
      <div className="grid gap-4 lg:grid-cols-2">
        {plan.pools.map((pool) => (
          <DemandPanel key={pool.pool} plan={plan} pool={pool} />
        ))}
      </div>
      <p className="text-xs text-ink-2">
        {plan.breaches.length === 0
          ? "An independent check recomputed the plan in exact arithmetic and found no broken constraint."
          : `The independent check found: ${plan.breaches.join("; ")}`}
      </p>
    </div>
  );
}
