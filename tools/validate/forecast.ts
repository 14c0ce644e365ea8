/**
 * `npm run validate:forecast -- DIR [--json] [--forecasts FILE]`: forecasts series without being told their season. DIR holds CSV
 * files with the columns time and value, one for each series; the subfolder is the class of the series. From each of three origins the
 * next values are forecast: 72 steps, or 36 where a step is a month, and at most a fifth of the series. Prints, for each class and over
 * all, the geometric mean of MASE relative to seasonal naive, sMAPE and the coverage of 80% intervals; `--json` has parts of the horizon
 * too. `--forecasts` writes the forecasts as CSV. `--generated SEED` takes generated series instead of DIR: `known` classes, in view of
 * which constants were chosen, and `held out` ones. The exit code is 1 if the relative MASE of a class is above 1.
 */
import { writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { generatedSeries } from "../../packages/plan/src/testing/generated-series.ts";
import { scoreSeries, summaryOf, type Scored, type Summary } from "./forecast-score.ts";
import { seriesFiles } from "./forecast-series.ts";
import type { WorkerAnswer, WorkerShare } from "./forecast-worker.ts";
import { argumentsOf, checkWritable, InputError, withInputErrors } from "./input-error.ts";

/** A thread starts in the time of so many series. */
const SERIES_PER_THREAD = 100;
/** Series of each generated class. */
const GENERATED = 20;

interface ScoredSeries {
  readonly scored: readonly Scored[];
  readonly lines: readonly string[];
}

async function scoreFolder(folder: string): Promise<readonly ScoredSeries[]> {
  const files = seriesFiles(folder);
  const threads = Math.min(availableParallelism(), Math.ceil(files.length / SERIES_PER_THREAD));
  const size = Math.ceil(files.length / threads);
  const shares = Array.from({ length: threads }, (_, index) => files.slice(index * size, (index + 1) * size));
  const answers = await Promise.all(shares.map((share) => runShare({ folder, files: share })));
  return answers.flatMap((answer) => {
    if (answer.kind === "refused") throw new InputError(answer.message);
    return answer.series;
  });
}

function runShare(workerData: WorkerShare): Promise<WorkerAnswer> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("forecast-worker.ts", import.meta.url), { workerData });
    worker.once("message", resolve).once("error", reject);
    worker.once("exit", () => reject(new Error("a thread ended without an answer")));
  });
}

function scoreGenerated(seed: number): readonly ScoredSeries[] {
  return (["known", "heldOut"] as const).flatMap((group) =>
    generatedSeries(group, GENERATED, seed).map((series) => {
      const lines: string[] = [];
      const timesMs = Array.from(series.values, (_, index) => Date.UTC(2026, 0, 1) + index * series.stepMs);
      const named = `${group === "known" ? "known" : "held out"}/${series.class}`;
      return { scored: scoreSeries({ ...series, class: named, timesMs }, lines), lines };
    }),
  );
}

async function main(): Promise<void> {
  const { values, positionals } = argumentsOf(
    {
      allowPositionals: true,
      options: { json: { type: "boolean" }, forecasts: { type: "string" }, generated: { type: "string" } },
    },
    "usage: npm run validate:forecast -- DIR|--generated SEED [--json] [--forecasts FILE]",
  );
  const [folder] = positionals;
  const seed = values.generated === undefined ? undefined : Number(values.generated);
  if (seed !== undefined && !Number.isSafeInteger(seed)) throw new InputError("--generated needs a whole number");
  if (folder === undefined && seed === undefined)
    throw new InputError("name a folder: npm run validate:forecast -- DIR");
  if (values.forecasts !== undefined) checkWritable(values.forecasts);
  const series = seed === undefined ? await scoreFolder(folder ?? ".") : scoreGenerated(seed);
  if (values.forecasts !== undefined) {
    const lines = ["series,origin,time,mean,lo80,hi80", ...series.flatMap((each) => each.lines)];
    writeFileSync(values.forecasts, `${lines.join("\n")}\n`);
  }
  const scored = series.flatMap((each) => each.scored);
  const classes = [...new Set(scored.map((each) => each.class))];
  const byClass = classes.map((name) => [name, summaryOf(scored.filter((each) => each.class === name))] as const);
  const all = summaryOf(scored);
  if (values.json === true) console.log(JSON.stringify({ classes: Object.fromEntries(byClass), all }, null, 2));
  else {
    for (const [name, summary] of [...byClass, ["over all", all] as const]) console.log(row(name, summary));
    for (const [name, summary] of Object.entries(all.horizons)) console.log(row(`  ${name}`, summary));
  }
  process.exitCode = byClass.every(([, { relative_mase }]) => relative_mase <= 1) ? 0 : 1;
}

function row(name: string, { relative_mase, smape_pct, coverage80_pct, forecasts }: Summary): string {
  return (
    `${name.padEnd(30)} relative MASE ${relative_mase.toFixed(3)}  sMAPE ${smape_pct.toFixed(2)}%  ` +
    `80% interval holds ${coverage80_pct.toFixed(1)}%  (${forecasts} forecasts)`
  );
}

try {
  await main();
} catch (error) {
  withInputErrors(() => {
    throw error;
  });
}
