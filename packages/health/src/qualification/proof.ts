/** Whether the result of a suite proves a node. A result that is missing, cut, late or empty proves nothing. */
import type { Measurement } from "./measurement.ts";
import { withVerdicts } from "./peer-verdicts.ts";
import { readResults } from "./read-results.ts";

export interface Proof {
  readonly isPassed: boolean;
  /** Why the node is not proven, or what proved it. */
  readonly detail: string;
  readonly measurements: readonly Measurement[];
}

export interface SuiteResult {
  readonly node: string;
  readonly text: string;
  /** Tests that must be among the results. */
  readonly required: readonly string[];
  /** Results with which other nodes of the pool passed the suite. */
  readonly peers: readonly Measurement[];
}

const NAMED_MAX = 3;
/** More are neither kept nor compared. */
const MEASUREMENTS_MAX = 2_000;

export function proofOf({ node, text, required, peers }: SuiteResult): Proof {
  const read = readResults(text, `nodes/${node}/result`);
  // The suite ran on this node, whatever names of hosts it prints.
  const measurements = read.measurements.map((each) => ({ ...each, node }));
  const nothing = (detail: string): Proof => ({ isPassed: false, detail, measurements });
  if (text.trim() === "") return nothing("the suite printed nothing");
  if (read.problems.length > 0) return nothing(`the result is not complete: ${read.problems[0] ?? ""}`);
  if (measurements.length === 0) return nothing("the result has no measurements");
  if (measurements.length > MEASUREMENTS_MAX)
    return nothing(`the result has more than ${MEASUREMENTS_MAX} measurements`);
  if (isCutText(measurements, text)) return nothing("the output of nccl-tests ends before its summary");
  const known = new Set(measurements.map(({ test }) => test));
  const missing = required.filter((test) => !known.has(test));
  if (missing.length > 0) return nothing(`the result lacks ${named(missing)}`);
  const rows = withVerdicts([...peers, ...measurements]).filter((row) => row.node === node);
  const failed = rows.filter(({ verdict }) => verdict === "fail");
  if (failed.length > 0) return nothing(named(failed.map(failureText)));
  // A figure without enough peers is the first of its kind: the next nodes are compared with it.
  const proving = rows.filter(({ verdict, value }) => verdict === "pass" || (verdict === "unknown" && value !== null));
  const proven = new Set(proving.map(({ test }) => test));
  const open = required.filter((test) => !proven.has(test));
  if (open.length > 0) return nothing(`the suite did not pass ${named(open)}`);
  if (proving.length === 0) return nothing("no test of the suite passed");
  return { isPassed: true, detail: `${proving.length} of ${rows.length} tests passed`, measurements };
}

/** nccl-tests print both lines at their end. */
const isCutText = (measurements: readonly Measurement[], text: string): boolean =>
  measurements.some(({ source }) => source === "nccl-tests") &&
  !(/^#\s*Avg bus bandwidth\s*:\s*[\d.]+/m.test(text) && /^#\s*Out of bounds values\s*:\s*\d+/m.test(text));

function failureText({
  test,
  value,
  unit,
  peer_median: median,
  detail,
}: ReturnType<typeof withVerdicts>[number]): string {
  const figure = value === null ? "failed" : `${value}${unit === null ? "" : ` ${unit}`}`;
  const beside = median === undefined ? "" : `, its peers ${Math.round(median * 1_000) / 1_000}`;
  return `${test}: ${figure}${beside}${detail === undefined ? "" : ` (${detail})`}`;
}

const named = (texts: readonly string[]): string =>
  texts.length <= NAMED_MAX
    ? texts.join("; ")
    : `${texts.slice(0, NAMED_MAX).join("; ")} and ${texts.length - NAMED_MAX} more`;
