import { describe, expect, it } from "vitest";
import { countPart } from "./ci-summary.ts";

const report = (passed: number, failed: number, pending = 0) => ({
  numPassedTests: passed,
  numFailedTests: failed,
  numPendingTests: pending,
  numTodoTests: 0,
});

describe("a part of a CI run counts", () => {
  it.each([
    ["a suite's own numbers", "test", 0, report(5, 0, 2), { passed: 5, failed: 0, skipped: 2 }],
    ["its failed tests once, whatever the exit code", "test", 1, report(5, 3), { passed: 5, failed: 3, skipped: 0 }],
    ["a crash outside the tests as a failure", "test", 1, report(5, 0), { passed: 5, failed: 1, skipped: 0 }],
    ["a suite without tests as a failure", "crash", 0, report(0, 0), { passed: 0, failed: 1, skipped: 0 }],
    [
      "a suite of which all is skipped as a failure",
      "system",
      0,
      report(0, 0, 4),
      { passed: 0, failed: 1, skipped: 4 },
    ],
    ["a suite without a report as a failure", "seeds", 0, undefined, { passed: 0, failed: 1, skipped: 0 }],
    ["the check as one", "check", 0, undefined, { passed: 1, failed: 0, skipped: 0 }],
    ["the failed check as one", "check", 1, undefined, { passed: 0, failed: 1, skipped: 0 }],
  ] as const)("%s", (_name, part, exitCode, given, expected) => {
    expect(countPart(part, exitCode, given)).toMatchObject(expected);
  });
});
