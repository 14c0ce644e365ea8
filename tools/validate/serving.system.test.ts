import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { sharedData } from "../shared-data.ts";

it("reproduces measured runs of an engine: 10% of the time to the first token, 5% of the time per token", () => {
  const folder = sharedData("traces/vllm_runs");
  if (folder === null) return;
  const script = path.join(import.meta.dirname, "serving.ts");
  const scratch = mkdtempSync(path.join(tmpdir(), "headroom-serving-"));
  const rowsFile = path.join(scratch, "rows.csv");
  const options = [script, folder, "--json", "--rows", rowsFile];
  const { status, stdout, stderr } = spawnSync(process.execPath, options, { encoding: "utf8" });
  const [header = "", ...rows] = readFileSync(rowsFile, "utf8").trimEnd().split("\n");
  rmSync(scratch, { recursive: true });
  expect(header).toMatch(/^run,request,part,.*measured_ttft_ms,predicted_ttft_ms/);
  expect(rows.length).toBeGreaterThan(100);
  expect(rows.filter((row) => row.split(",").length !== header.split(",").length || row.includes("NaN"))).toEqual([]);
  expect(stderr).toContain("fitting");
  const reports = JSON.parse(stdout) as readonly { readonly run: string; readonly isWithinBounds: boolean }[];
  expect(reports.length).toBeGreaterThan(0);
  expect(reports.filter(({ isWithinBounds }) => !isWithinBounds)).toEqual([]);
  expect(status).toBe(0);
});
