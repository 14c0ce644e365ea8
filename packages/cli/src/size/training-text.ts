/** The report of a training run for people: time and memory with their breakdown, and scaling. */
import type { CompletedTraining, TrainingReport } from "@headroom/perf";
import type { FleetPredictions } from "@headroom/protocol";
import type { CommandContext } from "../command.ts";
import { plural, shortDuration } from "../output/amounts.ts";
import { pairLines, tableLines } from "../output/table.ts";
import { percentText, significant } from "./quantities.ts";
import { refusalLine, type RefusalGroup } from "./refusals.ts";

const gib = 2 ** 30;

export async function trainingLines(
  report: TrainingReport,
  context: CommandContext,
  kinds: FleetPredictions["kinds"] = [],
): Promise<string[]> {
  const { describePlan } = await import("@headroom/perf");
  const { memory, failures } = report;
  const pairs = pairLines(
    [
      ["model", modelText(report)],
      [
        "on",
        `${plural(report.nodeCount, "node")} of ${report.accelerator}${report.isCalibrated ? ", calibrated" : ""}, ${report.stack} stack`,
      ],
      ["plan", describePlan(report.plan)],
      ["defaults chosen", chosenText(report)],
      [
        "step",
        `${significant(report.step.seconds)} s (80%: ${significant(report.step.interval.lowSeconds)} to ` +
          `${significant(report.step.interval.highSeconds)})`,
      ],
      ...correctionPairs(report, kinds),
      [
        "throughput",
        `${significant(report.tokensPerS)} tokens/s, ${significant(report.tokensPerSPerAccelerator)} per accelerator, ` +
          `${percentText(report.modelFlopsShare)} of the peak`,
      ],
      [
        "memory",
        `${significant(memory.peakBytes / gib)} of ${significant(memory.availableBytes / gib)} GiB: ${memory.verdict}, ` +
          `${riskText(memory.outOfMemoryProbability)} risk of running out`,
      ],
      [
        "failures",
        `every ${shortDuration(failures.mttfSeconds * 1000)}; save every ` +
          `${shortDuration(failures.chosen.intervalSeconds * 1000)}; goodput ${percentText(failures.goodputShare)}`,
      ],
      ["network", `${percentText(report.network.networkShare)} of the time is spent waiting for it`],
      ...runPairs(report),
    ],
    context.paint,
  );
  return [
    ...pairs,
    "",
    ...breakdownLines(report, context),
    "",
    ...scalingLines(report, context),
    ...alternativeLines(report, describePlan, context),
    ...(report.launch === null ? [] : ["", "Start it with (on every node):", `  ${report.launch}`]),
    ...warningLines(report, context),
  ];
}

/** The correction by the fleet's own runs and its effect on their error; empty if there are no such runs. */
function correctionPairs(
  { correction, accelerator, family }: TrainingReport,
  kinds: FleetPredictions["kinds"],
): [string, string][] {
  const { factor, runCount, typeRunCount } = correction;
  if (typeRunCount === 0) return [];
  const kind = kinds.find((each) => each.acceleratorType === accelerator && each.family === family);
  const effect =
    kind === undefined
      ? ""
      : `; mean error of this kind ${percentText(kind.uncorrectedError)}, corrected ${percentText(kind.correctedError)}`;
  const ground =
    runCount > 0 ? `${plural(runCount, "run")} of this kind` : `${plural(typeRunCount, "run")} of the type`;
  return [["corrected", `times ${factor.toFixed(3)}, by ${ground} in the fleet${effect}`]];
}

/** One line for each accelerator that the model fits on, and the reasons of the other accelerators. */
export async function comparisonLines(
  all: readonly CompletedTraining[],
  refusals: readonly RefusalGroup[],
  { terminal, paint }: CommandContext,
): Promise<string[]> {
  const { describePlan } = await import("@headroom/perf");
  const right = (title: string): { title: string; align: "right" } => ({ title, align: "right" });
  const columns = [
    { title: "ACCELERATOR" },
    ...["GPUS", "BATCH", "STEP", "TOKENS/S", "PER GPU", "MEMORY"].map(right),
    { title: "PLAN" },
  ];
  const rows = all.flatMap(({ question, answer }) =>
    answer.kind === "impossible"
      ? []
      : [
          [
            question.accelerator,
            String(question.acceleratorCount),
            String(question.globalBatch),
            `${significant(answer.step.seconds)} s`,
            significant(answer.tokensPerS),
            significant(answer.tokensPerSPerAccelerator),
            `${significant(answer.memory.peakBytes / gib)} of ${significant(answer.memory.availableBytes / gib)} GiB`,
            describePlan(answer.plan),
          ],
        ],
  );
  const recipe = all.find((each) => each.recipe !== null)?.recipe;
  return [
    ...(rows.length === 0 ? [] : tableLines(columns, rows, terminal.stdout, paint)),
    ...(recipe == null ? [] : ["", `Batch: ${recipe.source}.`]),
    ...(refusals.length === 0 ? [] : ["", ...refusals.map((group) => refusalLine(group, all.length))]),
  ];
}

const choiceNames: Readonly<Record<string, string>> = {
  virtualStages: "chunks",
  microBatch: "micro-batch",
  zeroStage: "ZeRO stage",
};

/** Choices that the question left open, in the words that a plan uses. */
function chosenText({ chosen, precision, format }: TrainingReport): string {
  const { gradientBytes, optimizerBytes } = precision;
  const words = chosen.map((name) =>
    name === "precision"
      ? `${gradientBytes}-byte gradients, ${optimizerBytes}-byte optimizer`
      : (choiceNames[name] ?? name),
  );
  if (format.reason !== undefined) words.push(format.reason);
  return words.length === 0 ? "nothing: the plan was given" : words.join(", ");
}

/** Lower probabilities are shown as "under 0.1%", because the model is not accurate for such rare cases. */
const leastRisk = 0.001;

function riskText(probability: number): string {
  return probability < leastRisk ? "under 0.1%" : percentText(probability);
}

function modelText({ model }: TrainingReport): string {
  const { name, parameterCount, activeParameterCount } = model;
  const active = activeParameterCount < parameterCount ? `, ${significant(activeParameterCount / 1e9)}B active` : "";
  return `${name}, ${significant(parameterCount / 1e9)}B parameters${active}`;
}

function runPairs({ run }: TrainingReport): [string, string][] {
  if (run === undefined) return [];
  const cost = run.cost > 0 ? `, $${significant(run.cost)}` : "";
  return [
    [
      "run",
      `${significant(run.days)} days (${significant(run.undisturbedDays)} undisturbed), ` +
        `${significant(run.acceleratorHours)} GPU-hours${cost}`,
    ],
  ];
}

const stepNames: Readonly<Record<keyof TrainingReport["step"]["breakdown"], string>> = {
  matmul: "matrix products",
  attention: "attention",
  elements: "element-wise",
  routing: "routing to experts",
  launch: "kernel launches",
  recomputation: "recomputation",
  tensorExchange: "tensor exchange",
  contextExchange: "context exchange",
  expertExchange: "expert exchange",
  stageTransfer: "between stages",
  bubble: "pipeline bubble",
  stateExchange: "gradients and weights",
  optimizer: "optimizer",
  jitter: "waiting for the slowest",
};

/** Two columns: the breakdown of step time and of memory. */
function breakdownLines({ step, memory }: TrainingReport, { terminal, paint }: CommandContext): string[] {
  const times = sorted(step.breakdown).map(([name, seconds]) => [
    stepNames[name],
    `${significant(seconds * 1000)} ms`,
    percentText(seconds / step.seconds),
  ]);
  const bytes = sorted(memory.breakdown).map(([name, amount]) => [
    name,
    `${significant(amount / gib)} GiB`,
    percentText(amount / memory.peakBytes),
  ]);
  const rows = Array.from({ length: Math.max(times.length, bytes.length) }, (_, index) => [
    ...(times[index] ?? ["", "", ""]),
    ...(bytes[index] ?? ["", "", ""]),
  ]);
  const right = (title: string): { title: string; align: "right" } => ({ title, align: "right" });
  const columns = [{ title: "STEP" }, right(""), right(""), { title: "MEMORY" }, right(""), right("")];
  return tableLines(columns, rows, terminal.stdout, paint);
}

function sorted<Name extends string>(parts: Readonly<Record<Name, number>>): [Name, number][] {
  const entries = Object.entries(parts) as [Name, number][];
  return entries.filter(([, amount]) => amount > 0).toSorted((a, b) => b[1] - a[1]);
}

/**
 * Efficiencies above this value are explained: the plan in the first row is the best that fits, not the best of all.
 */
const SUPERLINEAR = 1.02;

function scalingLines({ scaling }: TrainingReport, { terminal, paint }: CommandContext): string[] {
  const right = (title: string): { title: string; align: "right" } => ({ title, align: "right" });
  const columns = [right("ACCELERATORS"), right("BATCH"), right("STEP"), right("TOKENS/S"), right("EFFICIENCY")];
  const rows = scaling.points.map(({ acceleratorCount, globalBatch, stepSeconds, tokensPerS, efficiency }) => [
    String(acceleratorCount),
    String(globalBatch),
    `${significant(stepSeconds)} s`,
    significant(tokensPerS),
    percentText(efficiency),
  ]);
  const isSuperlinear = scaling.points.some(({ efficiency }) => efficiency > SUPERLINEAR);
  return [
    ...tableLines(columns, rows, terminal.stdout, paint),
    wallLine(scaling.wall),
    ...(isSuperlinear
      ? ["Efficiency is above 100%: on the fewest accelerators only slower plans fit into memory."]
      : []),
  ];
}

function wallLine(wall: TrainingReport["scaling"]["wall"]): string {
  if (wall === undefined) return "Every doubling of accelerators is worthwhile.";
  const { acceleratorCount, gainPerDoubling, scarce } = wall;
  return `From ${acceleratorCount} on, doubling makes it only ${significant(gainPerDoubling)} times as fast: ${scarce}.`;
}

/** Other plans that need less memory or cost less, but take longer. */
function alternativeLines(
  { alternatives }: TrainingReport,
  describePlan: (plan: TrainingReport["plan"]) => string,
  { terminal, paint }: CommandContext,
): string[] {
  if (alternatives.length === 0) return [];
  const right = (title: string): { title: string; align: "right" } => ({ title, align: "right" });
  const columns = [right("ACCELERATORS"), right("STEP"), right("MEMORY"), right("PER STEP"), { title: "PLAN" }];
  const rows = alternatives.map(({ plan, acceleratorCount, stepSeconds, peakBytes, cost }) => [
    String(acceleratorCount),
    `${significant(stepSeconds)} s`,
    `${significant(peakBytes / gib)} GiB`,
    cost > 0 ? `$${significant(cost)}` : "",
    describePlan(plan),
  ]);
  return ["", ...tableLines(columns, rows, terminal.stdout, paint)];
}

function warningLines({ warnings }: TrainingReport, { paint }: CommandContext): string[] {
  return warnings.map((warning) => `${paint("yellow", "warning:")} ${warning}`);
}
