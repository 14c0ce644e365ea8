import { intervalWidth, measuredServing, servingEvidenceFor, servingKindOf } from "../../packages/perf/src/index.ts";
import type { InferenceConstants, ServingEvidence } from "../../packages/perf/src/index.ts";
import type { Abstention, Case } from "./inference-rows.ts";

/**
 * Measured quantity. Times per token and throughputs are scored together; times to the first token are scored
 * separately.
 */
export type Quantity = "tpot" | "throughput" | "ttft";

const stepQuantities: readonly Quantity[] = ["tpot", "throughput"];
export const allQuantities: readonly Quantity[] = ["tpot", "throughput", "ttft"];

/** One measured number and its prediction. */
export interface Observation {
  readonly id: string;
  readonly group: string;
  readonly accelerator: string;
  readonly isMixture: boolean;
  readonly quantity: Quantity;
  readonly measured: number;
  readonly predicted: number;
  /**
   * Natural logarithm of the ratio of predicted to measured time. If it is positive, the predicted time is too long.
   */
  readonly logTimeRatio: number;
  /**
   * Width of the prediction interval if the spread constant is 1. It follows from the uncertainty of the model and the
   * distance from measured configurations.
   */
  readonly doubt: number;
  readonly isInside: boolean;
  readonly intervalRatio: number;
}

export interface Score {
  readonly count: number;
  readonly mape: number;
  readonly median: number;
  readonly p90: number;
  /** Median of the ratio of predicted to measured time, minus one. */
  readonly bias: number;
  readonly coverage: number;
  readonly intervalRatio: number;
}

export interface GroupScore extends Score {
  readonly group: string;
}

/** Sources with fewer scored rows than this number form one group together. */
const pooledBelow = 20;

export function groupNames(cases: readonly Case[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { source } of cases) counts.set(source, (counts.get(source) ?? 0) + 1);
  return new Map([...counts].map(([source, count]) => [source, count < pooledBelow ? "pooled small sources" : source]));
}

/**
 * The quantities to evaluate, and the evidence to use. By default, only steps are evaluated, with the evidence of the
 * shipped model.
 */
export interface Observed {
  readonly wanted?: readonly Quantity[];
  readonly evidence?: readonly ServingEvidence[];
}

export function observe(
  cases: readonly Case[],
  groups: ReadonlyMap<string, string>,
  constants: InferenceConstants,
  { wanted = stepQuantities, evidence = measuredServing }: Observed = {},
): readonly Observation[] {
  return cases.flatMap((one) => {
    const said = one.predict(constants);
    const reading = servingEvidenceFor(servingKindOf(one.replica), evidence);
    const doubt = intervalWidth(one.replica, "step", reading, { ...constants, stepSpread: 1 });
    const quantities = [
      { quantity: "tpot", measured: one.measured.tpotMs, predicted: said.tpotMs, sign: 1 },
      { quantity: "throughput", measured: one.measured.tokensPerS, predicted: said.tokensPerS, sign: -1 },
      { quantity: "ttft", measured: one.measured.ttftMs, predicted: said.ttftMs, sign: 1 },
    ] as const;
    return quantities.flatMap(({ quantity, measured, predicted, sign }) => {
      if (measured === undefined || predicted === undefined || !wanted.includes(quantity)) return [];
      const logTimeRatio = sign * Math.log(predicted / measured);
      const { id, accelerator, isMixture } = one;
      const group = groups.get(one.source) ?? one.source;
      const width = doubt * (quantity === "ttft" ? constants.firstTokenSpread : constants.stepSpread);
      const isInside = Math.abs(logTimeRatio) <= width;
      const intervalRatio = Math.exp(2 * width);
      const about = { id, group, accelerator, isMixture, quantity, doubt };
      return [{ ...about, measured, predicted, logTimeRatio, isInside, intervalRatio }];
    });
  });
}

/** The smallest of the numbers that is not exceeded by at least this share of them. NaN for an empty list. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

const mean = (numbers: readonly number[]): number => numbers.reduce((sum, value) => sum + value, 0) / numbers.length;

function scoreOf(observations: readonly Observation[]): Score {
  const errors = observations.map(({ measured, predicted }) => Math.abs(predicted / measured - 1));
  return {
    count: observations.length,
    mape: mean(errors),
    median: quantile(errors, 0.5),
    p90: quantile(errors, 0.9),
    bias:
      Math.exp(
        quantile(
          observations.map((one) => one.logTimeRatio),
          0.5,
        ),
      ) - 1,
    coverage: mean(observations.map((one) => Number(one.isInside))),
    intervalRatio: quantile(
      observations.map((one) => one.intervalRatio),
      0.5,
    ),
  };
}

export interface Report {
  readonly groups: readonly GroupScore[];
  /** Mean of the groups' mean errors. Every group has the same weight. */
  readonly macroMape: number;
  readonly all: Score;
}

export function reportOf(observations: readonly Observation[], key: (one: Observation) => string): Report {
  const byGroup = Map.groupBy(observations, key);
  const groups = [...byGroup]
    .map(([group, members]) => ({ group, ...scoreOf(members) }))
    .toSorted((a, b) => b.count - a.count || (a.group < b.group ? -1 : 1));
  return { groups, macroMape: mean(groups.map((group) => group.mape)), all: scoreOf(observations) };
}

const percent = (value: number): string => `${(100 * value).toFixed(1)}%`.padStart(7);

/** A report as a table in text form. */
export function tableOf(title: string, report: Report): string {
  const line = (name: string, score: Score): string =>
    [
      name.padEnd(48).slice(0, 48),
      String(score.count).padStart(6),
      ...[score.mape, score.median, score.p90, score.bias, score.coverage].map(percent),
      score.intervalRatio.toFixed(2).padStart(7),
    ].join(" ");
  const head = `${title.padEnd(48).slice(0, 48)}  count    MAPE  median     p90    bias  inside   width`;
  const lines = report.groups.map((group) => line(group.group, group));
  return [head, ...lines, line("all rows", report.all), `macro-MAPE over groups ${percent(report.macroMape)}`].join(
    "\n",
  );
}

/** Table of the reasons why rows have no prediction, with the number of rows. */
export function abstentionTable(abstentions: readonly Abstention[], asked: number): string {
  const share = percent(asked === 0 ? 0 : abstentions.length / asked).trim();
  return [`abstained from ${abstentions.length} of ${asked} rows (${share})`, ...reasonLines(abstentions)].join("\n");
}

/** Table of the reasons why rows are not scored, with the number of rows. */
export function unscoredTable(unscored: readonly { readonly reason: string }[]): string {
  const heads = unscored.map(({ reason }) => ({ reason: reason.replace(/; .*/, "") }));
  return [`not scored: ${unscored.length} rows`, ...reasonLines(heads)].join("\n");
}

function reasonLines(rows: readonly { readonly reason: string }[]): readonly string[] {
  const byReason = Map.groupBy(rows, ({ reason }) => reason);
  return [...byReason].map(([reason, members]) => `  ${String(members.length).padStart(4)}  ${reason}`);
}
