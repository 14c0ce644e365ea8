/**
 * Reports of the errors of predictions compared with measurements, by source group and overall. They are printed as
 * text or as data.
 */
import type { PredictionInterval, StepEstimate } from "@headroom/perf";
import type { TrainingRow, Unreadable } from "./training-rows.ts";

export interface Scored {
  readonly row: TrainingRow;
  readonly estimate: StepEstimate;
  readonly interval: PredictionInterval;
}

export interface GroupScore {
  readonly group: string;
  readonly rows: number;
  readonly mape_pct: number;
  readonly median_pct: number;
  readonly p90_pct: number;
  readonly bias_pct: number;
  readonly interval_coverage_pct: number;
  readonly interval_ratio: number;
}

export interface Section {
  readonly title: string;
  readonly groups: readonly GroupScore[];
  readonly overall: GroupScore;
  /** Mean of the source groups' mean absolute errors. Every source group has the same weight. */
  readonly macro_mape_pct: number;
}

export interface MemoryScore {
  readonly rows: number;
  readonly median_pct: number;
  readonly mape_pct: number;
  readonly bias_pct: number;
  readonly out_of_memory_rows: number;
  readonly out_of_memory_called: number;
  readonly other_rows: number;
  readonly false_alarms: number;
  readonly false_alarm_pct: number;
  /** Number of rows whose recomputation policy the model does not contain. The memory of these rows is not judged. */
  readonly not_judged: number;
}

const mean = (values: readonly number[]): number =>
  values.length === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0) / values.length;

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  if (sorted.length === 0) return Number.NaN;
  const place = share * (sorted.length - 1);
  const low = sorted[Math.floor(place)] ?? Number.NaN;
  const high = sorted[Math.ceil(place)] ?? low;
  return low + (high - low) * (place - Math.floor(place));
}

const percent = (value: number): number => Math.round(value * 10_000) / 100;

function scoreOf(group: string, scored: readonly Scored[]): GroupScore {
  const errors = scored.map(({ row, estimate }) => estimate.seconds / (row.stepSeconds ?? Number.NaN) - 1);
  const sizes = errors.map(Math.abs);
  const intervals = scored.map(({ interval }) => interval);
  const held = scored.filter(({ row }, index) => {
    const interval = intervals[index];
    const measured = row.stepSeconds ?? Number.NaN;
    return interval !== undefined && measured >= interval.lowSeconds && measured <= interval.highSeconds;
  });
  return {
    group,
    rows: scored.length,
    mape_pct: percent(mean(sizes)),
    median_pct: percent(quantile(sizes, 0.5)),
    p90_pct: percent(quantile(sizes, 0.9)),
    bias_pct: percent(mean(errors)),
    interval_coverage_pct: percent(held.length / scored.length),
    interval_ratio:
      percent(
        quantile(
          intervals.map(({ lowSeconds, highSeconds }) => highSeconds / lowSeconds),
          0.5,
        ),
      ) / 100,
  };
}

export function sectionOf(title: string, scored: readonly Scored[]): Section {
  const names = [...new Set(scored.map(({ row }) => row.group))];
  const groups = names.map((name) =>
    scoreOf(
      name,
      scored.filter(({ row }) => row.group === name),
    ),
  );
  return {
    title,
    groups,
    overall: scoreOf("all rows", scored),
    macro_mape_pct: percent(mean(groups.map((group) => group.mape_pct / 100))),
  };
}

export function memoryScoreOf(
  errors: readonly number[],
  outOfMemory: readonly boolean[],
  others: readonly boolean[],
  notJudged = 0,
): MemoryScore {
  const falseAlarms = others.filter(Boolean).length;
  return {
    rows: errors.length,
    median_pct: percent(quantile(errors.map(Math.abs), 0.5)),
    mape_pct: percent(mean(errors.map(Math.abs))),
    bias_pct: percent(mean(errors)),
    out_of_memory_rows: outOfMemory.length,
    out_of_memory_called: outOfMemory.filter(Boolean).length,
    other_rows: others.length,
    false_alarms: falseAlarms,
    false_alarm_pct: percent(others.length === 0 ? 0 : falseAlarms / others.length),
    not_judged: notJudged,
  };
}

export interface ReasonCount {
  readonly reason: string;
  readonly rows: number;
  /** Position of each row as FILE:LINE. */
  readonly places: readonly string[];
}

export function reasonCounts(unreadable: readonly Unreadable[]): readonly ReasonCount[] {
  const byReason = Map.groupBy(unreadable, ({ reason, group }) => `${group}: ${reason}`);
  return [...byReason].map(([reason, members]) => ({
    reason,
    rows: members.length,
    places: members.map(({ place }) => place),
  }));
}

const placesShown = 3;

/**
 * Text with the number of rows without a prediction, how many of them should be scored, the reasons, and the positions
 * of the first such rows.
 */
export function abstentionText(unreadable: readonly Unreadable[], asked: number): string {
  const share = asked === 0 ? 0 : (100 * unreadable.length) / asked;
  const scored = unreadable.filter((row) => row.isScored).length;
  const head = `abstained from ${unreadable.length} of ${asked} rows (${share.toFixed(1)}%), ${scored} of them to be scored`;
  const lines = reasonCounts(unreadable).map(({ reason, rows, places }) => {
    const shown = [...places.slice(0, placesShown), ...(rows > placesShown ? ["…"] : [])].join(", ");
    return `  ${String(rows).padStart(4)}  ${reason} (${shown})`;
  });
  return `${[head, ...lines].join("\n")}\n`;
}

const columns = [
  "rows",
  "mape_pct",
  "median_pct",
  "p90_pct",
  "bias_pct",
  "interval_coverage_pct",
  "interval_ratio",
] as const;
const headings = ["rows", "MAPE %", "median %", "p90 %", "bias %", "in 80% interval", "hi/lo"];

export function sectionText(section: Section): string {
  const line = (name: string, cells: readonly string[]): string =>
    `${name.padEnd(28)}${cells.map((cell, index) => cell.padStart((headings[index]?.length ?? 0) + 3)).join("")}`;
  const row = (score: GroupScore): string =>
    line(
      score.group,
      columns.map((column) => cellText(score[column], column)),
    );
  return [
    section.title,
    line("", headings),
    ...section.groups.map(row),
    row(section.overall),
    line("macro over groups", ["", section.macro_mape_pct.toFixed(2)]),
    "",
  ].join("\n");
}

function cellText(value: number, column: (typeof columns)[number]): string {
  if (column === "rows") return String(value);
  return value.toFixed(column === "interval_ratio" ? 2 : 1);
}

export function memoryText(score: MemoryScore): string {
  if (score.rows + score.out_of_memory_rows + score.other_rows === 0) return "";
  const measured =
    score.rows === 0
      ? "no measured peaks"
      : `${score.rows} measured peaks: median ${score.median_pct.toFixed(1)}%, MAPE ${score.mape_pct.toFixed(1)}%, bias ${score.bias_pct.toFixed(1)}%`;
  const alarms = `${score.false_alarms} false alarms in ${score.other_rows} rows that ran (${score.false_alarm_pct.toFixed(1)}%)`;
  const called = `out of memory called ${score.out_of_memory_called} of ${score.out_of_memory_rows}`;
  const silent = score.not_judged === 0 ? "" : `; ${score.not_judged} rows with policies of their own not judged`;
  return `Memory: ${measured}; ${called}; ${alarms}${silent}\n`;
}
