/** Qualification of a node as lines of a terminal. */
import type { QualificationReport } from "@headroom/protocol";
import { printable } from "../terminal.ts";

/** Lines of a node's qualification and of the newest result of its suite, for `headroom nodes show`. */
export function qualificationPairs(
  { qualification, result, history, differences }: QualificationReport,
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
  for (const run of history.slice(result === null || history[0]?.atMs !== result.atMs ? 0 : 1, RUNS_SHOWN))
    pairs.push([
      "suite run",
      `${run.suite} ${run.isPassed ? "passed" : "did not pass"} at ${instant(run.atMs)}: ${printable(run.detail)}`,
    ]);
  for (const { fact, value, expected, peerCount, comparedCount } of differences.slice(0, DIFFERENCES_SHOWN))
    pairs.push([
      "differs",
      `${printable(fact)}: ${value === null ? "not stated" : printable(value)}; ${peerCount} of ${comparedCount} nodes of the pool have ${printable(expected)}`,
    ]);
  return pairs;
}

const RUNS_SHOWN = 6;
const DIFFERENCES_SHOWN = 20;
