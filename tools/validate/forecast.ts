/**
 * `npm run validate:forecast -- DIR [--json] [--forecasts FILE]`: forecasts series without being told their season. DIR holds CSV
 * files with the columns time and value, one for each series; the subfolder is the class of the series. From each of three origins the
 * next values are forecast: 72 steps, or 36 where a step is a month, and at most a fifth of the series. Prints, for each class and over
 * all, the geometric mean of MASE relative to seasonal naive, sMAPE and the coverage of 80% intervals. `--forecasts` writes the
 * forecasts as CSV. The exit code is 1 if the relative MASE of a class is above 1.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { calendarPeriods, detectSeasons, forecast, scoreForecast, type ForecastScore } from "@headroom/plan";
import { argumentsOf, checkWritable, InputError, withInputErrors } from "./input-error.ts";

const ORIGINS = 3;
const DAY_MS = 86_400_000;

interface Series {
  readonly name: string;
  readonly class: string;
  readonly timesMs: readonly number[];
  readonly values: Float64Array;
  readonly stepMs: number;
}

function readSeries(folder: string): readonly Series[] {
  const files = (readdirSync(folder, { recursive: true }) as string[])
    .filter((file) => file.endsWith(".csv"))
    .toSorted();
  if (files.length === 0) throw new InputError(`${folder} has no CSV files`);
  return files.map((file) => seriesOf(path.join(folder, file), file));
}

function seriesOf(file: string, name: string): Series {
  const [header = "", ...rows] = readFileSync(file, "utf8")
    .replace(/^\uFEFF/, "")
    .split(/\r?\n/);
  const names = header.split(",").map((each) => each.trim().toLowerCase());
  const [time, value] = [names.indexOf("time"), names.indexOf("value")];
  if (time < 0 || value < 0) throw new InputError(`${file}: the header must have the columns time and value`);
  const points = rows.flatMap((row, index) => {
    if (row.trim() === "") return [];
    const cells = row.split(",");
    const timeMs = timeOf(cells[time] ?? "");
    const number = Number((cells[value] ?? "").trim() || Number.NaN);
    if (Number.isNaN(timeMs))
      throw new InputError(`${file}, line ${index + 2}: ${JSON.stringify(cells[time])} is not a time`);
    return [{ timeMs, value: number }];
  });
  const last = { value: points.find((point) => Number.isFinite(point.value))?.value ?? 0 };
  // A missing value repeats the one before it.
  const values = Float64Array.from(
    points,
    (point) => (last.value = Number.isFinite(point.value) ? point.value : last.value),
  );
  if (values.length < 12) throw new InputError(`${file}: ${values.length} values are too few; 12 are needed`);
  const timesMs = points.map(({ timeMs }) => timeMs);
  const steps = timesMs.slice(1).map((timeMs, index) => timeMs - (timesMs[index] ?? 0));
  const stepMs = steps.toSorted((a, b) => a - b)[steps.length >> 1] ?? 0;
  if (stepMs <= 0) throw new InputError(`${file}: times must rise`);
  const group = path.dirname(name);
  return { name: name.replace(/\.csv$/, ""), class: group === "." ? "all series" : group, timesMs, values, stepMs };
}

/** ISO 8601, without a zone as UTC; or seconds as a number. */
function timeOf(text: string): number {
  const time = text.trim().replace(" ", "T");
  if (/^-?\d+(?:\.\d+)?$/.test(time) && time.length !== 4) return Number(time) * 1000;
  return Date.parse(/T/.test(time) && !/(?:Z|[+-]\d\d:?\d\d)$/i.test(time) ? `${time}Z` : time);
}

interface Scored {
  readonly class: string;
  readonly score: ForecastScore;
}

function horizonOf({ stepMs, values }: Series): number {
  const usual = stepMs >= 27 * DAY_MS ? 36 : 72;
  return Math.max(1, Math.min(usual, Math.floor(values.length / (ORIGINS + 2))));
}

function scoreSeries(series: Series, lines: string[]): readonly Scored[] {
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
    return {
      class: series.class,
      score: scoreForecast(history, actual, predicted, naivePeriod(history, series.stepMs)),
    };
  });
}

function time({ timesMs }: Series, index: number): string {
  return new Date(timesMs[index] ?? 0).toISOString();
}

/** The season of the naive forecast: the one that was found, else the shortest of the calendar that the history holds twice. */
function naivePeriod(history: Float64Array, stepMs: number): number {
  const calendar = calendarPeriods(stepMs);
  return detectSeasons(history, calendar)[0] ?? calendar.find((period) => 2 * period <= history.length) ?? 1;
}

interface Summary {
  readonly relative_mase: number;
  readonly smape_pct: number;
  readonly coverage80_pct: number;
  readonly forecasts: number;
}

function summaryOf(scored: readonly Scored[]): Summary {
  const mean = (of: (score: ForecastScore) => number): number =>
    scored.reduce((sum, { score }) => sum + of(score), 0) / scored.length;
  // Bounds, so that one constant stretch of a series does not decide the geometric mean alone.
  const logMase = mean(({ relativeMase }) => Math.log(Math.min(100, Math.max(0.01, relativeMase))));
  return {
    relative_mase: Math.exp(logMase),
    smape_pct: mean(({ smapePct }) => smapePct),
    coverage80_pct: mean(({ coverage80Pct }) => coverage80Pct),
    forecasts: scored.length,
  };
}

function main(): void {
  const { values, positionals } = argumentsOf(
    { allowPositionals: true, options: { json: { type: "boolean" }, forecasts: { type: "string" } } },
    "usage: npm run validate:forecast -- DIR [--json] [--forecasts FILE]",
  );
  const [folder] = positionals;
  if (folder === undefined) throw new InputError("name a folder: npm run validate:forecast -- DIR");
  if (values.forecasts !== undefined) checkWritable(values.forecasts);
  const lines = ["series,origin,time,mean,lo80,hi80"];
  const scored = readSeries(folder).flatMap((series) => scoreSeries(series, lines));
  if (values.forecasts !== undefined) writeFileSync(values.forecasts, `${lines.join("\n")}\n`);
  const classes = [...new Set(scored.map((each) => each.class))];
  const byClass = classes.map((name) => [name, summaryOf(scored.filter((each) => each.class === name))] as const);
  const all = summaryOf(scored);
  if (values.json === true) console.log(JSON.stringify({ classes: Object.fromEntries(byClass), all }, null, 2));
  else for (const [name, summary] of [...byClass, ["over all", all] as const]) console.log(row(name, summary));
  process.exitCode = byClass.every(([, { relative_mase }]) => relative_mase <= 1) ? 0 : 1;
}

function row(name: string, { relative_mase, smape_pct, coverage80_pct, forecasts }: Summary): string {
  return (
    `${name.padEnd(24)} relative MASE ${relative_mase.toFixed(3)}  sMAPE ${smape_pct.toFixed(2)}%  ` +
    `80% interval holds ${coverage80_pct.toFixed(1)}%  (${forecasts} forecasts)`
  );
}

withInputErrors(main);
