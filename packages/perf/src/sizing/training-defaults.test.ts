import { describe, expect, it } from "vitest";
import { trainingRecipe } from "../catalogue/recipes.ts";
import { findModel } from "../catalogue/models.ts";
import { compareTraining, completeTraining, type OpenTrainingSizing } from "./training-defaults.ts";
import { sizeTraining, type TrainingReport } from "./training.ts";

/** Llama 3 405B ran with 512 to 2,048 sequences a step, BLOOM with 192 to 2,048. */
const question = (model: string, acceleratorCount: number): OpenTrainingSizing & { readonly accelerator: string } => ({
  model,
  accelerator: "H100",
  acceleratorCount,
  method: { kind: "full" },
  format: "bf16",
  pricePerAcceleratorHour: 0,
  restartSeconds: 300,
  scaling: "strong",
  alternatives: false,
  checkpointOverlapped: false,
  checkpointGbPerS: 100,
  tiers: [],
});

function tokensPerS(asked: OpenTrainingSizing & { readonly accelerator: string }, globalBatch: number): number {
  const completed = completeTraining({ ...asked, globalBatch });
  return "answer" in completed && completed.answer.kind === "training" ? completed.answer.tokensPerS : 0;
}

describe("a recipe that allows a range of batches", () => {
  it.each([
    ["llama-3-405b", 512, [2048, 1024, 512]],
    ["llama-3-405b", 8192, [2048, 1024, 512]],
    ["bloom-176b", 384, [2048, 1024, 512, 256]],
  ])(
    "takes for %s on %d accelerators the smallest of %j that loses at most 2% of the throughput",
    (model, count, range) => {
      const asked = question(model, count);
      const completed = completeTraining(asked);
      if (!("answer" in completed)) throw new Error(completed.reason);
      const rates = range.map((batch) => tokensPerS(asked, batch));
      const enough = range.filter((_, at) => (rates[at] ?? 0) >= 0.98 * Math.max(...rates));
      expect(completed.question.globalBatch).toBe(Math.min(...enough));
      expect(completed.recipe?.globalBatch.usual).toBe(range[0]);
    },
  );
});

/**
 * Answers for every batch of the recipe. Each batch is tried on growing powers of two of accelerators, until the run
 * fits.
 */
function everyAnswer(model: string, accelerator: string): readonly TrainingReport[] {
  const architecture = findModel(model);
  if (architecture === undefined) throw new Error(`no model ${model}`);
  const { sequenceLength, globalBatch } = trainingRecipe(model, architecture);
  const { acceleratorCount: _count, ...open } = question(model, 1);
  const answers: TrainingReport[] = [];
  for (let batch = globalBatch.usual; batch >= globalBatch.least && Number.isInteger(batch); batch /= 2) {
    for (let acceleratorCount = 1; acceleratorCount <= 1024; acceleratorCount *= 2) {
      const asked = { ...open, accelerator, sequenceLength, globalBatch: batch, acceleratorCount };
      const answer = sizeTraining(asked);
      if (answer.kind !== "training" || answer.memory.verdict !== "fits") continue;
      answers.push(answer);
      break;
    }
  }
  return answers;
}

describe("a question without a number of accelerators", () => {
  it.each([
    ["llama-3.2-1b", "T4"],
    ["llama-3.2-1b", "H100"],
    ["llama-3-8b", "TPU-v5e"],
    ["llama-2-13b", "A100-40GB"],
    ["gpt-oss-20b", "L4"],
    ["gpt-oss-20b", "MI300X"],
    ["bloom-176b", "B200"],
  ])("gets for %s on %s the answer of an exhaustive search", (model, accelerator) => {
    const all = everyAnswer(model, accelerator);
    const best = Math.max(...all.map(({ tokensPerS }) => tokensPerS));
    const expected = all.findLast(({ tokensPerS }) => tokensPerS >= 0.98 * best);
    const { acceleratorCount: _count, ...open } = question(model, 1);
    const completed = completeTraining({ ...open, accelerator });
    expect(expected).toBeDefined();
    expect("answer" in completed ? completed.answer : completed).toEqual(expected);
  });

  it("reports every type of a comparison before it is answered", () => {
    const { acceleratorCount: _count, accelerator: _type, ...open } = question("llama-3.2-1b", 1);
    const seen: string[] = [];
    const compared = compareTraining(open, ({ done, total, accelerator }) => {
      expect(done).toBe(seen.length);
      seen.push(accelerator);
      expect(seen.length).toBeLessThanOrEqual(total);
    });
    if (!Array.isArray(compared)) throw new Error("no comparison");
    const answered = (compared as readonly { readonly question: { readonly accelerator: string } }[]).map(
      (each) => each.question.accelerator,
    );
    expect(seen.toSorted()).toEqual(answered.toSorted());
    expect(seen.length).toBeGreaterThan(30);
  });
});
