import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-serving-"));
  const lines = Array.from({ length: 200 }, (_, index) =>
    JSON.stringify({
      id: `r${index}`,
      atMs: 1_000_000 + index * 40,
      outcome: "completed",
      promptTokens: 500 + ((index * 37) % 900),
      completionTokens: 20 + ((index * 53) % 200),
      cachedTokens: 0,
    }),
  );
  writeFileSync(path.join(folder, "access.jsonl"), lines.join("\n"));
  writeFileSync(path.join(folder, "access.jsonl.gz"), gzipSync(lines.join("\n")));
  writeFileSync(path.join(folder, "broken.jsonl"), `${lines[0] ?? ""}\n{"id":"x"}\n`);
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const simulate = (...args: string[]): Promise<Said> =>
  headroom(["simulate", "--serving", ...args], { workingDirectory: folder, columns: 200 });

interface Report {
  readonly variant: string;
  readonly accelerators: number;
  readonly tpot_ms: { readonly mean: number };
  readonly slo_share: number;
}

describe("headroom simulate --serving", () => {
  it("compares yesterday's traffic with fewer replicas, in FP8 and behind another router", async () => {
    const variants = ["replicas=1", "weights=fp8", "router=round-robin"].flatMap((one) => ["--variant", one]);
    const { code, stdout } = await simulate("gateway:access.jsonl", "--replicas", "3", ...variants, "--json");
    expect(code).toBe(0);
    const reports = JSON.parse(stdout) as readonly Report[];
    expect(reports.map(({ variant, accelerators }) => [variant, accelerators])).toEqual([
      ["as given", 3],
      ["replicas=1", 1],
      ["weights=fp8", 3],
      ["router=round-robin", 3],
    ]);
    const [given, fewer, narrow] = reports;
    expect(fewer?.tpot_ms.mean).toBeGreaterThan(given?.tpot_ms.mean ?? Infinity);
    expect(narrow?.tpot_ms.mean).toBeLessThan(given?.tpot_ms.mean ?? 0);
  });

  it("prints variants side by side, and unpacks .gz", async () => {
    const { stdout } = await simulate(
      "gateway:access.jsonl.gz",
      "--replicas",
      "2",
      "--variant",
      "replicas=1*L40S+1*H100",
    );
    expect(stdout).toContain("200 requests");
    expect(stdout).toMatch(/accelerators +2 +2/);
    expect(stdout).toContain("replicas=1*L40S+1*H100");
  });

  it.each([
    [["gateway:broken.jsonl"], "broken.jsonl:2: at: expected text"],
    [["nothing:access.jsonl"], "expected azure:FILE"],
    [["gateway:absent.jsonl"], "there is no such file"],
    [["gateway:access.jsonl", "--router", "best"], "expected one of round-robin"],
    [["gateway:access.jsonl", "--model", "llama-3-70b", "--accelerator", "L4"], "leave no room for a cache"],
    [["gateway:access.jsonl", "--variant", "colour=red"], "--variant: expected model="],
  ])("says what is wrong: %j", async (args, message) => {
    const { code, stderr } = await simulate(...args);
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
  });
});
