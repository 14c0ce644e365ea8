import { spawnSync } from "node:child_process";
import path from "node:path";
import { expect, it } from "vitest";
import { sharedData } from "../../packages/sim/test/shared-data.ts";

it("reproduces measured runs of an engine: 10% of the time to the first token, 5% of the time per token", () => {
  const folder = sharedData("traces/vllm_runs");
  if (folder === null) return;
  const script = path.join(import.meta.dirname, "serving.ts");
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, folder, "--json"], { encoding: "utf8" });
  expect(stderr).toContain("fitting");
  const reports = JSON.parse(stdout) as readonly { readonly run: string; readonly isWithinBounds: boolean }[];
  expect(reports.length).toBeGreaterThan(0);
  expect(reports.filter(({ isWithinBounds }) => !isWithinBounds)).toEqual([]);
  expect(status).toBe(0);
});
