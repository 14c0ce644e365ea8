/** Headroom accepts every workload file, price, calculation and plan of the examples. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseYaml } from "../packages/cli/src/documents/yaml-source.ts";
import { readCeilingDocument, readDemandDocument, readPlanDocument, readTriggerDocument } from "@headroom/plan";
import { readDocument } from "@headroom/spec";
import { priceDocument, tcoDocument } from "@headroom/usage";

const files = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".yaml") && !path.includes("node_modules") && !path.endsWith("gateway.yaml"))
  .sort();

type PlanReading = { readonly kind: "read" } | { readonly kind: "refused"; readonly problems: readonly unknown[] };
const planReaders: Readonly<Record<string, (value: unknown) => PlanReading>> = {
  "plan/ceilings.yaml": readCeilingDocument,
  "plan/demand.yaml": readDemandDocument,
  "plan/plan.yaml": readPlanDocument,
  "plan/triggers.yaml": readTriggerDocument,
};

/** Problems that the reader of the file's kind finds. */
function problemsOf(file: string, value: unknown): readonly unknown[] {
  const folder = file.split("/")[0];
  if (folder === "cost") {
    const schema = file.endsWith("own-or-rent.yaml") ? tcoDocument : priceDocument;
    return schema.safeParse(value).error?.issues ?? [];
  }
  const readPlan = planReaders[file];
  if (readPlan !== undefined) {
    const read = readPlan(value);
    return read.kind === "read" ? [] : read.problems;
  }
  const reading = readDocument(value);
  return reading.ok ? [] : reading.problems;
}

describe("the examples' workload files", () => {
  it("are all here", () => {
    expect(files).toEqual([
      "cost/eight-h100.yaml",
      "cost/own-or-rent.yaml",
      "cost/owned-h100.yaml",
      "cost/tokens-and-storage.yaml",
      "mpi/allreduce.yaml",
      "plan/ceilings.yaml",
      "plan/demand.yaml",
      "plan/plan.yaml",
      "plan/triggers.yaml",
      "quickstart/train.yaml",
      "ray/cluster.yaml",
      "retraining/endpoint.yaml",
      "retraining/pipeline.yaml",
      "serving/endpoint.yaml",
      "serving/serve.yaml",
      "steps/pipeline.yaml",
      "torchrun/elastic.yaml",
      "torchrun/train.yaml",
      "vllm/serve.yaml",
    ]);
  });

  it.each(files)("%s reads without a problem", (file) => {
    const { documents, problems } = parseYaml(readFileSync(join(import.meta.dirname, file), "utf8"));
    expect(problems).toEqual([]);
    for (const { value } of documents) expect(problemsOf(file, value)).toEqual([]);
  });
});
