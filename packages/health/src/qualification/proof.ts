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
/** Peers from which on their number of figures says something. */
const MISSING_PEERS_MIN = 3;
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
  const absent = missingFigures(
    runs.map((run) => run.measurements),
    peers,
  );
  const failed = rows.filter(({ verdict }) => verdict === "fail");
  if (failed.length + absent.length > 0) return nothing(named([...absent, ...failed.map(differenceText)]));
  // A figure or a fact without enough peers is the first of its kind: the next nodes are compared with it.
  const proving = rows.filter(
    ({ verdict, value, text }) =>
      verdict === "pass" || (verdict === "unknown" && (value !== null || text !== undefined)),
  );
  const proven = new Set(proving.map(({ test }) => test));
  const open = required.filter((test) => !proven.has(test));
  if (open.length > 0) return nothing(`the suite did not pass ${named(open)}`);
  if (proving.length === 0) return nothing("no test of the suite passed");
  const warned = rows.filter(({ verdict, peer_text }) => verdict === "warn" && peer_text !== undefined);
  const warning = warned.length === 0 ? "" : `; ${named(warned.map(differenceText))}`;
  return { isPassed: true, detail: `${proving.length} of ${rows.length} tests passed${warning}`, measurements };
}

/** Figures of one test: one for each accelerator, or for each link. */
function figureCounts(measurements: readonly Measurement[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { source, test, value } of measurements) {
    const key = JSON.stringify([source, test]);
    if (value !== null) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

/** Tests with fewer figures in one run than in another, or than most peers have: an accelerator was missing. */
function missingFigures(runs: readonly (readonly Measurement[])[], peers: readonly Measurement[]): readonly string[] {
  const ofRuns = runs.map(figureCounts);
  const ofPeers = [...Map.groupBy(peers, ({ node }) => node).values()].map(figureCounts);
  const tests = new Set([...ofRuns, ...ofPeers].flatMap((counts) => [...counts.keys()]));
  const skipped = new Set(
    runs.flatMap((run) => run.flatMap(({ test, verdict }) => (verdict === "skip" ? [test] : []))),
  );
  return [...tests].flatMap((key) => {
    const counts = ofRuns.map((each) => each.get(key) ?? 0);
    const [least, most] = [Math.min(...counts), Math.max(...counts)];
    const [, test = ""] = JSON.parse(key) as readonly string[];
    if (skipped.has(test)) return [];
    if (least < most) return [`${test}: ${least} figures in one run and ${most} in another`];
    const peerCounts = ofPeers.flatMap((each) => each.get(key) ?? []);
    const usual = peerCounts.length < MISSING_PEERS_MIN ? 0 : medianOf(peerCounts);
    return least > 0 && least < usual ? [`${test}: ${least} figures, its peers ${usual}`] : [];
  });
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
  const facts = new Set<string>();
  return [...rows.values()].flatMap(([first, ...others]) => {
    if (first === undefined) return [];
    if (first.text !== undefined && first.verdict === null) {
      // Runs that state the same fact are one row. Another fact of a further run stays, and is compared too.
      const fact = JSON.stringify([first.source, first.test, first.text]);
      return facts.has(fact) ? [] : (facts.add(fact), [first]);
    }
    if (others.length === 0) return [first];
    return [{ ...first, value: medianOf([first, ...others].flatMap(({ value }) => value ?? [])) }];
  });
}

/** nccl-tests print both lines at their end. */
const isCutText = (measurements: readonly Measurement[], text: string): boolean =>
  measurements.some(({ source }) => source === "nccl-tests") &&
  !(/^#\s*Avg bus bandwidth\s*:\s*[\d.]+/m.test(text) && /^#\s*Out of bounds values\s*:\s*\d+/m.test(text));

function differenceText({
  test,
  value,
  unit,
  text,
  peer_median: median,
  peer_text: peerText,
  detail,
}: ReturnType<typeof withVerdicts>[number]): string {
  if (text !== undefined && peerText !== undefined)
    return `${test}: measured difference: ${text || "none"}, its peers ${peerText || "none"}`;
  const figure = value === null ? "failed" : `${value}${unit === null ? "" : ` ${unit}`}`;
  const beside =
    median === undefined || value === null ? "" : `, its peers ${rounded(median)}${partText(value, median)}`;
  return `${test}: ${figure}${beside}${detail === undefined ? "" : ` (${detail})`}`;
}

const rounded = (value: number): number => Math.round(value * 1_000) / 1_000;

function partText(value: number, median: number): string {
  if (median === 0) return "";
  const part = Math.round((value / median - 1) * 1_000) / 10;
  return ` (measured difference ${part > 0 ? "+" : ""}${part}%)`;
}

const named = (texts: readonly string[]): string =>
  texts.length <= NAMED_MAX
    ? texts.join("; ")
    : `${texts.slice(0, NAMED_MAX).join("; ")} and ${texts.length - NAMED_MAX} more`;
