/**
 * Prints the summary of a CI run: `node tools/ci-summary.ts test=0 check=0 crash=1 …` gets each part with its exit
 * code. For parts that are test suites it adds up Vitest's reports; every other part counts as one test. A suite
 * without a report, or without any test, counts as failed.
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

export function countPart(name: string, exitCode: number, report: Report | undefined): Count {
  const isFine = exitCode === 0;
  if (plainParts.includes(name)) return { passed: isFine ? 1 : 0, failed: isFine ? 0 : 1, skipped: 0, note: "" };
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0, note: "left no report" };
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

function summarise(parts: readonly string[]): void {
  const total = { passed: 0, failed: 0, skipped: 0 };
  const lines: string[] = [];
  for (const part of parts) {
    const [name = "", code = "1"] = part.split("=");
    const report = readReport(name);
    for (const failure of report === undefined ? [] : failuresOf(name, report)) process.stdout.write(`${failure}\n\n`);
    const count = countPart(name, Number(code), report);
    total.passed += count.passed;
    total.failed += count.failed;
    total.skipped += count.skipped;
    const line = `${name.padEnd(8)} ${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped ${count.note}`;
    lines.push(line.trimEnd());
  }
  process.stdout.write(`${lines.join("\n")}\n`);
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
  process.stdout.write(`\n${total.passed} passed, ${total.failed} failed${skipped}\n`);
  process.exitCode = total.failed === 0 ? 0 : 1;
}

if (import.meta.main) summarise(process.argv.slice(2));
