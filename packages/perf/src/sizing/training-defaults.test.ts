import { describe, expect, it } from "vitest";
import { completeTraining, type OpenTrainingSizing } from "./training-defaults.ts";

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
