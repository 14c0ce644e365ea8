import { expect, it } from "vitest";
import type { LoadResult } from "../load/load.ts";
import { htmlReport } from "./html.ts";
import { isFailed, keptRate, rowsOf, type BenchmarkReport, type Run } from "./report.ts";
import { isTargetName } from "../targets/targets.ts";
import { textReport } from "./text.ts";

function run(target: string, round: number, requestsPerSecond: number, p50: number, cpu?: number): Run {
  const latencyUs = { p50, p90: p50, p99: 2 * p50, p999: p50, max: p50 };
  const result: LoadResult = {
    completed: requestsPerSecond,
    allCompleted: requestsPerSecond,
    failed: 0,
    seconds: 1,
    requestsPerSecond,
    latencyUs,
    events: 0,
    lostEvents: 0,
    doubledEvents: 0,
    lateRequests: 0,
    unfinishedRequests: 0,
  };
  return { target, round, result, targetCpuSeconds: cpu, residentMib: 20 };
}

const report: BenchmarkReport = {
  version: 1,
  startedAt: "2026-11-27T02:17:00.000Z",
  loadAverage: 12.04,
  rounds: 2,
  secondsPerRun: 1.5,
  machine: { processor: "<cpu>", coreCount: 2, node: "v26" },
  cores: { target: 0, load: 1 },
  sockets: "native",
  targets: [{ name: "haproxy", description: "" }],
  missing: [{ name: "nginx", reason: "not installed" }],
  cases: [
    {
      name: "small",
      description: "small requests",
      compares: "requests per second",
      // The machine was half as fast in the second round.
      runs: [
        run("direct", 0, 1000, 20),
        run("haproxy", 0, 600, 100, 1),
        run("mine", 0, 300, 140, 0.6),
        run("direct", 1, 500, 40),
        run("haproxy", 1, 300, 200, 1),
        run("mine", 1, 150, 280, 0.6),
      ],
    },
  ],
  frontier: [{ target: "mine", points: [], bounds: [{ boundMs: 1, requestsPerSecond: 120 }] }],
};

it("takes ratios and added latency within a round", () => {
  const [, haproxy, mine] = rowsOf(report.cases[0] as (typeof report.cases)[0]);
  expect(haproxy).toMatchObject({ ratioToHaproxy: 1, addedP50Us: 120 });
  expect(mine).toMatchObject({ requestsPerSecond: 225, ratioToHaproxy: 0.5, addedP50Us: 180, addedP99Us: 360 });
  expect(mine?.cpuRatioToHaproxy).toBeCloseTo(0.5 / 0.6, 10);
});

it("shows the same figures on the terminal and on the page", () => {
  const text = textReport(report).join("\n");
  expect(text).toMatch(/mine +225 +0\.50 /);
  expect(text).toMatch(/frontier/);
  const page = htmlReport(report);
  expect(page).toContain("<td>225</td><td>0.50</td>");
  expect(page).toContain("&lt;cpu&gt;");
  expect(page).toContain("2026-11-27 02:17 UTC, load average 12.0 before it; 2 rounds of 1.5 s.");
  // On a narrow screen the tables scroll, not the page.
  expect(page.match(/<div class="wide"><table>/g)).toHaveLength(page.match(/<table>/g)!.length);
  expect(page).not.toContain("<script");
});

it("a rate of the frontier counts only if the target kept it without failures", () => {
  const point = { ratePerSecond: 100, requestsPerSecond: 100, failed: 0, p99Us: 4_000 };
  expect(keptRate([point, { ...point, ratePerSecond: 200, requestsPerSecond: 120 }], 5)).toBe(100);
  expect(keptRate([{ ...point, failed: 1 }], 5)).toBe(0);
  expect(keptRate([point], 1)).toBe(0);
});

it("a report fails if nothing was measured, nothing completed, or something was lost", () => {
  const [each] = report.cases;
  const [known] = each?.runs ?? [];
  if (each === undefined || known === undefined) throw new Error("no run");
  const withResult = (changed: object) => ({
    cases: [{ ...each, runs: [{ ...known, result: { ...known.result, ...changed } }] }],
  });
  expect(isFailed({ cases: [] })).toBe(true);
  expect(isFailed(withResult({}))).toBe(false);
  for (const changed of [{ completed: 0 }, { failed: 1 }, { lostEvents: 1 }, { doubledEvents: 1 }])
    expect([changed, isFailed(withResult(changed))]).toEqual([changed, true]);
});

it("a target has a known name or a port", () => {
  expect(["direct", "mine=8080", "mine=65535"].map(isTargetName)).toEqual([true, true, true]);
  expect(["nobody", "mine=0", "mine=65536", "mine=99999", "=80"].map(isTargetName)).toEqual(Array(5).fill(false));
});
