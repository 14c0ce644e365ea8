/**
 * Measures how much the figures of the small qualification suite differ from run to run of one machine. Prints a record for each test, with
 * the deviations of the runs from their median (natural logarithms, in thousandths) for `health/src/measured-noise.ts`. Option: `--runs N` (50).
 */
import { execFileSync } from "node:child_process";
import path from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { runs: { type: "string", default: "50" } } });
const suite = path.join(import.meta.dirname, "../src/qualifications/small-suite.ts");

interface SuiteOutput {
  readonly results: readonly { readonly test: string; readonly value?: number | null; readonly verdict?: string }[];
}

const figures = new Map<string, number[]>();
for (let run = 0; run < Number(values.runs); run++) {
  const { results } = JSON.parse(execFileSync(process.execPath, [suite], { encoding: "utf8" })) as SuiteOutput;
  for (const { test, value, verdict } of results) {
    // Facts have no figure, and the network is not measured without a peer.
    if (typeof value !== "number") continue;
    if (verdict !== "pass") throw new Error(`${test} did not pass in run ${run}`);
    figures.set(test, [...(figures.get(test) ?? []), value]);
  }
}

for (const [test, measured] of figures) {
  const sorted = measured.toSorted((left, right) => left - right);
  const at = (share: number): number => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
  const median = at(0.5);
  const mean = measured.reduce((sum, value) => sum + value, 0) / measured.length;
  const variance = measured.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (measured.length - 1);
  process.stdout.write(
    `${JSON.stringify({
      test,
      runs: measured.length,
      median,
      mean: Math.round(mean * 1000) / 1000,
      cv_percent: Math.round((1000 * Math.sqrt(variance)) / mean) / 10,
      p5_percent: Math.round(1000 * (at(0.05) / median - 1)) / 10,
      p95_percent: Math.round(1000 * (at(0.95) / median - 1)) / 10,
      deviations_milli: measured.map((value) => Math.round(1000 * Math.log(value / median))).join(" "),
    })}\n`,
  );
}
