/**
 * Prints the summary of a CI run: `node tools/ci-summary.ts test=0,80,120 check=0,60,95 …` gets each part with its exit
 * code, its time and its processor time in seconds. For parts that are test suites it adds up Vitest's reports; every
 * other part counts as one test. A suite without a report, or without any test, counts as failed, and so does a part
 * that took more than its budget.
 */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";

/** The fields of Vitest's JSON report (Jest's format) that this script reads. */
interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    /** Error message of a test file that could not be loaded. */
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[] | null;
    }[];
  }[];
}

interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly note: string;
}

const plainParts: readonly string[] = ["check"];
/**
 * Processor time in seconds that a part may take: twice what it takes on a quiet machine of two cores, because a slow
 * machine needs about twice as much. A part that is full gets no more tests: take others out, or let long samples rotate.
 */
export const budgetsS: Readonly<Record<string, number>> = {
  fresh: 3600,
  system: 3600,
  test: 1200,
  check: 480,
  crash: 2400,
  seeds: 2400,
};
/** Exit code of `timeout` when it ended the command. */
const OUT_OF_TIME = 124;

/** A part that ran: `name=exit code,seconds,processor seconds`. */
export interface Part {
  readonly name: string;
  readonly exitCode: number;
  readonly seconds: number;
  readonly processorSeconds: number;
}

export function readPart(text: string): Part {
  const [name = "", figures = ""] = text.split("=");
  const [exitCode = 1, seconds = 0, processorSeconds = 0] = figures.split(",").map(Number);
  return { name, exitCode, seconds, processorSeconds };
}

/** A sentence about a budget that was exceeded; `null` otherwise. */
export function excessOf({ name, processorSeconds }: Part): string | null {
  const budget = budgetsS[name];
  if (budget === undefined || processorSeconds <= budget) return null;
  return `${name} took ${processorSeconds} s of processor time; its budget is ${budget} s`;
}

export function countPart({ name, exitCode }: Part, report: Report | undefined): Count {
  const isFine = exitCode === 0;
  const outOfTime = exitCode === OUT_OF_TIME ? ", ran out of time" : "";
  if (plainParts.includes(name)) return { passed: isFine ? 1 : 0, failed: isFine ? 0 : 1, skipped: 0, note: "" };
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0, note: `left no report${outOfTime}` };
  const { numPassedTests: passed, numFailedTests: failed } = report;
  const skipped = report.numPendingTests + report.numTodoTests;
  if (passed + failed === 0) return { passed, failed: 1, skipped, note: "ran no test" };
  if (failed === 0 && !isFine) return { passed, failed: 1, skipped, note: `failed outside its tests (${exitCode})` };
  return { passed, failed, skipped, note: "" };
}

const FAILURES_MAX = 20;
const MESSAGE_MAX_CHARS = 1_500;

/**
 * The failed tests of a part: file, name, and the start of the message. The summary repeats them at its end, because
 * often only the end of a log is kept.
 */
export function failuresOf(name: string, { testResults }: Pick<Report, "testResults">): readonly string[] {
  const failures = testResults.flatMap(({ name: file, status, message, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === "failed");
    if (failed.length === 0 && status === "failed") return [`${file}\n${message}`];
    return failed.map(({ fullName, failureMessages }) => `${file}: ${fullName}\n${(failureMessages ?? []).join("\n")}`);
  });
  const left = failures.length - FAILURES_MAX;
  const shown = failures.slice(0, FAILURES_MAX).map((text) => `${name}: ${text.slice(0, MESSAGE_MAX_CHARS).trimEnd()}`);
  return left > 0 ? [...shown, `${name}: ${left} more failed`] : shown;
}

function readReport(name: string): Report | undefined {
  const file = path.resolve(import.meta.dirname, "..", ".build", "reports", `${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

const LOG_LINES = 30;

/** The last lines of a part's log, of which nothing else tells how far it came; empty if there is no log. */
function endOfLog(name: string): string {
  const file = path.resolve(import.meta.dirname, "..", ".build", `ci-${name}.log`);
  if (!existsSync(file)) return "";
  return readFileSync(file, "utf8").trimEnd().split("\n").slice(-LOG_LINES).join("\n");
}

function summarise(parts: readonly string[]): void {
  const total = { passed: 0, failed: 0, skipped: 0 };
  const lines: string[] = [];
  for (const text of parts) {
    const part = readPart(text);
    const report = readReport(part.name);
    for (const failure of report === undefined ? [] : failuresOf(part.name, report))
      process.stdout.write(`${failure}\n\n`);
    const isUnreported = report === undefined && (part.exitCode !== 0 || !plainParts.includes(part.name));
    if (isUnreported) process.stdout.write(`${part.name} ended with:\n${endOfLog(part.name)}\n\n`);
    const { passed, failed, skipped, note } = countPart(part, report);
    const excess = excessOf(part);
    if (excess !== null) process.stdout.write(`${excess}\n\n`);
    total.passed += passed;
    total.failed += failed + (excess === null ? 0 : 1);
    total.skipped += skipped;
    const times = `${part.seconds} s, ${part.processorSeconds} s of processor time`;
    lines.push(`${part.name.padEnd(8)} ${passed} passed, ${failed} failed, ${skipped} skipped ${note} (${times})`);
  }
  process.stdout.write(`${lines.join("\n")}\n`);
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
  process.stdout.write(`\n${total.passed} passed, ${total.failed} failed${skipped}\n`);
  process.exitCode = total.failed === 0 ? 0 : 1;
}

if (import.meta.main) summarise(process.argv.slice(2));
