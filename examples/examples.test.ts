/** Headroom accepts every workload file of the examples and the gateway's configuration. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseYaml } from "../packages/cli/src/documents/yaml-source.ts";
import { readDocument } from "@headroom/spec";

const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".yaml") && !path.includes("node_modules") && !path.endsWith("gateway.yaml"))
  .sort();

describe("the examples' workload files", () => {
  it("are all here", () => {
    expect(files).toEqual([
      "quickstart/train.yaml",
      "serving/serve.yaml",
      "torchrun/elastic.yaml",
      "torchrun/train.yaml",
      "vllm/serve.yaml",
    ]);
  });

  it.each(files)("%s reads without a problem", (file) => {
    const { documents, problems } = parseYaml(readFileSync(join(import.meta.dirname, file), "utf8"));
    expect(problems).toEqual([]);
    const reading = readDocument(documents[0]?.value);
    expect(reading.ok ? [] : reading.problems).toEqual([]);
  });
});
