/** Qualification of a node as lines of a terminal. */
import type { QualificationReport } from "@headroom/protocol";
import { printable } from "../terminal.ts";

/** Lines of a node's qualification and of the newest result of its suite, for `headroom nodes show`. */
export function qualificationPairs(
  { qualification, result }: QualificationReport,
  instant: (atMs: number) => string,
): readonly (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  if (qualification !== undefined) {
    const { suite, phase, run, expectedAtMs, detail } = qualification;
    const expected = expectedAtMs === undefined ? "" : `, expected in service by ${instant(expectedAtMs)}`;
    const why = detail === undefined ? "" : `; the last run: ${printable(detail)}`;
    pairs.push(["qualification", `${suite}, ${phase}, run ${run}${expected}${why}`]);
  }
  if (result !== null)
    pairs.push([
      "last suite",
      `${result.suite} ${result.isPassed ? "passed" : "did not pass"} at ${instant(result.atMs)} in ${Math.ceil(result.durationMs / 1_000)} s: ${printable(result.detail)}`,
    ]);
  return pairs;
}
