/** The step time of a workload's newest attempt, predicted and measured. */
import type { WorkloadPredictions } from "@headroom/protocol";
import { slowRunText, stepComparisonText } from "@headroom/views/text";
import { printable } from "../terminal.ts";
import type { Paint } from "./style.ts";

/** Predicted and measured step time; empty for workloads that name no model. */
export function predictionLines({ items }: WorkloadPredictions, paint: Paint): string[] {
  const newest = items[0];
  if (newest === undefined) return [];
  const slow = slowRunText(newest);
  return [
    "",
    `${paint("dim", "step")}  ${stepComparisonText(newest)}`,
    ...(slow === null ? [] : [`${paint("yellow", "slow")}  ${printable(slow)}`]),
  ];
}
