/** Costs of the last days by team, user, workload, pool or cause: a chart by day, a table, and a CSV file. */
import type { Costs } from "@headroom/protocol";
import { plural } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { costsByDayQuery } from "../../data/queries.ts";
import { download } from "../../format/download.ts";
import { dayText } from "../../format/moment.ts";
import { Button } from "../../parts/button.tsx";
import { Segments, Select } from "../../parts/controls.tsx";
import { NumberTable } from "../../parts/number-table.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { TimeChart } from "../../parts/time-chart.tsx";
import type { ChartTone } from "../../parts/time-chart.tsx";
import {
  amountText,
  costCsv,
  dailyCosts,
  dollarText,
  groupSums,
  groupText,
  lostMicroUsd,
  meteredSums,
  shareText,
  usefulHourText,
} from "./cost-text.ts";

const groups = [
  { value: "team", label: "Team" },
  { value: "user", label: "User" },
  { value: "workload", label: "Workload" },
  { value: "workloadKind", label: "Kind of work" },
  { value: "pool", label: "Pool" },
  { value: "acceleratorType", label: "Accelerator type" },
  { value: "cause", label: "Cause" },
  { value: "source", label: "Source of the price" },
] as const;
type Group = (typeof groups)[number]["value"];

const ranges = [
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
] as const;
type Days = (typeof ranges)[number]["value"];

const tones: readonly ChartTone[] = ["run", "accent", "good", "wait", "stop", "bad", "idle"];
const ROWS_SHOWN = 50;

export function CostPage(): ReactElement {
  const [group, setGroup] = useState<Group>("team");
  const [days, setDays] = useState<Days>("30");
  const { data, error, refetch } = useQuery(costsByDayQuery(useClient(), { group, days: Number(days) }));
  const toolbar = (
    <>
      <Select label="Group by" options={groups} value={group} onValue={(value) => setGroup(value as Group)} />
      <Segments label="Range" name="days" value={days} options={ranges} onValue={setDays} />
    </>
  );
  const actions =
    data === undefined ? undefined : (
      <Button onClick={() => download(`costs-by-${group}.csv`, costCsv(data))}>Download CSV</Button>
    );
  return (
    <Page title="Cost" layout="flow" summary={summaryOf(data)} toolbar={toolbar} actions={actions}>
      {data === undefined ? (
        error === null ? (
          <Loading label="Loading the costs" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          <Notices costs={data} />
          {data.items.length === 0 ? <NothingCharged /> : <Charged costs={data} />}
        </>
      )}
    </Page>
  );
}

function summaryOf(costs: Costs | undefined): string {
  if (costs === undefined) return "Costs by day, from usage and prices";
  const { total, fromMs } = costs;
  const parts = [
    `${dollarText(total.microUsd)} since ${dayText(fromMs)}`,
    `${dollarText(total.idleMicroUsd)} of it idle (${shareText(total.idleMicroUsd, total.microUsd)})`,
    `${dollarText(lostMicroUsd(total))} for work that failed or was lost`,
    `${usefulHourText(total)} per useful accelerator-hour`,
  ];
  return parts.join("; ");
}

function Notices({ costs: { unpricedPools, problems } }: { readonly costs: Costs }): ReactElement | null {
  if (unpricedPools.length === 0 && problems.length === 0) return null;
  return (
    <ul className="mx-4 mb-3 rounded-md border border-wait/40 bg-wait-soft px-4 py-2 md:mx-6">
      {unpricedPools.length === 0 ? null : (
        <li>{`No price covers all hours of ${unpricedPools.join(", ")}: these hours are not in the amounts.`}</li>
      )}
      {problems.map((problem) => (
        <li key={problem}>{problem}</li>
      ))}
    </ul>
  );
}

function NothingCharged(): ReactElement {
  return (
    <Empty icon="plan" title="No cost in this range">
      <p>
        Costs need a price: a pool can declare one, or a document in the folder prices/ of the state directory has it.
      </p>
      <p className="mt-2 font-mono">headroom cost components --prices examples/cost/eight-h100.yaml</p>
    </Empty>
  );
}

function Charged({ costs }: { readonly costs: Costs }): ReactElement {
  const { atMs, series } = dailyCosts(costs.items, tones.length);
  const sums = groupSums(costs.items);
  return (
    <div className="flex max-w-7xl flex-col gap-4 px-4 pb-6 md:px-6">
      {atMs.length < 2 ? null : (
        <Panel title="Cost by day">
          <TimeChart
            label="Cost by day"
            unit="US dollars a day"
            atMs={atMs}
            series={series.map(({ name, usd }, index) => ({
              name,
              values: usd,
              tone: tones[index % tones.length] as ChartTone,
              kind: "area",
            }))}
            text={(usd) => dollarText(usd * 1_000_000)}
            timeText={dayText}
            endLabel={dayText(atMs.at(-1) ?? 0)}
          />
        </Panel>
      )}
      <Panel
        title="Cost by group"
        aside={sums.length > ROWS_SHOWN ? `${ROWS_SHOWN} of ${plural(sums.length, "group")}` : undefined}
      >
        <NumberTable
          label="Cost by group"
          columns={["Group", "Cost", "Share", "Used", "Idle", "Failed or lost", "Hours", "Per useful hour"]}
          rows={sums
            .slice(0, ROWS_SHOWN)
            .map((sum) => [
              groupText(sum),
              dollarText(sum.microUsd),
              shareText(sum.microUsd, costs.total.microUsd),
              dollarText(sum.usedMicroUsd),
              dollarText(sum.idleMicroUsd),
              dollarText(lostMicroUsd(sum)),
              sum.acceleratorHours.toFixed(1),
              usefulHourText(sum),
            ])}
        />
      </Panel>
      <Metered costs={costs} />
      <p className="text-xs text-ink-2">
        {energyText(costs.total)}Days are in UTC.{" "}
        <span className="font-mono">headroom cost report --group team,state</span> has more fields, and months against
        months.
      </p>
    </div>
  );
}

/** Storage and tokens by team. Those without a price are use without a further cost. */
function Metered({ costs: { metered } }: { readonly costs: Costs }): ReactElement | null {
  const sums = meteredSums(metered);
  if (sums.length === 0) return null;
  return (
    <Panel
      title="Storage, egress and tokens"
      aside={sums.length > ROWS_SHOWN ? `${ROWS_SHOWN} of ${sums.length}` : undefined}
    >
      <NumberTable
        label="Storage, egress and tokens"
        columns={["Team", "Service", "Place", "Amount", "Cost", "Charged by the gateway"]}
        rows={sums
          .slice(0, ROWS_SHOWN)
          .map((sum) => [
            sum.team || "nobody",
            sum.service,
            sum.place,
            amountText(sum),
            sum.price === "" ? "no price" : dollarText(sum.microUsd),
            sum.service === "tokens" ? dollarText(sum.chargedMicroUsd) : "–",
          ])}
      />
    </Panel>
  );
}

const energyText = ({ kwh, measuredKwh, carbonKg }: Costs["total"]): string => {
  if (kwh === 0) return "";
  const how = measuredKwh === 0 ? "by the power in the price documents" : `${Math.round(measuredKwh)} kWh measured`;
  return `${Math.round(kwh)} kWh (${how}) and ${Math.round(carbonKg)} kg CO2. `;
};
