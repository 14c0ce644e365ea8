import { answerSizing, ettrExact } from "@headroom/perf";
import type { FailureReport, FailureSizing } from "@headroom/perf";
import { useMemo, useState } from "react";
import type { ReactElement } from "react";
import { Facts } from "../../parts/facts.tsx";
import { Panel } from "../../parts/page.tsx";
import { NumberTable } from "../../parts/number-table.tsx";
import { AnswerFrame } from "./answer-frame.tsx";
import { Breakdown } from "./breakdown.tsx";
import { Curve } from "./curve.tsx";
import { amountText, doublings, percentText, rounds, secondsText } from "./scales.ts";
import { Sliders, type SliderRow } from "./slider.tsx";

const lengths = rounds(1, 5000);

type FailureAmount =
  | "nodeCount"
  | "perThousandNodeDays"
  | "restartSeconds"
  | "stallSeconds"
  | "repairHours"
  | "burstiness";

const sliders: readonly SliderRow<FailureAmount>[] = [
  { key: "nodeCount", label: "Nodes of the job", steps: doublings(1, 32_768), text: String },
  {
    key: "perThousandNodeDays",
    label: "Failures per 1,000 node-days",
    steps: [0.5, 1, 2, 2.34, 3, 3.79, 5, 6.5, 8, 10, 15, 20],
    text: String,
  },
  { key: "restartSeconds", label: "A restart takes", steps: lengths, text: secondsText },
  { key: "stallSeconds", label: "A checkpoint stops the job for", steps: lengths, text: secondsText },
  {
    key: "repairHours",
    label: "A repair takes",
    steps: [1, 4, 12, 24, 48, 96, 168, 336],
    text: (hours) => secondsText(hours * 3600),
  },
  { key: "burstiness", label: "Burstiness (variance to mean)", steps: [1, 1.5, 2, 3, 5, 8], text: String },
];

const start: FailureSizing = {
  nodeCount: 2048,
  acceleratorsPerNode: 8,
  perThousandNodeDays: 3.79,
  otherPerDay: 0,
  restartSeconds: 300,
  stallSeconds: 10,
  stragglerShare: 0,
  repairHours: 24,
  spareCoverage: 0.99,
  burstiness: 1,
  domains: [
    { name: "node", nodeCount: 1 },
    { name: "rack of 4", nodeCount: 4 },
    { name: "leaf of 32", nodeCount: 32 },
  ],
};

export function FailuresPanel(): ReactElement {
  const [constraint, setConstraint] = useState(start);
  const answer = useMemo(() => answerSizing({ kind: "failures", failures: constraint }), [constraint]);
  const set = (part: Partial<FailureSizing>): void => setConstraint((before) => ({ ...before, ...part }));
  return (
    <AnswerFrame
      controls={<Sliders rows={sliders} values={constraint} onValue={(key, value) => set({ [key]: value })} />}
    >
      {answer.kind === "failures" ? <FailureAnswer report={answer} constraint={constraint} /> : null}
    </AnswerFrame>
  );
}

function FailureAnswer({ report, constraint }: AnswerProps): ReactElement {
  const { chosen, intervals, spares } = report;
  return (
    <>
      <Panel title="Effective training time">
        <Facts
          facts={[
            {
              name: "Fails every",
              value: `${secondsText(report.mttfSeconds)} (${amountText(report.failuresPerDay)} times a day)`,
            },
            {
              name: "Save every",
              value: `${secondsText(chosen.intervalSeconds)} (Young ${secondsText(intervals.young)}, Daly ${secondsText(intervals.daly)})`,
            },
            { name: "Progress", value: `${percentText(chosen.ettr)} of the time` },
            {
              name: "Spare nodes",
              value: `${spares.spareCount} cover ${percentText(spares.coverage)}; ${amountText(spares.meanAwayCount)} away on average`,
            },
          ]}
        />
        <Breakdown
          parts={[
            { name: "Progress", amount: chosen.ettr },
            { name: "Checkpoints", amount: chosen.lost.checkpoints },
            { name: "Restarts", amount: chosen.lost.restarts },
            { name: "Repeated work", amount: chosen.lost.repeatedWork },
          ]}
          total={1}
        />
      </Panel>
      <IntervalAndDomains report={report} constraint={constraint} />
    </>
  );
}

interface AnswerProps {
  readonly report: FailureReport;
  readonly constraint: FailureSizing;
}

function IntervalAndDomains({ report, constraint }: AnswerProps): ReactElement {
  const { intervals, mttfSeconds } = report;
  const { restartSeconds, stallSeconds } = constraint;
  const cost = { mttfSeconds, restartSeconds, stallSeconds };
  const factors = doublings(1 / 16, 16);
  return (
    <div className="grid gap-4 xl:grid-cols-2">
      <Panel title="Progress by checkpoint interval">
        <div className="px-4 py-3">
          <Curve
            mark={intervals.best}
            points={factors.map((factor) => ({
              x: intervals.best * factor,
              y: ettrExact(cost, intervals.best * factor),
            }))}
          />
          <p className="text-xs text-ink-3">
            From {secondsText(intervals.best / 16)} to {secondsText(intervals.best * 16)}; the ring is the best.
          </p>
        </div>
      </Panel>
      <Panel title="Cost of one failure">
        <NumberTable
          label="Loss by failure domain"
          columns={["Domain", "Jobs stopped", "Accelerator-hours"]}
          rows={report.domainLosses.map(({ domain, jobsStopped, acceleratorHours }) => [
            domain,
            amountText(jobsStopped),
            amountText(acceleratorHours),
          ])}
        />
      </Panel>
    </div>
  );
}
