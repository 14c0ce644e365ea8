/** Runs the benchmark programs that measure the gateway's documented promises, with small numbers. */
import { spawnSync } from "node:child_process";
import path from "node:path";
import { describe, expect, it } from "vitest";

const bench = path.resolve(import.meta.dirname, "..", "bench");

function run(name: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [path.join(bench, `gateway-${name}.bench.ts`), ...args],
    {
      encoding: "utf8",
      timeout: 5 * 60_000,
    },
  );
  expect(status, `${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

describe("a gateway under real load", () => {
  it("passes on every abort and bills what was generated", () => {
    expect(run("aborts", "--count", "150", "--report-only")).toContain("150 of 150 aborts reached the upstream");
  });

  it("is killed again and again and bills every complete response once", () => {
    expect(run("kills", "--count", "4")).toContain("0 complete ones billed wrongly, 0 billed twice");
  });

  it("wakes a pool, survives its replicas, and is survived by its clients", () => {
    expect(run("failover", "--held", "300")).toContain("300 of 300 held requests answered 200");
  });

  it("keeps one limit over four processes", () => {
    expect(run("limits", "--seconds", "8")).toContain("worst minute");
  });

  it("serves beside idle streams", () => {
    expect(run("soak", "--seconds", "10", "--rate", "100", "--streams", "300", "--report-only")).toContain("0 failed");
  });
});
