/**
 * Output of the option `--rows FILE`. It has every row with its prediction, the parts of the predicted time, the chosen
 * plan, and the reason if there is no prediction.
 */
import { writeFileSync } from "node:fs";
import {
  describePlan,
  estimateMemory,
  estimateStep,
  evidenceFor,
  outOfMemoryProbability,
  predictionInterval,
  runKindOf,
  type StepBreakdown,
  type TrainingConstants,
} from "@headroom/perf";
import { reportedStage, type Reading, type TrainingRow } from "./training-rows.ts";

const gib = 2 ** 30;

const parts: readonly (keyof StepBreakdown)[] = [
  "matmul",
  "attention",
  "elements",
  "routing",
  "launch",
  "recomputation",
  "tensorExchange",
  "contextExchange",
  "expertExchange",
  "stageTransfer",
  "bubble",
  "stateExchange",
  "optimizer",
  "jitter",
];

const header = [
  "id",
  "source_group",
  "setting",
  "scored",
  "status",
  "measured_s",
  "predicted_s",
  "error_pct",
  "low_s",
  "high_s",
  "measured_gib",
  "predicted_gib",
  "out_of_memory_probability",
  ...parts.map((part) => `${part}_s`),
  "weights_gib",
  "gradients_gib",
  "optimizer_gib",
  "gathered_gib",
  "activations_gib",
  "logits_gib",
  "overhead_gib",
  "plan",
  "chosen",
  "reason",
];

const cell = (value: string | number | undefined): string => {
  if (value === undefined) return "";
  const text = typeof value === "number" ? String(Number(value.toPrecision(6))) : value;
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

function rowCells(row: TrainingRow, constants: TrainingConstants): readonly (string | number | undefined)[] {
  const { job, plan, system, stepSeconds, memoryGib } = row;
  const step = estimateStep(job, plan, system, constants);
  const { lowSeconds, highSeconds } = predictionInterval(step, evidenceFor(runKindOf(job, plan, system)));
  const memory = estimateMemory(job, plan);
  const reported = memoryGib === undefined ? memory.fullest : reportedStage(job, memory);
  const { weights, gradients, optimizer, gathered, activations, logits, overhead } = reported.breakdown;
  return [
    row.id,
    row.group,
    row.label,
    row.isScored ? 1 : 0,
    row.status,
    stepSeconds,
    step.seconds,
    stepSeconds === undefined ? undefined : 100 * (step.seconds / stepSeconds - 1),
    lowSeconds,
    highSeconds,
    memoryGib,
    reported.bytes / gib,
    outOfMemoryProbability(memory, system.cluster.node.accelerator),
    ...parts.map((part) => step.breakdown[part]),
    ...[weights, gradients, optimizer, gathered, activations, logits, overhead].map((bytes) => bytes / gib),
    describePlan(plan),
    row.chosen.join(" "),
    row.note,
  ];
}

export function writeRows(file: string, readings: readonly Reading[], constants: TrainingConstants): void {
  const lines = readings.map((reading) => {
    if (reading.kind === "row") return rowCells(reading.row, constants).map(cell).join(",");
    const { id, group, isScored, reason, place } = reading;
    const empty = header.slice(4, -1).map(() => "");
    return [id, group, "", isScored ? 1 : 0, ...empty, `${place}: ${reason}`].map(cell).join(",");
  });
  writeFileSync(file, `${[header.join(","), ...lines].join("\n")}\n`);
}
