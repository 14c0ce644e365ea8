/**
 * Results of small suites: one JSON object with `complete: true`, so that a cut result is none.
 *
 *     { "suite": "quick", "complete": true, "results": [{ "test": "matmul", "value": 31, "unit": "GFLOP/s", "verdict": "pass" }] }
 *
 * A result with `text` instead of a figure is a fact: `{ "test": "nics", "text": "8 x 400 Gb/s", "differs": "fail" }`.
 */
import { listOf, own, type Measurement, type Verdict } from "./measurement.ts";

const RESULTS_MAX = 1_000;
const TEXT_MAX = 300;
const verdicts: ReadonlyMap<string, Verdict> = new Map([
  ["pass", "pass"],
  ["fail", "fail"],
  ["warn", "warn"],
  ["skip", "skip"],
]);

export const isOwnSuite = (value: unknown): boolean =>
  typeof own(value, "suite") === "string" && Array.isArray(own(value, "results"));

/**
 * The measurements; none if the result is not complete: it does not say so, has more results than are read, a result
 * without a name, or a verdict that is not known.
 */
export function readOwnSuite(value: unknown, node: string): readonly Measurement[] {
  const results = listOf(own(value, "results"));
  if (own(value, "complete") !== true || results.length > RESULTS_MAX) return [];
  const measurements: Measurement[] = [];
  for (const result of results) {
    const measurement = measurementOf(result, node);
    if (measurement === null) return [];
    measurements.push(measurement);
  }
  return measurements;
}

/** `null`: the result has no name, or a verdict or a `differs` that is not known. */
function measurementOf(result: unknown, node: string): Measurement | null {
  const [test, figure, unit] = [own(result, "test"), own(result, "value"), own(result, "unit")];
  const [stated, detail] = [own(result, "verdict") ?? null, own(result, "detail")];
  if (typeof test !== "string" || test === "") return null;
  const verdict = typeof stated === "string" ? verdicts.get(stated.toLowerCase()) : stated === null ? null : undefined;
  if (verdict === undefined) return null;
  const [text, differs] = [own(result, "text"), own(result, "differs")];
  if (differs !== undefined && differs !== "fail" && differs !== "warn") return null;
  return {
    node,
    test: test.slice(0, TEXT_MAX),
    value: typeof figure === "number" && Number.isFinite(figure) ? figure : null,
    unit: typeof unit === "string" ? unit.slice(0, TEXT_MAX) : null,
    verdict,
    source: "suite",
    ...(typeof detail === "string" ? { detail: detail.slice(0, TEXT_MAX) } : {}),
    ...(typeof text === "string" ? { text: text.slice(0, TEXT_MAX) } : {}),
    ...(typeof text === "string" && differs !== undefined ? { differs } : {}),
  };
}
