import { describe, expect, it } from "vitest";
import { budgetsS, countPart, excessOf, failuresOf, readPart } from "./ci-summary.ts";

const report = (passed: number, failed: number, pending = 0) => ({
  numPassedTests: passed,
  numFailedTests: failed,
  numPendingTests: pending,
  numTodoTests: 0,
  testResults: [],
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
    expect(countPart({ name: part, exitCode, seconds: 1, processorSeconds: 1 }, given)).toMatchObject(expected);
  });
});

describe("a part of a CI run", () => {
  it("is given by its exit code, its time and its processor time", () => {
    const part = { name: "seeds", exitCode: 0, seconds: 896, processorSeconds: 700 };
    expect(readPart("seeds=0,896,700")).toEqual(part);
    expect(excessOf(part)).toBeNull();
  });

  it("that did not end is a failure", () => {
    expect(countPart(readPart("crash"), undefined)).toMatchObject({ failed: 1 });
    expect(countPart(readPart("system=124,3300,4000"), undefined).note).toBe("left no report, ran out of time");
  });

  it("may take no more processor time than its budget", () => {
    const [[name, budgetS] = ["", 0]] = Object.entries(budgetsS);
    expect(excessOf(readPart(`${name}=0,10,${budgetS}`))).toBeNull();
    expect(excessOf(readPart(`${name}=0,10,${budgetS + 1}`))).toContain(`its budget is ${budgetS} s`);
  });
});

describe("the failed tests of a part", () => {
  const file = (
    name: string,
    status: string,
    message: string,
    tests: readonly [string, string, string[] | null][],
  ) => ({
    name,
    status,
    message,
    assertionResults: tests.map(([fullName, state, failureMessages]) => ({ fullName, status: state, failureMessages })),
  });

  it("are listed with file, name and message, and files that could not be loaded with why", () => {
    const testResults = [
      file("/a.test.ts", "passed", "", [["works", "passed", []]]),
      file("/b.test.ts", "failed", "", [
        ["works", "passed", []],
        ["breaks", "failed", ["Error: no"]],
        ["breaks without a message", "failed", null],
      ]),
      file("/c.test.ts", "failed", "SyntaxError: x", []),
    ];
    expect(failuresOf("unit", { testResults })).toEqual([
      "unit: /b.test.ts: breaks\nError: no",
      "unit: /b.test.ts: breaks without a message",
      "unit: /c.test.ts\nSyntaxError: x",
    ]);
  });

  it("are bounded in number and length", () => {
    const tests = Array.from({ length: 30 }, (_, index) => [`t${index}`, "failed", ["x".repeat(9_000)]] as const);
    const listed = failuresOf("unit", {
      testResults: [
        file(
          "/b.test.ts",
          "failed",
          "",
          tests.map(([a, b, c]) => [a, b, [...c]]),
        ),
      ],
    });
    expect(listed).toHaveLength(21);
    expect(listed.at(-1)).toBe("unit: 10 more failed");
    expect(Math.max(...listed.map(({ length }) => length))).toBeLessThan(2_000);
  });
});
