/**
 * `npm run validate:serving -- DIR [--json] [--share 0.5] [--rows FILE]`: simulates measured runs of engines
 * (ACCELERATOR_MODEL.jsonl) from the arrivals of their requests. Nine constants are fitted to the first half of each
 * run's requests (`serving-fit.ts`), and the other requests are scored. `--share` changes the share of the requests
 * that the fit uses. `--rows` writes measured and simulated times of every request as CSV. The exit code is 1 if the
 * error on the scored requests exceeds 10% of the mean time to the first token, or 5% of the mean time per token.
 */
import { writeFileSync } from "node:fs";

import { argumentsOf, checkWritable, InputError, withInputErrors } from "./input-error.ts";
import { fitRun, simulate, uncorrected } from "./serving-fit.ts";
import type { FittedRun, SimulatedTimes } from "./serving-fit.ts";
import { readRuns } from "./serving-runs.ts";
import type { MeasuredRun } from "./serving-runs.ts";

const ttftBound = 0.1;
const tpotBound = 0.05;

/** Measured and simulated means over several requests, in ms. */
interface Means {
  readonly requests: number;
  readonly ttftMs: number;
  readonly simulatedTtftMs: number;
  readonly tpotMs: number;
  readonly simulatedTpotMs: number;
  readonly ttftError: number;
  readonly tpotError: number;
  readonly latencyError: number;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function meansOf(run: MeasuredRun, times: SimulatedTimes, from: number, to: number): Means {
  const ids = run.requests.flatMap((_, id) => (id >= from && id < to ? [id] : []));
  const one = (id: number) => run.requests[id] ?? { arrivalMs: 0, firstTokenMs: 0, endMs: 0, outputTokens: 0 };
  const firstMs = (id: number): number => times.firstTokenMs[id] ?? 0;
  const endMs = (id: number): number => times.endMs[id] ?? 0;
  const decoding = ids.filter((id) => one(id).outputTokens > 1);
  const ttftMs = mean(ids.map((id) => one(id).firstTokenMs - one(id).arrivalMs));
  const simulatedTtftMs = mean(ids.map((id) => firstMs(id) - one(id).arrivalMs));
  const tpotMs = mean(decoding.map((id) => (one(id).endMs - one(id).firstTokenMs) / (one(id).outputTokens - 1)));
  const simulatedTpotMs = mean(decoding.map((id) => (endMs(id) - firstMs(id)) / (one(id).outputTokens - 1)));
  const latencyMs = mean(ids.map((id) => one(id).endMs - one(id).arrivalMs));
  const simulatedLatencyMs = mean(ids.map((id) => endMs(id) - one(id).arrivalMs));
  return {
    requests: ids.length,
    ttftMs,
    simulatedTtftMs,
    tpotMs,
    simulatedTpotMs,
    ttftError: simulatedTtftMs / ttftMs - 1,
    tpotError: simulatedTpotMs / tpotMs - 1,
    latencyError: simulatedLatencyMs / latencyMs - 1,
  };
}

interface ScoredRun {
  readonly report: Report;
  /** One row for each request, with the columns of `rowColumns`. */
  readonly rows: readonly (readonly (string | number)[])[];
}

interface Report {
  readonly run: string;
  readonly isKnown: boolean;
  readonly fit: FittedRun;
  readonly fitted: Means;
  readonly rest: Means;
  readonly datasheetRest: Means | undefined;
  readonly isWithinBounds: boolean;
}

const rowColumns = [
  "run",
  "request",
  "part",
  "prompt_tokens",
  "output_tokens",
  "arrival_ms",
  "measured_ttft_ms",
  "predicted_ttft_ms",
  "measured_tpot_ms",
  "predicted_tpot_ms",
];

/**
 * Rows with the measured and simulated times of each request. A request with a single output token has no time per
 * further token.
 */
function rowsOf(run: MeasuredRun, times: SimulatedTimes, fittedCount: number): readonly (string | number)[][] {
  const rounded = (value: number): number => Number(value.toPrecision(6));
  const perToken = (ms: number, tokens: number): number | string => (tokens > 1 ? rounded(ms / (tokens - 1)) : "");
  return run.requests.map(({ arrivalMs, firstTokenMs, endMs, promptTokens, outputTokens }, id) => {
    const simulatedFirstMs = times.firstTokenMs[id] ?? Number.NaN;
    return [
      run.name,
      id,
      id < fittedCount ? "fitted" : "scored",
      promptTokens,
      outputTokens,
      rounded(arrivalMs),
      rounded(firstTokenMs - arrivalMs),
      rounded(simulatedFirstMs - arrivalMs),
      perToken(endMs - firstTokenMs, outputTokens),
      perToken((times.endMs[id] ?? Number.NaN) - simulatedFirstMs, outputTokens),
    ];
  });
}

function scoredRun(run: MeasuredRun, share: number): ScoredRun {
  const count = Math.floor(run.requests.length * share);
  const total = run.requests.length;
  const fit = fitRun(run, count);
  const times = simulate(run, fit.setup, fit.corrections);
  if (times === undefined) throw new Error(`${run.name}: the fitted cache holds no request`);
  const rest = meansOf(run, times, count, total);
  const bare = uncorrected(run, fit.setup);
  const report = {
    run: run.name,
    isKnown: run.isKnown,
    fit,
    fitted: meansOf(run, times, 0, count),
    rest,
    datasheetRest: bare === undefined ? undefined : meansOf(run, bare, count, total),
    isWithinBounds: Math.abs(rest.ttftError) <= ttftBound && Math.abs(rest.tpotError) <= tpotBound,
  };
  return { report, rows: rowsOf(run, times, count) };
}

const percent = (value: number): string => `${value < 0 ? "" : "+"}${(100 * value).toFixed(1)}%`;

function meansLine(title: string, means: Means): string {
  const { requests, ttftMs, simulatedTtftMs, ttftError, tpotMs, simulatedTpotMs, tpotError, latencyError } = means;
  return [
    `  ${title.padEnd(26)} ${String(requests).padStart(5)} requests`,
    `TTFT ${(ttftMs / 1000).toFixed(2)} s, simulated ${(simulatedTtftMs / 1000).toFixed(2)} s (${percent(ttftError)})`,
    `TPOT ${tpotMs.toFixed(2)} ms, simulated ${simulatedTpotMs.toFixed(2)} ms (${percent(tpotError)})`,
    `latency ${percent(latencyError)}`,
  ].join("  ");
}

function textOf({ run, isKnown, fit, fitted, rest, datasheetRest, isWithinBounds }: Report): string {
  const { setup, corrections } = fit;
  const lines = [
    `${run}${isKnown ? "" : " (not in the catalogue: fitted from stand-ins)"}`,
    `  setup: tensor ${setup.tensor}, engines ${setup.engines}, sequencesMax ${setup.sequencesMax}, stepTokensMax ${setup.stepTokensMax}`,
    `  corrections: memory x${corrections.memoryRate.toFixed(3)}, compute x${corrections.computeRate.toFixed(3)}, ` +
      `step ${corrections.stepMs.toFixed(2)} ms, cache x${corrections.cacheSize.toFixed(3)}, ` +
      `front end ${corrections.frontEndMs.toFixed(1)} ms`,
    meansLine("fitted (in sample)", fitted),
    meansLine("rest (out of sample)", rest),
    ...(datasheetRest === undefined ? [] : [meansLine("rest, without corrections", datasheetRest)]),
    `  ${isWithinBounds ? "within" : "NOT within"} 10% of the TTFT and 5% of the TPOT`,
  ];
  return lines.join("\n");
}

const usage = "usage: npm run validate:serving -- DIR [--json] [--share 0.1..0.9] [--rows FILE]";

const options = {
  json: { type: "boolean", default: false },
  share: { type: "string", default: "0.5" },
  rows: { type: "string" },
} as const;

function main(): void {
  const { values, positionals } = argumentsOf({ allowPositionals: true, options }, usage);
  const folder = positionals[0];
  const share = Number(values.share);
  if (folder === undefined || !(share >= 0.1 && share <= 0.9)) throw new InputError(usage);
  const runs = readRuns(folder);
  if (values.rows !== undefined) checkWritable(values.rows);
  const scored = runs.map((run) => {
    process.stderr.write(`fitting ${run.name} …\n`);
    return scoredRun(run, share);
  });
  if (values.rows !== undefined) {
    const lines = [rowColumns, ...scored.flatMap(({ rows }) => rows)];
    writeFileSync(values.rows, `${lines.map((cells) => cells.join(",")).join("\n")}\n`);
  }
  const reports = scored.map(({ report }) => report);
  process.stdout.write(
    values.json ? `${JSON.stringify(reports, undefined, 1)}\n` : `${reports.map(textOf).join("\n\n")}\n`,
  );
  if (reports.some(({ isWithinBounds }) => !isWithinBounds)) process.exitCode = 1;
}

withInputErrors(main);
