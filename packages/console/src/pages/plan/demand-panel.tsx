/** Demand against capacity of one pool over the horizon. */
import type { SolvedPlan } from "@headroom/protocol";
import type { ReactElement } from "react";
import { Panel } from "../../parts/page.tsx";
import { TimeChart } from "../../parts/time-chart.tsx";
import { amountText, monthAtText, monthStartMs, monthText } from "./plan-text.ts";

interface DemandPanelProps {
  readonly plan: SolvedPlan;
  readonly pool: SolvedPlan["pools"][number];
}

export function DemandPanel({ plan: { months, riskPct }, pool }: DemandPanelProps): ReactElement {
  const short = pool.shortP50 ?? pool.shortAtRisk;
  return (
    <Panel
      title={`Demand and capacity of ${pool.pool}`}
      aside={
        <span className="text-xs text-ink-2">
          {short === null ? "enough without any order" : `without any order short in ${monthText(short)}`}
        </span>
      }
    >
      <TimeChart
        label={`Demand and capacity of ${pool.pool}`}
        unit="accelerators"
        atMs={months.map(monthStartMs)}
        series={[
          { name: "planned capacity", values: pool.planned, tone: "run", kind: "area" },
          { name: "without any order", values: pool.existing, tone: "idle", kind: "line", isDashed: true },
          { name: "demand, median", values: pool.demandP50, tone: "wait", kind: "line" },
          { name: `demand at ${riskPct}% risk`, values: pool.demandAtRisk, tone: "bad", kind: "line", isDashed: true },
        ]}
        text={amountText}
        timeText={monthAtText}
        endLabel={monthText(months.at(-1) ?? "")}
      />
      <p className="px-4 pb-3 text-xs text-ink-2">
        Demand above the planned capacity is served by on-demand and spot capacity.
      </p>
    </Panel>
  );
}
