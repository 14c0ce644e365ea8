import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expertLayerParameters, parameterCounts } from "../catalogue/model.ts";
import type { ModelArchitecture } from "../catalogue/model.ts";
import type { Recomputation, TrainingJob } from "./job.ts";
import { estimateMemory, fitVerdict, leastStateBytes, leastWorkingBytes } from "./memory.ts";
import { layersOnStage } from "./parameters.ts";
import { acceleratorNamed, deepSeekV3, gpt175b, gptModel, jobOf, planWith, qwen3Large } from "./testing/jobs.ts";

const job = jobOf(gptModel(24, 2048, 16), 2048, 512);
const { total } = parameterCounts(job.model);

describe("model states", () => {
  it("take 18 bytes per parameter with fp32 gradients, and 6 + 12/d with a sharded optimizer", () => {
    const states = (zeroStage: 0 | 1 | 2 | 3, data: number): number => {
      const { weights, gradients, optimizer } = estimateMemory(job, planWith({ data, zeroStage })).first.breakdown;
      return (weights + gradients + optimizer) / total;
    };
    // Numbers from ZeRO (arXiv 1910.02054, §5), but with gradients of 4 bytes. They agree except for norms and
    // positions.
    expect(states(0, 8)).toBeCloseTo(18, 2);
    expect(states(1, 8)).toBeCloseTo(6 + 12 / 8, 2);
    expect(states(2, 8)).toBeCloseTo(2 + 16 / 8, 2);
    expect(states(3, 8)).toBeCloseTo(18 / 8, 2);
  });

  it("of experts are all there once over the accelerators of a fully sharded plan", () => {
    for (const expert of [1, 4, 8]) {
      const plan = planWith({ data: 8, zeroStage: 3, expert, shardCount: 8 });
      const mixture = { ...jobOf(qwen3Large, 2048, 512), method: { kind: "lora" as const, rank: 1 } };
      const { weights } = estimateMemory(mixture, plan).first.breakdown;
      expect((8 * weights) / (2 * parameterCounts(qwen3Large).total)).toBeCloseTo(1, 2);
    }
  });

  it("of LoRA are little more than the frozen weights", () => {
    const lora = { ...job, method: { kind: "lora" as const, rank: 16 } };
    const { weights, gradients, optimizer } = estimateMemory(lora, planWith({})).first.breakdown;
    expect(weights / total).toBeCloseTo(2, 5);
    expect((gradients + optimizer) / weights).toBeLessThan(0.15);
  });
});

describe("activations", () => {
  it("of GPT are 32 bytes per token and hidden element and layer (34 with dropout masks, arXiv 2205.05198)", () => {
    const { activations } = estimateMemory(job, planWith({})).first.breakdown;
    expect(activations / (2048 * 2048 * 25)).toBeCloseTo(32, 5);
  });

  it("on the first of p stages are those of all layers under 1F1B", () => {
    const of = (pipeline: number): number => estimateMemory(job, planWith({ pipeline })).first.breakdown.activations;
    expect(of(4) / of(1)).toBeGreaterThanOrEqual(1);
    expect(of(4) / of(1)).toBeLessThan(1 + 4 / 24);
  });

  it("shrink from one level of recomputation to the next", () => {
    const levels: readonly Recomputation[] = ["none", "selective", "partial", "full"];
    const sizes = levels.map((recomputation) => estimateMemory(job, planWith({ recomputation })).peakBytes);
    expect(sizes).toEqual(sizes.toSorted((a, b) => b - a));
    expect(new Set(sizes).size).toBe(4);
  });
});

describe("a model whose first layers are dense", () => {
  const wide = jobOf(deepSeekV3, 4096, 4096);

  it("needs the most memory on the first stage on which every layer has experts, if the experts take the most", () => {
    const plan = planWith({ tensor: 2, pipeline: 16, data: 32, expert: 8, recomputation: "selective" });
    const { first, last, fullest, peakBytes } = estimateMemory(wide, plan);
    const perLayer = expertLayerParameters(deepSeekV3);
    const rank = (61 / 16) * ((perLayer.total - perLayer.expertsTotal) / 2 + perLayer.expertsTotal / 8);
    expect(fullest.breakdown.weights / (2 * rank)).toBeCloseTo(1, 12);
    expect(peakBytes).toBe(fullest.bytes);
    expect(peakBytes).toBeGreaterThan(1.3 * Math.max(first.bytes, last.bytes));
    // One stage after the first: one micro-batch less is in flight.
    expect(fullest.breakdown.activations).toBeLessThan(first.breakdown.activations);
    expect(fullest.breakdown.activations / first.breakdown.activations).toBeGreaterThan(15 / 16);
  });

  it("needs the most on the first stage if the experts are spread widely, and has none between two stages", () => {
    const spread = estimateMemory(wide, planWith({ pipeline: 16, data: 128, expert: 64, recomputation: "selective" }));
    expect(spread.fullest).toBe(spread.first);
    const two = estimateMemory(wide, planWith({ tensor: 8, pipeline: 2, data: 32, expert: 8 }));
    expect([two.first, two.last]).toContain(two.fullest);
  });
});

describe("the estimate", () => {
  it("is the sum of its parts, and never grows with more ranks to share", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(gpt175b, qwen3Large),
        fc.integer({ min: 0, max: 2 }),
        fc.integer({ min: 0, max: 5 }),
        fc.constantFrom<0 | 1 | 2 | 3>(0, 1, 2, 3),
        (model, tensor, data, zeroStage) => {
          const plan = (t: number, d: number): ReturnType<typeof planWith> =>
            planWith({ tensor: 2 ** t, data: 2 ** d, zeroStage });
          const at = (t: number, d: number): ReturnType<typeof estimateMemory> =>
            estimateMemory(jobOf(model, 4096, 512), plan(t, d));
          const here = at(tensor, data);
          const sum = Object.values(here.first.breakdown).reduce((all, part) => all + part, 0);
          expect(sum / here.first.bytes).toBeCloseTo(1, 12);
          expect(at(tensor + 1, data).peakBytes).toBeLessThanOrEqual(here.peakBytes);
          expect(at(tensor, data + 1).peakBytes).toBeLessThanOrEqual(here.peakBytes * (1 + 1e-12));
        },
      ),
    );
  });

  it("is judged the same or better with more memory", () => {
    const order = ["does not fit", "tight", "fits"];
    const verdict = (memoryGib: number): number =>
      order.indexOf(fitVerdict(estimateMemory(job, planWith({})), { ...acceleratorNamed("H100"), memoryGib }));
    const verdicts = [16, 24, 32, 40, 48, 56, 64, 80, 141, 288].map(verdict);
    expect(verdicts).toEqual(verdicts.toSorted((a, b) => a - b));
    expect(new Set(verdicts).size).toBeGreaterThan(1);
  });
});

/**
 * The two models of nanotron's runs in the Ultra-Scale Playbook of Hugging Face, with 1.34 and 8.86 billion parameters.
 */
const playbook = {
  small: { layerCount: 16, hidden: 2048, ffnHidden: 8192, hasTiedEmbeddings: true },
  large: { layerCount: 32, hidden: 4096, ffnHidden: 14_336, hasTiedEmbeddings: false },
} as const;

function nanotronJob(size: keyof typeof playbook): TrainingJob {
  const shape = playbook[size];
  const model: ModelArchitecture = {
    ...gptModel(shape.layerCount, shape.hidden, 32),
    ...shape,
    isFfnGated: true,
    vocabulary: 131_072,
    learnedPositions: 0,
  };
  return { ...jobOf(model, 4096, 256), software: { stack: "eager", attention: "flash", library: "nanotron" } };
}

describe("nanotron", () => {
  it("balances stages by compute: the output layer counts as 4 layers of the small model and 2.2 of the large one", () => {
    const first = (size: keyof typeof playbook, pipeline: number): number =>
      layersOnStage(nanotronJob(size), planWith({ pipeline }), "first");
    expect([2, 4, 8].map((pipeline) => first("small", pipeline))).toEqual([10, 5, 3]);
    expect([2, 4, 8, 16, 32].map((pipeline) => first("large", pipeline))).toEqual([18, 9, 5, 3, 2]);
    expect(layersOnStage(nanotronJob("small"), planWith({ pipeline: 4 }), "last")).toBe(1);
  });

  it.each([
    ["small", { data: 8, microBatch: 2, zeroStage: 0 }, 50.2],
    ["large", { tensor: 4, data: 32, microBatch: 1, zeroStage: 0 }, 51.4],
    ["large", { pipeline: 16, data: 8, microBatch: 1, zeroStage: 1 }, 50.8],
    ["large", { tensor: 16, pipeline: 4, data: 8, microBatch: 4, zeroStage: 1 }, 9.2],
    ["large", { tensor: 16, pipeline: 4, data: 4, microBatch: 8, zeroStage: 1 }, 17.1],
  ] as const)("%s model on %o: within 3%% of the measured %f GiB", (size, part, measuredGib) => {
    const estimate = estimateMemory(nanotronJob(size), planWith(part));
    expect(Math.abs(estimate.first.bytes / 2 ** 30 / measuredGib - 1)).toBeLessThan(0.03);
  });

  it("gathers inputs again under selective recomputation, so that a run of wide tensor parallelism needs less", () => {
    const peak = (recomputation: Recomputation): number =>
      estimateMemory(nanotronJob("large"), planWith({ tensor: 16, microBatch: 8, recomputation })).peakBytes;
    expect(peak("selective")).toBeLessThan(0.7 * peak("none"));
  });

  it("has lower bounds that hold for every plan", () => {
    fc.assert(
      fc.property(
        fc.constantFrom<keyof typeof playbook>("small", "large"),
        fc.record({
          tensor: fc.constantFrom(1, 2, 8, 32),
          pipeline: fc.constantFrom(1, 2, 4, 8, 16),
          data: fc.constantFrom(1, 2, 16),
          microBatch: fc.constantFrom(1, 2, 8),
          zeroStage: fc.constantFrom<0 | 1>(0, 1),
          recomputation: fc.constantFrom<Recomputation>("none", "selective", "full"),
        }),
        (size, part) => {
          const job = nanotronJob(size);
          const plan = planWith(part);
          const state = leastStateBytes(job, { ...plan, microBatch: 1 });
          const working = leastWorkingBytes(job, { ...plan, microBatch: 1 });
          const least = Math.max(state.first, state.last + working.logits * plan.microBatch);
          const bound = least + working.layers * plan.microBatch + working.runtime;
          expect(bound).toBeLessThanOrEqual(estimateMemory(job, plan).peakBytes * (1 + 1e-12));
        },
      ),
    );
  });
});
