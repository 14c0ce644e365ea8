/**
 * Results of small suites: one JSON object with `complete: true`, so that a cut result is none.
 *
 *     { "suite": "quick", "complete": true, "results": [{ "test": "matmul", "value": 31, "unit": "GFLOP/s", "verdict": "pass" }] }
 */
import { listOf, own, type Measurement, type Verdict } from "./measurement.ts";

const RESULTS_MAX = 1_000;
const TEXT_MAX = 300;
const verdicts: ReadonlySet<unknown> = new Set<Verdict>(["pass", "fail", "warn", "skip"]);

export const isOwnSuite = (value: unknown): boolean =>
  typeof own(value, "suite") === "string" && Array.isArray(own(value, "results"));

/** No measurements, if the result does not say that it is complete. */
export function readOwnSuite(value: unknown, node: string): readonly Measurement[] {
  if (own(value, "complete") !== true) return [];
  return listOf(own(value, "results"))
    .slice(0, RESULTS_MAX)
    .flatMap((result): readonly Measurement[] => {
      const [test, figure, unit] = [own(result, "test"), own(result, "value"), own(result, "unit")];
      const [verdict, detail] = [own(result, "verdict"), own(result, "detail")];
      if (typeof test !== "string" || test === "") return [];
      return [
        {
          node,
          test: test.slice(0, TEXT_MAX),
          value: typeof figure === "number" && Number.isFinite(figure) ? figure : null,
          unit: typeof unit === "string" ? unit.slice(0, TEXT_MAX) : null,
          verdict: verdicts.has(verdict) ? (verdict as Verdict) : null,
          source: "suite",
          ...(typeof detail === "string" ? { detail: detail.slice(0, TEXT_MAX) } : {}),
        },
      ];
    });
}
