import { accelerators, modelNames } from "@headroom/perf";
import type { ServingReport, ServingSizing, SizingQuestion } from "@headroom/perf";
import { plural } from "@headroom/views";
import { useMemo, useState } from "react";
import type { ReactElement } from "react";
import { Facts } from "../../parts/facts.tsx";
import { Panel } from "../../parts/page.tsx";
import { Loading } from "../../parts/states.tsx";
import { NumberTable } from "../../parts/number-table.tsx";
import { AnswerFrame, Notice } from "./answer-frame.tsx";
import { Breakdown } from "./breakdown.tsx";
import { Choice, namesAsOptions } from "./choice.tsx";
import { amountText, doublings, gibText, percentText, rounds, secondsText } from "./scales.ts";
import { Sliders, type SliderRow } from "./slider.tsx";
import { useSizing } from "./use-sizing.ts";

type ServingForm = ServingSizing & {
  readonly model: string;
  readonly weights: "bf16" | "fp8" | "mxfp4" | "nvfp4";
};

const start: ServingForm = {
  model: "llama-3-70b",
  accelerator: "H100-SXM-80GB",
  weights: "fp8",
  promptTokens: 2048,
  outputTokens: 256,
  prefixHitShare: 0,
  requestsPerS: 20,
  ttftMs: 1000,
  tpotMs: 50,
  share: 0.95,
  pricePerAcceleratorHour: 2,
  weightsGbPerS: 5,
};

export function ServingPanel(): ReactElement {
  const [constraint, setConstraint] = useState(start);
  const question = useMemo((): SizingQuestion => ({ kind: "serving", serving: constraint }), [constraint]);
  const { answer, isBusy } = useSizing(question);
  const set = (part: Partial<ServingForm>): void => setConstraint((before) => ({ ...before, ...part }));
  return (
    <AnswerFrame isBusy={isBusy} controls={<ServingControls constraint={constraint} set={set} />}>
      {answer === undefined ? <Loading label="Comparing layouts" /> : null}
      {answer?.kind === "serving" ? <ServingAnswer report={answer} /> : null}
      {answer?.kind === "impossible" ? (
        <Notice title={`${answer.reason}.`} text={`Nearest: ${answer.nearest}.`} />
      ) : null}
      {answer?.kind === "unknown" ? (
        <Notice title="The model cannot answer this." text={`${answer.reasons.join("; ")}.`} />
      ) : null}
    </AnswerFrame>
  );
}

const modelOptions = namesAsOptions(modelNames);
const acceleratorOptions = namesAsOptions(accelerators.map(({ name }) => name));
const formatOptions = namesAsOptions(["bf16", "fp8", "mxfp4", "nvfp4"] as const);
const lengths = doublings(64, 131_072);

type ServingAmount =
  | "requestsPerS"
  | "promptTokens"
  | "outputTokens"
  | "prefixHitShare"
  | "ttftMs"
  | "tpotMs"
  | "pricePerAcceleratorHour";

const sliders: readonly SliderRow<ServingAmount>[] = [
  { key: "requestsPerS", label: "Requests per second", steps: rounds(0.1, 5000), text: amountText },
  { key: "promptTokens", label: "Prompt tokens", steps: lengths, text: String },
  { key: "outputTokens", label: "Answer tokens", steps: lengths, text: String },
  {
    key: "prefixHitShare",
    label: "Prompt found in the cache",
    steps: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    text: percentText,
  },
  {
    key: "ttftMs",
    label: "First token within",
    steps: rounds(100, 20_000),
    text: (ms) => secondsText(ms / 1000),
  },
  { key: "tpotMs", label: "Each further one within", steps: rounds(5, 200), text: (ms) => `${ms} ms` },
  { key: "pricePerAcceleratorHour", label: "USD per accelerator-hour", steps: rounds(0.5, 20), text: amountText },
];

interface ServingControlsProps {
  readonly constraint: ServingForm;
  readonly set: (part: Partial<ServingForm>) => void;
}

function ServingControls({ constraint, set }: ServingControlsProps): ReactElement {
  return (
    <>
      <Choice label="Model" options={modelOptions} value={constraint.model} onValue={(model) => set({ model })} />
      <Choice
        label="Accelerator"
        options={acceleratorOptions}
        value={constraint.accelerator}
        onValue={(accelerator) => set({ accelerator })}
      />
      <Choice
        label="Weights in"
        options={formatOptions}
        value={constraint.weights}
        onValue={(weights) => set({ weights })}
      />
      <Sliders rows={sliders} values={constraint} onValue={(key, value) => set({ [key]: value })} />
    </>
  );
}

function layoutText({ tensor, pipeline, attentionData, expert }: ServingReport["plans"][number]["layout"]): string {
  const widths = [
    ["tensor", tensor],
    ["pipeline", pipeline],
    ["attention data", attentionData],
    ["expert", expert],
  ] as const;
  return (
    widths
      .filter(([, width]) => width > 1)
      .map(([name, width]) => `${name} ${width}`)
      .join(", ") || "one accelerator"
  );
}

function Disaggregated({ disaggregated }: { readonly disaggregated: ServingReport["disaggregated"] }): ReactElement {
  if (disaggregated.kind === "impossible")
    return <p className="px-4 py-3 text-ink-2">It misses the objective: {disaggregated.reason}.</p>;
  const { prefill, prefillCount, decode, decodeCount, latency, acceleratorCount, costPerHour } = disaggregated;
  return (
    <Facts
      facts={[
        { name: "For prompts", value: `${prefillCount} workers, each ${layoutText(prefill)}` },
        { name: "For answers", value: `${decodeCount} workers, each ${layoutText(decode)}` },
        { name: "In all", value: `${acceleratorCount} accelerators, ${amountText(costPerHour)} USD/h` },
        { name: "First token", value: secondsText(latency.ttftMs / 1000) },
        { name: "Per token", value: `${amountText(latency.tpotMs)} ms` },
        { name: "Cache sent in", value: `${amountText(disaggregated.transferMs)} ms` },
      ]}
    />
  );
}

function ServingAnswer({ report }: { readonly report: ServingReport }): ReactElement {
  const { best, plans } = report;
  const { memory, step, tpotIntervalMs, ttftIntervalMs, coldStart } = best;
  const ms = (value: number): string => `${amountText(value)} ms`;
  return (
    <>
      {report.evidence.isNear ? null : (
        <Notice
          title="No endpoint like this one was measured."
          text={`The nearest is ${report.evidence.nearest ?? "unknown"}: measure one before relying on it.`}
        />
      )}
      <Panel title="Plans that meet the objective, cheapest first">
        <NumberTable
          label="Layouts"
          columns={["Layout", "Replicas", "Accelerators", "First token", "Per token", "USD/h", "USD per M tokens"]}
          rows={plans.map((plan) => [
            layoutText(plan.layout),
            String(plan.replicaCount),
            String(plan.acceleratorCount),
            secondsText(plan.ttftMs / 1000),
            ms(plan.tpotMs),
            amountText(plan.costPerHour),
            amountText(plan.costPerMillionOutputTokens),
          ])}
        />
      </Panel>
      <Panel title="Disaggregated: prefill and decode on separate workers">
        <Disaggregated disaggregated={report.disaggregated} />
      </Panel>
      <Panel title="Breakdown of a decoding step, cheapest plan">
        <Breakdown
          parts={[
            { name: "Weights", amount: step.linearMs },
            { name: "Experts", amount: step.expertMs },
            { name: "Attention", amount: step.attentionMs },
            { name: "Exchange", amount: step.exchangeMs },
            { name: "Kernel floors", amount: step.floorMs },
            { name: "Host", amount: step.hostMs },
          ]}
          text={ms}
        />
      </Panel>
      <Panel title="Memory breakdown">
        <Breakdown
          parts={[
            { name: "Weights", amount: memory.weightBytes },
            { name: "Cache", amount: memory.kvCacheBytes },
            { name: "Step", amount: memory.activationBytes },
            { name: "Runtime", amount: memory.runtimeBytes },
          ]}
          total={memory.totalBytes}
          text={gibText}
        />
        <Facts
          facts={[
            { name: "At once", value: `${amountText(best.batch)} sequences; ${amountText(best.batchLimit)} fit` },
            { name: "First token, 80%", value: `${ms(ttftIntervalMs.low)} to ${ms(ttftIntervalMs.high)}` },
            { name: "80% interval", value: `${ms(tpotIntervalMs.low)} to ${ms(tpotIntervalMs.high)} per token` },
            {
              name: "Cold start",
              value: `${secondsText(coldStart.totalS)} (weights ${secondsText(coldStart.weightsS)}, engine ${secondsText(coldStart.engineS)}), if the store keeps up with ${plural(coldStart.startingReplicas, "replica")} at once`,
            },
          ]}
        />
      </Panel>
    </>
  );
}
