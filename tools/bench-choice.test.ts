import { globSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { benchesFor } from "./bench-choice.ts";

const root = path.resolve(import.meta.dirname, "..");
const files = globSync("packages/*/{src,bench}/**/*.bench.ts", { cwd: root });

it("runs one benchmark for the whole name of one, whose arguments the others would refuse", () => {
  expect(files).toContain("packages/autoscale/bench/autoscale.bench.ts");
  for (const file of files) expect(benchesFor(path.basename(file, ".bench.ts"), files)).toEqual([file]);
});

it("runs those with the filter in their path for any other filter", () => {
  expect(benchesFor("packages/autoscale/", files).length).toBeGreaterThan(1);
  expect(benchesFor("", files)).toHaveLength(files.length);
  expect(benchesFor("no-such-bench", files)).toEqual([]);
});
