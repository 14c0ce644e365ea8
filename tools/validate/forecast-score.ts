/** Scores of forecasts from three origins of a series, and their summary by class. */
import { calendarPeriods, forecast, scoreForecast, type ForecastScore } from "@headroom/plan";
import type { Series } from "./forecast-series.ts";

const ORIGINS = 3;
const DAY_MS = 86_400_000;

export interface Scored {
  readonly class: string;
  readonly score: ForecastScore;
  /** Scores of parts of the horizon. */
  readonly parts: readonly { readonly name: string; readonly score: ForecastScore }[];
}

/** Steps of the parts of a horizon: after the first number, up to the second. */
const parts = { steps: [0, 6, 24, 72], months: [0, 3, 12, 36] } as const;

function isMonthly({ stepMs }: Series): boolean {
  return stepMs >= 27 * DAY_MS;
}

function horizonOf(series: Series): number {
  const usual = isMonthly(series) ? 36 : 72;
  return Math.max(1, Math.min(usual, Math.floor(series.values.length / (ORIGINS + 2))));
}

/** Scores of one series; `lines` receives the rows of its forecasts. */
export function scoreSeries(series: Series, lines: string[]): readonly Scored[] {
  const horizon = horizonOf(series);
  return Array.from({ length: ORIGINS }, (_, index) => {
    const origin = series.values.length - (index + 1) * horizon;
    const history = series.values.subarray(0, origin);
    const actual = series.values.subarray(origin, origin + horizon);
    const predicted = forecast(history, horizon, series.stepMs);
    for (let step = 0; step < horizon; step += 1) {
      const cells = [series.name, time(series, origin - 1), time(series, origin + step)];
      lines.push([...cells, predicted.mean[step], predicted.lo80[step], predicted.hi80[step]].join(","));
    }
    const period = naivePeriod(history, series.stepMs, predicted.seasons);
    const scoreOf = (from: number, to: number): ForecastScore =>
      scoreForecast(
        history,
        actual.subarray(from, to),
        {
          mean: predicted.mean.subarray(from, to),
          lo80: predicted.lo80.subarray(from, to),
          hi80: predicted.hi80.subarray(from, to),
        },
        { period, from },
      );
    const unit = isMonthly(series) ? "months" : "steps";
    const bounds = parts[unit];
    return {
      class: series.class,
      score: scoreOf(0, horizon),
      parts: bounds.slice(1).flatMap((to, part) => {
        const from = bounds[part]!;
        const name = `${from + 1}-${to} ${unit}`;
        return from < horizon ? [{ name, score: scoreOf(from, Math.min(to, horizon)) }] : [];
      }),
    };
  });
}

function time({ timesMs }: Series, index: number): string {
  return new Date(timesMs[index] ?? 0).toISOString();
}

/** The season of the naive forecast: the one that was found, else the shortest of the calendar that the history holds twice. */
function naivePeriod(history: Float64Array, stepMs: number, [found]: readonly number[]): number {
  return found ?? calendarPeriods(stepMs).find((period) => 2 * period <= history.length) ?? 1;
}

export interface Summary {
  readonly relative_mase: number;
  readonly smape_pct: number;
  readonly coverage80_pct: number;
  readonly forecasts: number;
}

export interface ClassSummary extends Summary {
  readonly horizons: Readonly<Record<string, Summary>>;
}

export function summaryOf(scored: readonly Scored[]): ClassSummary {
  const found = scored.flatMap((each) => each.parts);
  const names = [...new Set(found.map(({ name }) => name))];
  return {
    ...plainSummary(scored.map(({ score }) => score)),
    horizons: Object.fromEntries(
      names.map((name) => [name, plainSummary(found.filter((part) => part.name === name).map(({ score }) => score))]),
    ),
  };
}

function plainSummary(scores: readonly ForecastScore[]): Summary {
  const mean = (of: (score: ForecastScore) => number): number =>
    scores.reduce((sum, score) => sum + of(score), 0) / scores.length;
  // Bounds, so that one constant stretch of a series does not decide the geometric mean alone.
  const logMase = mean(({ relativeMase }) => Math.log(Math.min(100, Math.max(0.01, relativeMase))));
  return {
    relative_mase: Math.exp(logMase),
    smape_pct: mean(({ smapePct }) => smapePct),
    coverage80_pct: mean(({ coverage80Pct }) => coverage80Pct),
    forecasts: scores.length,
  };
}
