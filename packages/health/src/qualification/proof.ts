/** Whether the result of a suite proves a node. A result that is missing, cut, late or empty proves nothing. */
import type { Measurement } from "./measurement.ts";
import { withVerdicts } from "./peer-verdicts.ts";
import { readResults } from "./read-results.ts";
import { medianOf } from "../statistics.ts";

export interface Proof {
  readonly isPassed: boolean;
  /** Why the node is not proven, or what proved it. */
  readonly detail: string;
  readonly measurements: readonly Measurement[];
}

export interface SuiteResult {
  readonly node: string;
  /** The output of each run of the suite: figures of several runs count with their median. */
  readonly texts: readonly string[];
  /** Tests that must be among the results. */
  readonly required: readonly string[];
  /** Results with which other nodes of the pool passed the suite. */
  readonly peers: readonly Measurement[];
}

const NAMED_MAX = 3;
/** More are neither kept nor compared. */
const MEASUREMENTS_MAX = 2_000;

export function proofOf({ node, texts, required, peers }: SuiteResult): Proof {
  const runs = texts.map((text) => readRun(node, text));
  const measurements = withMedians(runs.map((run) => run.measurements));
  const nothing = (detail: string): Proof => ({ isPassed: false, detail, measurements });
  const problem = runs.length === 0 ? "the suite printed nothing" : runs.find((run) => run.problem !== null)?.problem;
  if (typeof problem === "string") return nothing(problem);
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

interface SuiteRun {
  readonly measurements: readonly Measurement[];
  /** Why the run proves nothing; `null`: it may. */
  readonly problem: string | null;
}

function readRun(node: string, text: string): SuiteRun {
  const read = readResults(text, `nodes/${node}/result`);
  // The suite ran on this node, whatever names of hosts it prints.
  const measurements = read.measurements.map((each) => ({ ...each, node }));
  const found = (problem: string | null): SuiteRun => ({ measurements, problem });
  if (text.trim() === "") return found("the suite printed nothing");
  if (read.problems.length > 0) return found(`the result is not complete: ${read.problems[0] ?? ""}`);
  if (measurements.length === 0) return found("the result has no measurements");
  if (measurements.length > MEASUREMENTS_MAX) return found(`the result has more than ${MEASUREMENTS_MAX} measurements`);
  return found(isCutText(measurements, text) ? "the output of nccl-tests ends before its summary" : null);
}

/**
 * The runs as one: figures of a test that are only measured become their median. A run can have several figures of a test, one for each
 * accelerator in any order. Those stay several rows: the lowest of each run are joined, and so on, so that none hides a slow device.
 * Verdicts that the suite states stay.
 */
function withMedians(runs: readonly (readonly Measurement[])[]): readonly Measurement[] {
  const rows = new Map<string, Measurement[]>();
  for (const [run, measurements] of runs.entries()) {
    const byTest = Map.groupBy(measurements, ({ source, test, verdict, value }, index) =>
      JSON.stringify(verdict === null && value !== null ? [source, test] : [run, index]),
    );
    for (const [test, figures] of byTest)
      for (const [rank, each] of figures.toSorted((left, right) => (left.value ?? 0) - (right.value ?? 0)).entries()) {
        const key = `${rank} ${test}`;
        const known = rows.get(key);
        if (known === undefined) rows.set(key, [each]);
        else known.push(each);
      }
  }
  return [...rows.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    if (others.length === 0) return [first];
    return [{ ...first, value: medianOf([first, ...others].flatMap(({ value }) => value ?? [])) }];
  });
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
