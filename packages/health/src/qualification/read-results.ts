/** Reads a result file of nccl-tests, SuperBench or DCGM. */
import { isDcgmDiag, readDcgmDiag } from "./dcgm-diag.ts";
import type { Measurement } from "./measurement.ts";
import { isNcclTests, readNcclTests } from "./nccl-tests.ts";
import { nodeOfPath } from "./node-name.ts";
import { isOwnSuite, readOwnSuite } from "./own-suite.ts";
import { isBenchmarkResult, isSummaryLine, readBenchmarkResult, readSummaryLine } from "./superbench.ts";

export interface ReadResults {
  readonly measurements: readonly Measurement[];
  /** Why the file, or a line of it, was not read. */
  readonly problems: readonly string[];
}

const none = (problem: string): ReadResults => ({ measurements: [], problems: [problem] });

/** `path`: of the file under the folder, which can name the node. */
export function readResults(text: string, path: string): ReadResults {
  const start = text.replace(/^\uFEFF/, "").trimStart();
  if (!start.startsWith("{") && !start.startsWith("[")) {
    if (!isNcclTests(text))
      return jsonWithin(text, path) ?? none("not a result of nccl-tests, SuperBench or dcgmi diag");
    const measurements = readNcclTests(text, path);
    return measurements.length === 0 ? none("the output of nccl-tests has no figures") : { measurements, problems: [] };
  }
  const whole = parsed(start);
  if (whole !== undefined) return readValue(whole, path);
  return readLines(start, path);
}

/** dcgmi can print messages before its JSON. */
function jsonWithin(text: string, path: string): ReadResults | null {
  const from = text.indexOf("\n{");
  const value = from < 0 ? undefined : parsed(text.slice(from + 1));
  return value !== undefined && isDcgmDiag(value) ? readValue(value, path) : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function readValue(value: unknown, path: string): ReadResults {
  if (isDcgmDiag(value)) return { measurements: readDcgmDiag(value, path), problems: [] };
  if (isOwnSuite(value)) {
    const measurements = readOwnSuite(value, nodeOfPath(path));
    return measurements.length === 0
      ? none("a suite that is not complete, or has no results")
      : { measurements, problems: [] };
  }
  const items: readonly unknown[] = Array.isArray(value) ? (value as readonly unknown[]) : [value];
  const measurements = items.flatMap((item) =>
    isBenchmarkResult(item) ? readBenchmarkResult(item, path) : isSummaryLine(item) ? readSummaryLine(item) : [],
  );
  return measurements.length === 0
    ? none("not a result of nccl-tests, SuperBench or dcgmi diag")
    : { measurements, problems: [] };
}

/** Problems listed for a file. */
const PROBLEMS_MAX = 20;

function readLines(text: string, path: string): ReadResults {
  const measurements: Measurement[] = [];
  const problems: string[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const value = parsed(line);
    const read = value === undefined ? none("no JSON") : readValue(value, path);
    measurements.push(...read.measurements);
    if (problems.length < PROBLEMS_MAX)
      problems.push(...read.problems.map((problem) => `line ${index + 1}: ${problem}`));
  }
  return { measurements, problems };
}
