import { describe, expect, it } from "vitest";
import { planProblems } from "../feasibility.ts";
import { acceleratorCountOf, acceleratorOf, type ParallelPlan, type TrainingJob, type TrainingSystem } from "../job.ts";
import { estimateMemory, fitVerdict } from "../memory.ts";
import { scalingCurve } from "../scaling.ts";
import { estimateStep } from "../step.ts";
import { deepSeekV3, gpt175b, gptModel, jobOf, planWith, qwen3Large, systemOf } from "../testing/jobs.ts";
import { searchBestPlan } from "./best.ts";
import { advise, couldHold, nearestPlan } from "./nearest.ts";
import { searchPareto } from "./pareto.ts";
import {
  divisorsOf,
  layerChoices,
  planOf,
  shardChoices,
  sharingCount,
  stageChoices,
  wholeSpace,
  type SearchSpace,
} from "./space.ts";

type Choices = { readonly [Field in keyof ParallelPlan]?: readonly ParallelPlan[Field][] };

/** Every combination of the given values of the choices. */
function combinations(choices: Choices): readonly Partial<ParallelPlan>[] {
  let all: readonly Partial<ParallelPlan>[] = [{}];
  for (const [field, values] of Object.entries(choices)) {
    all = all.flatMap((partial) => values.map((value) => ({ ...partial, [field]: value })));
  }
  return all;
}

/**
 * All plans that would be feasible with unlimited memory. They are listed directly from the rules, without bounds, in
 * no special order, and without leaving out plans that other plans dominate.
 */
function everyPlan(job: TrainingJob, system: TrainingSystem, count: number): readonly ParallelPlan[] {
  const divisors = divisorsOf(count);
  const layouts = combinations({
    tensor: divisors,
    pipeline: divisors,
    context: divisors.filter((ranks) => ranks === 1 || job.sequenceLength / ranks >= 1024),
  }).flatMap((layout) => {
    const data = count / ((layout.tensor ?? 1) * (layout.pipeline ?? 1) * (layout.context ?? 1));
    return Number.isSafeInteger(data) ? [{ ...layout, data }] : [];
  });
  return layouts.flatMap((layout) =>
    combinations({
      expert: job.model.experts === undefined ? [1] : divisorsOf(job.model.experts.count),
      microBatch: divisorsOf(job.globalBatch),
      virtualStages: divisorsOf(Math.ceil(job.model.layerCount / (layout.pipeline ?? 1))),
      schedule: (layout.pipeline ?? 1) > 1 ? ["1f1b", "interleaved", "zero-bubble"] : ["1f1b"],
      zeroStage: [0, 1, 2, 3],
      recomputation: ["none", "selective", "partial", "full"],
    })
      .map((rest) => planWith({ ...layout, ...rest }))
      .filter((plan) => planProblems(job, plan, system).every(({ kind }) => kind === "outOfMemory")),
  );
}

/** Every plan of a search space, even if it needs too much memory. */
function plansOfSpace(job: TrainingJob, system: TrainingSystem, space: SearchSpace): readonly ParallelPlan[] {
  return layerChoices(job, space).flatMap((choice) =>
    stageChoices(job, space, choice).flatMap((stage) =>
      shardChoices(space, choice, stage, sharingCount(system)).flatMap((shards) =>
        space.recomputations.map((recomputation) => planOf(choice, stage, shards, recomputation)),
      ),
    ),
  );
}

function everyFittingPlan(job: TrainingJob, system: TrainingSystem, count: number): readonly ParallelPlan[] {
  const { accelerator } = system.cluster.node;
  return everyPlan(job, system, count)
    .filter((plan) => planProblems(job, plan, system).length === 0)
    .filter((plan) => fitVerdict(estimateMemory(job, plan), accelerator) === "fits");
}

const small: readonly (readonly [string, TrainingJob, string, number])[] = [
  ["a GPT on eight accelerators", jobOf(gptModel(24, 2048, 16), 2048, 48), "A100-40", 8],
  ["a large one on sixteen", jobOf(gptModel(40, 5120, 40), 4096, 32), "H100", 16],
  ["a long sequence", jobOf(gptModel(32, 4096, 32), 16384, 16), "H100", 16],
  [
    "unfused attention",
    { ...jobOf(gptModel(24, 4096, 32), 2048, 32), software: { stack: "eager", attention: "unfused" } },
    "A100",
    8,
  ],
  ["a model with experts", jobOf({ ...qwen3Large, layerCount: 12 }, 4096, 32), "H100", 16],
  [
    "low-rank fine-tuning",
    { ...jobOf(gptModel(80, 8192, 64), 4096, 16), method: { kind: "lora", rank: 16 } },
    "H100",
    8,
  ],
];

describe("the best plan", () => {
  it.each(small)("of %s equals exhaustive enumeration", (_, job, accelerator, count) => {
    const system = systemOf(accelerator, count);
    const all = everyFittingPlan(job, system, count);
    const least = Math.min(...all.map((plan) => estimateStep(job, plan, system).seconds));
    const result = searchBestPlan(job, system);
    expect(result.kind).toBe("found");
    if (result.kind !== "found") return;
    expect(all.length).toBeGreaterThan(20);
    expect(result.best.step.seconds).toBe(least);
    expect(result.effort.evaluatedCount).toBeLessThan(all.length);
  });

  it.each([
    ["GPT-3 175B on 512 accelerators", jobOf(gpt175b, 2048, 1536), "A100", 512],
    ["DeepSeek-V3 on 2,048", jobOf(deepSeekV3, 4096, 8192), "H100", 2048],
  ] as const)("of %s is feasible and uses all of them", (_, job, accelerator, count) => {
    const system = systemOf(accelerator, count);
    const result = searchBestPlan(job, system);
    expect(result.kind).toBe("found");
    if (result.kind !== "found") return;
    expect(planProblems(job, result.best.plan, system)).toEqual([]);
    expect(acceleratorCountOf(result.best.plan)).toBe(count);
  });

  it.each<readonly [string, TrainingJob, string, number]>([
    ["a GPT on eight accelerators", jobOf(gptModel(48, 12_288, 96), 2048, 16), "A100-40", 8],
    ["a long sequence", jobOf(gptModel(32, 8192, 32), 16_384, 8), "A100-40", 8],
    ["a model with experts", jobOf(qwen3Large, 4096, 16), "A100-40", 8],
    [
      "plain modules with unfused attention",
      { ...jobOf(gptModel(48, 12_288, 96), 2048, 16), software: { stack: "eager", attention: "unfused" } },
      "A100-40",
      8,
    ],
  ])("of %s that does not fit needs the least memory of all plans", (_, job, accelerator, count) => {
    const system = systemOf(accelerator, count);
    const all = plansOfSpace(job, system, wholeSpace(job, system, count));
    const result = searchBestPlan(job, system);
    expect(result.kind).toBe("nothingFits");
    if (result.kind !== "nothingFits") return;
    const least = Math.min(...all.map((plan) => estimateMemory(job, plan).peakBytes));
    expect(result.least?.neededGib).toBe(least / 2 ** 30);
    expect(all.length).toBeGreaterThan(20);
    expect(result.effort.evaluatedCount).toBe(0);
  });

  it("bounds the time of no choice whose state and activations alone exceed the memory", () => {
    const job = jobOf(deepSeekV3, 4096, 15_360);
    const boundedShare = (count: number): number => {
      const system = systemOf("H100", count);
      const result = searchBestPlan(job, system);
      if (result.kind === "refused" || result.effort.boundedCount === undefined) return Number.NaN;
      return result.effort.boundedCount / layerChoices(job, wholeSpace(job, system, count)).length;
    };
    expect(boundedShare(8)).toBeLessThan(0.02);
    expect(boundedShare(512)).toBeGreaterThan(0);
    expect(boundedShare(512)).toBeLessThan(1 / 2);
  });

  it.each([
    { method: "full", model: deepSeekV3, name: "H100" },
    { method: "lora", model: deepSeekV3, name: "H100" },
    { method: "full", model: qwen3Large, name: "A100-40" },
    { method: "lora", model: qwen3Large, name: "A100-40" },
    { method: "full", model: gpt175b, name: "A100-40" },
    { method: "lora", model: gpt175b, name: "A100-40" },
  ] as const)("excludes no count on which a plan fits: $method, $model.name on $name", ({ method, model, name }) => {
    const asked: TrainingJob["method"] = method === "lora" ? { kind: "lora", rank: 16 } : { kind: "full" };
    const job = { ...jobOf(model, 4096, 512), method: asked };
    let excluded = 0;
    for (let count = 1; count <= 512; count *= 2) {
      const system = systemOf(name, count);
      if (couldHold(job, acceleratorOf(system), count)) continue;
      excluded++;
      expect(searchBestPlan(job, system).kind, `${count}`).toBe("nothingFits");
    }
    expect(excluded).toBeGreaterThan(0);
  });

  it("says what is missing where nothing fits, and refuses nonsense", () => {
    const nothing = searchBestPlan(jobOf(gpt175b, 2048, 8), systemOf("A100-40", 8));
    expect(nothing.kind).toBe("nothingFits");
    if (nothing.kind === "nothingFits") expect(nothing.least?.neededGib ?? 0).toBeGreaterThan(40 / 1.1);
    const refused = searchBestPlan(jobOf(gpt175b, 0, -3), systemOf("A100-40", 8));
    expect(refused).toEqual({
      kind: "refused",
      problems: [
        { kind: "nonsense", field: "sequenceLength", value: 0 },
        { kind: "nonsense", field: "globalBatch", value: -3 },
      ],
    });
    const { cluster } = systemOf("H100", 8);
    const empty = searchBestPlan(jobOf(gpt175b, 2048, 8), { cluster: { ...cluster, nodeCount: 0 } });
    expect(empty).toEqual({ kind: "refused", problems: [{ kind: "noAccelerators", count: 0 }] });
  });
});

describe("the Pareto set", () => {
  it("equals that of exhaustive enumeration", () => {
    const [, job, accelerator, count] = small[0] ?? ["", jobOf(gpt175b, 2048, 8), "H100", 8];
    const system = systemOf(accelerator, count);
    const counts = [2, 4, 8];
    const points = counts.flatMap((size) =>
      everyFittingPlan(job, system, size)
        .filter((plan) => acceleratorCountOf(plan) === size)
        .map((plan) => {
          const { seconds } = estimateStep(job, plan, system);
          return [seconds, estimateMemory(job, plan).peakBytes, seconds * size] as const;
        }),
    );
    const isBeaten = (a: readonly number[]): boolean =>
      points.some(
        (b) => b.every((value, axis) => value <= (a[axis] ?? 0)) && b.some((value, axis) => value < (a[axis] ?? 0)),
      );
    const expected = new Set(points.filter((point) => !isBeaten(point)).map((point) => point.join(" ")));
    const result = searchPareto(job, system, { acceleratorCounts: counts, pricePerAcceleratorHour: 3600 });
    expect(result.kind).toBe("front");
    if (result.kind !== "front") return;
    const found = result.points.map(({ step, memory, cost }) => [step.seconds, memory.peakBytes, cost].join(" "));
    expect(new Set(found)).toEqual(expected);
  });
});

describe("a plan that cannot be", () => {
  const job = jobOf(gpt175b, 2048, 1536);
  const system = systemOf("A100", 512);
  const cases: readonly (readonly [string, Partial<ParallelPlan>])[] = [
    ["tensorDoesNotDivideHeads", { tensor: 64, data: 8 }],
    ["pipelineExceedsLayers", { pipeline: 128, tensor: 4 }],
    ["batchDoesNotDivide", { tensor: 8, pipeline: 8, data: 8, microBatch: 5 }],
    ["tooManyAccelerators", { tensor: 8, pipeline: 8, data: 32 }],
    ["shardingUnderPipeline", { tensor: 8, pipeline: 8, data: 8, zeroStage: 3 }],
    ["contextDoesNotDivideSequence", { tensor: 8, pipeline: 8, context: 3 }],
    ["expertsDoNotDivide", { tensor: 8, pipeline: 8, data: 8, expert: 4 }],
    [
      "interleavingNeedsGroups",
      { tensor: 8, pipeline: 8, data: 8, microBatch: 16, virtualStages: 2, schedule: "interleaved" },
    ],
    ["scheduleNeedsChunks", { tensor: 8, pipeline: 8, data: 8, virtualStages: 3 }],
    ["outOfMemory", { tensor: 2, pipeline: 2, data: 128 }],
    ["notACount", { tensor: 0, pipeline: 8, data: 8 }],
    ["notACount", { tensor: Number.NaN, pipeline: 8, data: 8 }],
  ];

  it.each(cases)("is told why (%s) and given the nearest that works", (kind, change) => {
    const plan = planWith(change);
    const advice = advise(job, plan, system);
    expect(advice.problems.map((problem) => problem.kind)).toContain(kind);
    expect(advice.nearest).toBeDefined();
    if (advice.nearest !== undefined) expect(planProblems(job, advice.nearest, system)).toEqual([]);
  });

  it("keeps its nearest neighbour close: only the tensor ranks move where they alone were wrong", () => {
    const plan = planWith({ tensor: 8, pipeline: 8, data: 8, microBatch: 2 });
    expect(nearestPlan(job, plan, system)).toEqual({ ...plan, shardCount: 8 });
  });

  it("of a model that fits nowhere says how many accelerators would do", () => {
    const tiny = systemOf("A100-40", 8);
    const advice = advise(jobOf(gpt175b, 2048, 64), planWith({ tensor: 8 }), tiny);
    expect(advice.nearest).toBeUndefined();
    expect(advice.smallestCount).toBe(128);
  });
});

describe("scaling", () => {
  it("of a fixed batch hits a wall and names the resource", () => {
    const curve = scalingCurve(jobOf(gptModel(32, 4096, 32), 4096, 256), systemOf("H100", 2048), {
      kind: "strong",
      acceleratorCounts: [8, 16, 32, 64, 128, 256, 512, 1024, 2048],
    });
    expect(curve.points.length).toBeGreaterThan(5);
    expect(curve.wall).toBeDefined();
    expect(curve.wall?.gainPerDoubling).toBeLessThan(1.6);
    const speeds = curve.points.map((point) => point.tokensPerSecond);
    expect(curve.points[0]?.efficiency).toBe(1);
    expect(speeds.length).toBe(curve.points.length);
  });

  it("of a batch that grows with the accelerators goes on", () => {
    const curve = scalingCurve(jobOf(gptModel(32, 4096, 32), 4096, 64), systemOf("H100", 512), {
      kind: "weak",
      acceleratorCounts: [8, 32, 128, 512],
    });
    expect(curve.wall).toBeUndefined();
    expect(curve.points.at(-1)?.efficiency ?? 0).toBeGreaterThan(0.85);
  });
});
