import { describe, expect, it } from "vitest";
import { pathText, readDocument, workloadDocument } from "../index.ts";

const train = (fields: object): object => ({
  kind: "train",
  name: "a",
  run: "true",
  gang: { accelerators: 8 },
  ...fields,
});

function problemsIn(value: unknown): string[] {
  const reading = readDocument(value);
  return reading.ok ? [] : reading.problems.map(({ path, message }) => `${pathText(path)}: ${message}`);
}

describe("model", () => {
  it("is read beside the workload and is no part of it", () => {
    const named = readDocument(train({ model: { preset: "llama-3-8b", globalBatch: 512, plan: { tensor: 4 } } }));
    const plain = readDocument(train({}));
    if (!named.ok || !plain.ok || named.document.kind !== "workload" || plain.document.kind !== "workload") {
      throw new Error("both are fine");
    }
    expect(named.document.model).toMatchObject({
      preset: "llama-3-8b",
      sequence: 4096,
      precision: null,
      loraRank: null,
    });
    expect(named.document.model?.plan).toMatchObject({ tensor: 4, pipeline: null });
    expect(named.document.spec).toEqual(plain.document.spec);
    expect(plain.document).not.toHaveProperty("model");
    expect(workloadDocument(named.document.spec)).not.toHaveProperty("model");
  });

  it.each([
    [{}, "model.globalBatch: is required"],
    [{ globalBatch: 8 }, "model: needs preset or config"],
    [
      { globalBatch: 8, preset: "x", config: "y" },
      "model.config: cannot be combined with preset: give only one of them",
    ],
    [{ globalBatch: 0, preset: "x" }, "model.globalBatch: must be between 1 and 10000000, got 0"],
    [{ batch: 8, globalBatch: 8, preset: "x" }, "model.batch: unknown field; did you mean globalBatch?"],
    [{ globalBatch: 8, preset: "x", stack: "fast" }, 'model.stack: must be fused, eager or compiled, got "fast"'],
    [{ globalBatch: 8, preset: "x", plan: { tp: 2 } }, "model.plan.tp: unknown field; did you mean tensor?"],
    [{ globalBatch: 8, preset: "x", plan: { zeroStage: 4 } }, "model.plan.zeroStage: must be 0, 1, 2 or 3, got 4"],
    [{ globalBatch: 8, preset: "x", oversubscription: 0.5 }, "model.oversubscription: must be at least 1, got 0.5"],
    [{ globalBatch: 8, preset: "x", tokens: -1 }, "model.tokens: must be above 0, got -1"],
    [
      { globalBatch: 8, preset: "x", storage: "big" },
      "model.storage: must be a list like [{ name: scratch, readGbPerS: 100, writeGbPerS: 50 }]",
    ],
  ])("%j: %s", (model, message) => {
    expect(problemsIn(train({ model }))).toEqual([message]);
  });

  it("needs whole accelerators to train on", () => {
    const model = { preset: "x", globalBatch: 8 };
    expect(problemsIn(train({ model, gang: {} }))).toEqual([
      "model: needs gang.accelerators: the number of accelerators that each worker trains on",
    ]);
    expect(problemsIn(train({ model, gang: { share: 0.5 } }))).toEqual([
      "model: needs whole accelerators, not gang.share",
    ]);
    expect(problemsIn(train({ model, gang: { profile: "1g.10gb" } }))).toEqual([
      "model: needs whole accelerators, not gang.profile",
    ]);
  });
});
