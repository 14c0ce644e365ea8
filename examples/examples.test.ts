/** Every workload file among the examples is one that Headroom accepts. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { readDocument } from "../packages/protocol/src/documents/index.ts";

const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".yaml"))
  .sort();

describe("the examples' workload files", () => {
  it("are all here", () => {
    expect(files).toEqual(["quickstart/train.yaml", "torchrun/train.yaml", "vllm/serve.yaml"]);
  });

  it.each(files)("%s reads without a problem", (file) => {
    const reading = readDocument(parse(readFileSync(join(import.meta.dirname, file), "utf8")));
    expect(reading.ok ? [] : reading.problems).toEqual([]);
  });
});
