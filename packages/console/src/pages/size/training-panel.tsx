import { accelerators, describePlan, modelNames } from "@headroom/perf";
import type { SizingQuestion, TrainingReport, TrainingSizing } from "@headroom/perf";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { fleetPredictionsQuery } from "../../data/queries.ts";
import { Facts, type Fact } from "../../parts/facts.tsx";
import { Panel } from "../../parts/page.tsx";
import { Loading } from "../../parts/states.tsx";
import { NumberTable } from "../../parts/number-table.tsx";
import { AnswerFrame, Notice } from "./answer-frame.tsx";
import { Breakdown } from "./breakdown.tsx";
import { Choice, namesAsOptions } from "./choice.tsx";
import { Curve } from "./curve.tsx";
import { amountText, doublings, gibText, percentText, rounds, secondsText } from "./scales.ts";
import { Sliders, type SliderRow } from "./slider.tsx";
import { useSizing } from "./use-sizing.ts";

const formats = ["bf16", "fp8", "mxfp8", "nvfp4"] as const;

interface TrainingForm {
  readonly model: string;
  readonly accelerator: string;
  readonly acceleratorCount: number;
  readonly sequenceLength: number;
  readonly globalBatch: number;
  readonly tokens: number;
  readonly format: (typeof formats)[number] | "usual";
  readonly stack: NonNullable<TrainingSizing["stack"]> | "usual";
  readonly method: "full" | "lora";
  readonly price: number;
  readonly oversubscription: number;
  readonly plans: "best" | "all";
}

const start: TrainingForm = {
  model: "llama-3-70b",
  accelerator: "H100-SXM-80GB",
  acceleratorCount: 512,
  sequenceLength: 8192,
  globalBatch: 1024,
  tokens: 1e12,
  format: "usual",
  stack: "usual",
  method: "full",
  price: 2,
  oversubscription: 1,
  plans: "best",
};

function sizingOf(constraint: TrainingForm): TrainingSizing {
  const { method, price, oversubscription, plans, stack, format, ...rest } = constraint;
  return {
    ...rest,
    stack: stack === "usual" ? undefined : stack,
    format: format === "usual" ? undefined : format,
    method: method === "full" ? { kind: "full" } : { kind: "lora", rank: 16 },
    fabric: { leafOversubscription: oversubscription },
    pricePerAcceleratorHour: price,
    restartSeconds: 300,
    scaling: "strong",
    alternatives: plans === "all",
    checkpointOverlapped: true,
    checkpointGbPerS: 100,
    tiers: [],
  };
}

export function TrainingPanel(): ReactElement {
  const [constraint, setConstraint] = useState(start);
  const { data } = useQuery({ ...fleetPredictionsQuery(useClient()), retry: false });
  const correction = data?.correction;
  const question = useMemo(
    (): SizingQuestion => ({ kind: "training", training: { ...sizingOf(constraint), correction } }),
    [constraint, correction],
  );
  const { answer, isBusy } = useSizing(question);
  const set = (part: Partial<TrainingForm>): void => setConstraint((before) => ({ ...before, ...part }));
  return (
    <AnswerFrame isBusy={isBusy} controls={<TrainingControls constraint={constraint} set={set} />}>
      {answer === undefined ? <Loading label="Searching the best plan" /> : null}
      {answer?.kind === "training" ? <TrainingAnswer report={answer} /> : null}
      {answer?.kind === "impossible" ? (
        <Notice title={`${answer.reason}.`} text={`Nearest that works: ${answer.nearest}.`} />
      ) : null}
    </AnswerFrame>
  );
}

const modelOptions = namesAsOptions(modelNames);
const acceleratorOptions = namesAsOptions(accelerators.map(({ name }) => name));
const formatOptions = [{ value: "usual", label: "Default for the model" } as const, ...namesAsOptions(formats)];
const stackOptions = [
  { value: "usual", label: "Usual for the accelerator" },
  { value: "fused", label: "Megatron and its like" },
  { value: "eager", label: "PyTorch, FSDP" },
  { value: "compiled", label: "JAX, XLA" },
] as const;
const methodOptions = [
  { value: "full", label: "Every parameter" },
  { value: "lora", label: "Adapters of rank 16" },
] as const;

const planOptions = [
  { value: "best", label: "The fastest" },
  { value: "all", label: "All worth a choice" },
] as const;

type TrainingAmount = "acceleratorCount" | "sequenceLength" | "globalBatch" | "tokens" | "price" | "oversubscription";

const sliders: readonly SliderRow<TrainingAmount>[] = [
  { key: "acceleratorCount", label: "Accelerators", steps: doublings(1, 131_072), text: String },
  { key: "sequenceLength", label: "Tokens per sequence", steps: doublings(512, 1_048_576), text: String },
  { key: "globalBatch", label: "Sequences per step", steps: doublings(1, 16_384), text: String },
  { key: "tokens", label: "Tokens of the run", steps: rounds(1e9, 50e12), text: amountText },
  { key: "price", label: "USD per accelerator-hour", steps: rounds(0.5, 20), text: amountText },
  {
    key: "oversubscription",
    label: "Oversubscription of the leaves",
    steps: [1, 1.5, 2, 3, 4, 7, 15],
    text: (ratio) => `${ratio}:1`,
  },
];

interface TrainingControlsProps {
  readonly constraint: TrainingForm;
  readonly set: (part: Partial<TrainingForm>) => void;
}

function TrainingControls({ constraint, set }: TrainingControlsProps): ReactElement {
  return (
    <>
      <Choice label="Model" options={modelOptions} value={constraint.model} onValue={(model) => set({ model })} />
      <Choice
        label="Accelerator"
        options={acceleratorOptions}
        value={constraint.accelerator}
        onValue={(accelerator) => set({ accelerator })}
      />
      <Sliders rows={sliders} values={constraint} onValue={(key, value) => set({ [key]: value })} />
      <Choice
        label="Linear layers in"
        options={formatOptions}
        value={constraint.format}
        onValue={(format) => set({ format })}
      />
      <Choice label="Software" options={stackOptions} value={constraint.stack} onValue={(stack) => set({ stack })} />
      <Choice
        label="Trained parameters"
        options={methodOptions}
        value={constraint.method}
        onValue={(method) => set({ method })}
      />
      <Choice label="Plans" options={planOptions} value={constraint.plans} onValue={(plans) => set({ plans })} />
    </>
  );
}

const stepNames: Readonly<Record<keyof TrainingReport["step"]["breakdown"], string>> = {
  matmul: "Matrix products",
  attention: "Attention",
  elements: "Element-wise",
  routing: "Routing to experts",
  launch: "Kernel launches",
  recomputation: "Recomputation",
  tensorExchange: "Tensor exchange",
  contextExchange: "Context exchange",
  expertExchange: "Expert exchange",
  stageTransfer: "Between stages",
  bubble: "Pipeline bubble",
  stateExchange: "Gradients and weights",
  optimizer: "Optimizer",
  jitter: "Waiting for the slowest",
};

const memoryNames: Readonly<Record<keyof TrainingReport["memory"]["breakdown"], string>> = {
  weights: "Weights",
  gradients: "Gradients",
  optimizer: "Optimizer",
  gathered: "Gathered layers",
  activations: "Activations",
  logits: "Logits",
  overhead: "Allocator and runtime",
};

function named<Name extends string>(parts: Readonly<Record<Name, number>>, names: Readonly<Record<Name, string>>) {
  return (Object.keys(parts) as Name[]).map((name) => ({ name: names[name], amount: parts[name] }));
}

function correctionFacts({ factor, typeRunCount }: TrainingReport["correction"]): readonly Fact[] {
  if (typeRunCount === 0) return [];
  return [{ name: "Corrected", value: `times ${factor.toFixed(3)}, by ${typeRunCount} measured runs of this fleet` }];
}

function TrainingAnswer({ report }: { readonly report: TrainingReport }): ReactElement {
  const { memory, step, failures, storage, run } = report;
  return (
    <>
      {report.warnings.map((warning) => (
        <Notice key={warning} title="Watch out" text={`${warning}.`} />
      ))}
      <div className="grid gap-4 xl:grid-cols-2">
        <Panel title="Result">
          <Facts
            facts={[
              { name: "Plan", value: describePlan(report.plan) },
              { name: "Linear layers in", value: report.format.reason ?? report.format.linear },
              { name: "Chosen for you", value: report.chosen.join(", ") || "nothing: you stated the plan" },
              {
                name: "Step",
                value: `${secondsText(step.seconds)} (80%: ${secondsText(step.interval.lowSeconds)} to ${secondsText(step.interval.highSeconds)})`,
              },
              {
                name: "Throughput",
                value: `${amountText(report.tokensPerS)} tokens/s, ${percentText(report.modelFlopsShare)} of the peak`,
              },
              ...correctionFacts(report.correction),
              {
                name: "Memory",
                value:
                  `${gibText(memory.peakBytes)} of ${gibText(memory.availableBytes)}: ${memory.verdict}, ` +
                  `${percentText(memory.outOfMemoryProbability)} risk of running out`,
              },
              ...(run === undefined
                ? []
                : [
                    {
                      name: "Run",
                      value: `${amountText(run.days)} days, ${amountText(run.acceleratorHours)} accelerator-hours`,
                    },
                    { name: "Cost", value: `$${amountText(run.cost)}` },
                  ]),
            ]}
          />
        </Panel>
        <Panel title="Network, failures and storage">
          <Facts
            facts={[
              { name: "Waits for the network", value: `${percentText(report.network.networkShare)} of the time` },
              { name: "Fails every", value: secondsText(failures.mttfSeconds) },
              { name: "Save every", value: secondsText(failures.chosen.intervalSeconds) },
              { name: "Goodput", value: percentText(failures.goodputShare) },
              { name: "Spare nodes", value: String(failures.spares.spareCount) },
              { name: "Writes", value: `${amountText(storage.demand.writeGbPerS)} GB/s` },
              { name: "Reads", value: `${amountText(storage.demand.readGbPerS)} GB/s at a start` },
              { name: "Opens", value: `${amountText(storage.demand.operationsPerS)} a second at a start` },
            ]}
          />
        </Panel>
      </div>
      <Panel title="Step time breakdown">
        <Breakdown parts={named(step.breakdown, stepNames)} text={secondsText} />
      </Panel>
      <Panel title="Memory breakdown">
        <Breakdown parts={named(memory.breakdown, memoryNames)} total={memory.availableBytes} text={gibText} />
      </Panel>
      <Scaling report={report} />
      {report.alternatives.length === 0 ? null : <Alternatives report={report} />}
    </>
  );
}

/** Other plans that need less memory or cost less, but take longer. */
function Alternatives({ report }: { readonly report: TrainingReport }): ReactElement {
  return (
    <Panel title="Pareto-optimal plans by time, memory and cost">
      <NumberTable
        label="Plans"
        columns={["Plan", "Accelerators", "Step", "Memory", "USD per step"]}
        rows={report.alternatives.map(({ plan, acceleratorCount, stepSeconds, peakBytes, cost }) => [
          describePlan(plan),
          String(acceleratorCount),
          secondsText(stepSeconds),
          gibText(peakBytes),
          amountText(cost),
        ])}
      />
    </Panel>
  );
}

/** The same batch on other numbers of accelerators, compared with perfect scaling from the smallest number. */
function Scaling({ report }: { readonly report: TrainingReport }): ReactElement {
  const { points, wall } = report.scaling;
  const [first] = points;
  const here = report.plan.tensor * report.plan.pipeline * report.plan.context * report.plan.data;
  const perAccelerator = first === undefined ? 0 : first.tokensPerS / first.acceleratorCount;
  return (
    <Panel title="The same batch on other sizes">
      <div className="grid items-center gap-2 sm:grid-cols-2">
        <div className="px-4 pt-3">
          <Curve
            isLogarithmicY
            mark={here}
            points={points.map(({ acceleratorCount, tokensPerS }) => ({ x: acceleratorCount, y: tokensPerS }))}
            ideal={points.map(({ acceleratorCount }) => ({
              x: acceleratorCount,
              y: acceleratorCount * perAccelerator,
            }))}
          />
        </div>
        <NumberTable
          label="Scaling"
          columns={["Accelerators", "Step", "Tokens/s", "Efficiency"]}
          rows={points.map((point) => [
            String(point.acceleratorCount),
            secondsText(point.stepSeconds),
            amountText(point.tokensPerS),
            percentText(point.efficiency),
          ])}
        />
      </div>
      <p className="px-4 pb-3 text-ink-2">{wallText(wall)}</p>
    </Panel>
  );
}

function wallText(wall: TrainingReport["scaling"]["wall"]): string {
  if (wall === undefined) return "Every doubling of accelerators pays off.";
  const { acceleratorCount, gainPerDoubling, scarce } = wall;
  return `From ${acceleratorCount} on a doubling gives ${amountText(gainPerDoubling)} times as much: ${scarce}.`;
}
