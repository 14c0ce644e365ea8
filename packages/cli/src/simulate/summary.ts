/** One row with the figures of a simulated run, for the terminal and the report page. */
import { shortDuration } from "../output/amounts.ts";
import type { SimulationReport } from "./run-simulate.ts";

export const summaryTitles: readonly string[] = [
  "Policy",
  "Jobs",
  "Rejected",
  "Failed",
  "Unfinished",
  "Mean wait",
  "Max wait",
  "Mean completion",
  "Utilisation",
];

/** Short times are shown to the tenth of a second, others in two units. */
export function durationText(seconds: number): string {
  return seconds < 10 ? `${Math.round(seconds * 10) / 10} s` : shortDuration(seconds * 1000);
}

export function summaryRow(report: SimulationReport): string[] {
  return [
    report.policy,
    String(report.jobs),
    String(report.rejected_larger_than_pool),
    String(report.failed_jobs),
    String(report.unfinished_jobs),
    durationText(report.mean_wait_s),
    durationText(report.max_wait_s),
    durationText(report.mean_completion_s),
    `${(report.utilisation * 100).toFixed(1)}%`,
  ];
}
