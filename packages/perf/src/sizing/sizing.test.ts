import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { modelNames } from "../catalogue/models.ts";
import { fitCorrection } from "../correction/fleet-correction.ts";
import { fabricRequest } from "../network/fabric-counts.ts";
import { answerSizing } from "./answer.ts";
import { sizeServing, type ServingReport, type ServingSizing } from "./serving.ts";
import { sizeTraining, type TrainingReport } from "./training.ts";
import type { TrainingSizing } from "./training-setting.ts";

const run: TrainingSizing = {
  model: "llama-3-70b",
  accelerator: "H100",
  acceleratorCount: 256,
  sequenceLength: 8192,
  globalBatch: 512,
  tokens: 1e12,
  method: { kind: "full" },
  format: "bf16",
  stack: "fused",
  pricePerAcceleratorHour: 2,
  restartSeconds: 300,
  scaling: "strong",
  checkpointOverlapped: false,
  checkpointGbPerS: 100,
  tiers: [],
};

const chat: ServingSizing = {
  model: "llama-3-70b",
  accelerator: "H200",
  weights: "fp8",
  promptTokens: 2000,
  outputTokens: 300,
  prefixHitShare: 0,
  requestsPerS: 20,
  ttftMs: 2000,
  tpotMs: 60,
  share: 0.95,
  pricePerAcceleratorHour: 3,
  weightsGbPerS: 5,
};

function trained(part: Partial<TrainingSizing>): TrainingReport {
  const answer = sizeTraining({ ...run, ...part });
  if (answer.kind === "impossible") throw new Error(answer.reason);
  return answer;
}

function served(part: Partial<ServingSizing>): ServingReport {
  const answer = sizeServing({ ...chat, ...part });
  if (answer.kind !== "serving") throw new Error(JSON.stringify(answer));
  return answer;
}

const profile: unknown = JSON.parse(
  readFileSync(new URL("../../../../examples/calibration/h200.json", import.meta.url), "utf8"),
);

const sum = (parts: object): number => Object.values(parts).reduce((total: number, part) => total + Number(part), 0);

describe("a training run", () => {
  it("has parts that add up, inside its own interval", () => {
    const { step, memory, run: whole, failures } = trained({});
    expect(sum(step.breakdown)).toBeCloseTo(step.seconds, 9);
    expect(sum(memory.breakdown) / memory.peakBytes).toBeCloseTo(1, 9);
    expect(step.interval.lowSeconds).toBeLessThan(step.seconds);
    expect(step.interval.highSeconds).toBeGreaterThan(step.seconds);
    expect(whole?.cost).toBeCloseTo((whole?.acceleratorHours ?? 0) * 2);
    expect((whole?.undisturbedDays ?? 0) / (whole?.days ?? 1)).toBeCloseTo(failures.goodputShare);
  });

  it("is never slower for more network, less oversubscription or faster storage", () => {
    const days = (part: Partial<TrainingSizing>): number => trained(part).run?.days ?? 0;
    expect(days({ nodeNetworkGbPerS: 800 })).toBeLessThanOrEqual(days({ nodeNetworkGbPerS: 100 }));
    expect(days({})).toBeLessThanOrEqual(days({ fabric: { leafOversubscription: 8, switchPorts: 32 } }));
    expect(days({ checkpointGbPerS: 500 })).toBeLessThan(days({ checkpointGbPerS: 10 }));
    expect(days({ checkpointOverlapped: true })).toBeLessThan(days({ checkpointGbPerS: 10 }));
  });

  it.each([
    [97, 8, 96],
    [1009, 512, 992],
    [1_048_576, 16, undefined],
  ])("of a batch that %i accelerators cannot share says how many can", (acceleratorCount, globalBatch, expected) => {
    const answer = sizeTraining({ ...run, model: "llama-3-8b", acceleratorCount, globalBatch });
    if (answer.kind !== "impossible") throw new Error("a prime of accelerators shares no batch");
    const count = Number(/^(\d+) accelerators/.exec(answer.nearest)?.[1]);
    if (expected !== undefined) expect(count).toBe(expected);
    expect(trained({ model: "llama-3-8b", acceleratorCount: count, globalBatch }).plan).toBeDefined();
  });

  it.each([
    ["llama-3-70b", 8, 12],
    ["llama-3-70b", 9, 12],
    ["llama-3-70b", 4, 12],
  ])(
    "of %s that fits on no %i accelerators names the next number with an answer",
    (model, acceleratorCount, expected) => {
      const asked = { ...run, model, accelerator: "H100", acceleratorCount, globalBatch: 4096, sequenceLength: 4096 };
      const answer = sizeTraining(asked);
      if (answer.kind !== "impossible") throw new Error("the model fits");
      expect(Number(/^(\d+) accelerators/.exec(answer.nearest)?.[1])).toBe(expected);
      for (let count = acceleratorCount + 1; count < expected; count++)
        expect(sizeTraining({ ...asked, acceleratorCount: count }).kind, String(count)).toBe("impossible");
      expect(sizeTraining({ ...asked, acceleratorCount: expected }).kind).not.toBe("impossible");
    },
  );

  it("saves adapters alone when only they are trained", () => {
    const bytes = (part: Partial<TrainingSizing>): number =>
      trained(part).storage.demand.parts.find(({ name }) => name === "checkpoint")?.capacityBytes ?? 0;
    // Three checkpoints take space: two that are kept and one that is being written. A checkpoint has 14 bytes for each
    // of 70.55e9 parameters.
    expect(bytes({}) / 3 / 14 / 70.55e9).toBeCloseTo(1, 2);
    expect(bytes({ method: { kind: "lora", rank: 16 } })).toBeLessThan(bytes({}) / 100);
  });

  it("says what it chose, how likely it runs out of memory and how far the evidence is", () => {
    const open = trained({});
    expect(open.chosen).toEqual(expect.arrayContaining(["tensor", "microBatch", "recomputation", "precision"]));
    expect(open.memory.outOfMemoryProbability).toBeLessThan(0.2);
    expect(open.evidence).toMatchObject({ isNear: true, nearest: expect.stringMatching(/^Hopper, fused/) });
    const stated = trained({ plan: { tensor: 8, pipeline: 4 } });
    expect(stated.plan).toMatchObject({ tensor: 8, pipeline: 4 });
    expect(stated.chosen).not.toContain("tensor");
    const far = trained({ accelerator: "Gaudi3" });
    expect(far.evidence.isNear).toBe(false);
    expect(far.warnings.join()).toMatch(/no measured run is like this one; the nearest are/);
    const width = ({ step }: TrainingReport): number => step.interval.highSeconds / step.interval.lowSeconds;
    expect(width(far)).toBeGreaterThan(width(open));
  });

  it("is corrected by what the fleet's own runs have shown", () => {
    const slow = {
      acceleratorType: "H100-SXM-80GB",
      family: "dense" as const,
      predictedSeconds: 1,
      measuredSeconds: 1.2,
    };
    const correction = fitCorrection(Array.from({ length: 20 }, () => slow));
    const [before, after] = [trained({}), trained({ correction })];
    expect(after.correction.runCount).toBe(20);
    expect(after.correction.factor).toBeGreaterThan(1.15);
    expect(after.step.seconds / before.step.seconds).toBeCloseTo(after.correction.factor, 9);
    expect(before.tokensPerS / after.tokensPerS).toBeCloseTo(after.correction.factor, 9);
    expect(after.scaling.points[0]?.stepSeconds).toBeGreaterThan(before.scaling.points[0]?.stepSeconds ?? 0);
    expect(trained({ accelerator: "A100", correction }).correction.factor).toBe(1);
  });

  it("steps down in the precision of gradients and moments where nothing else fits", () => {
    const tight = trained({ acceleratorCount: 16, globalBatch: 16, sequenceLength: 2048 });
    expect(tight.precision.gradientBytes + tight.precision.optimizerBytes).toBeLessThan(16);
  });

  it("warns when a tier starves it", () => {
    const tiers = [{ name: "slow", writeGbPerS: 1, source: "test" }];
    expect(trained({ tiers }).warnings).toContain("slow starves the job: write breaks first");
  });

  it.each([
    [{ pipeline: 8, virtualStages: 5 }, "--num-layers-per-virtual-pipeline-stage 2 "],
    [{ pipeline: 8, virtualStages: 7 }, "--pipeline-model-parallel-layout 'Et*2|(t*2|)*23(t|)*31tL' "],
    [{ pipeline: 32, virtualStages: 1 }, "--pipeline-model-parallel-layout 'Et*3|(t*3|)*15(t*2|)*15t*2L' "],
  ])("starts with every layer of llama-3-70b on a chunk: %j", (plan, argument) => {
    const launch = trained({ plan: { tensor: 8, microBatch: 1, ...plan } }).launch ?? "";
    expect(launch).toContain(argument);
    const [, layout] = /layout '(\S+)'/.exec(launch) ?? [];
    // As Megatron reads it: groups first, then letters.
    const whole = layout
      ?.replaceAll(/\(([^)]+)\)\*(\d+)/g, (_, group: string, times: string) => group.repeat(Number(times)))
      .replaceAll(/(.)\*(\d+)/g, (_, letter: string, times: string) => letter.repeat(Number(times)));
    if (whole === undefined) return;
    expect(whole.split("|").length).toBe(plan.pipeline * plan.virtualStages);
    expect(whole.replaceAll(/[^t]/g, "").length).toBe(80);
  });

  it("is sized for every preset on enough accelerators", () => {
    for (const model of modelNames) {
      const answer = sizeTraining({ ...run, model, acceleratorCount: 2048, globalBatch: 2048, sequenceLength: 2048 });
      expect([model, answer.kind]).toEqual([model, "training"]);
    }
  });

  it.each([
    [{ acceleratorCount: 8 }, /needs at least .* GiB on each of 8/, /accelerators/],
    [{ plan: { tensor: 128, data: 2 } }, /tensor 128 does not divide the 64 attention heads/, /tensor \d+/],
    [{ plan: { expert: 8 } }, /the model has no experts to divide over 8 ranks/, /./],
    [{ plan: { tensor: 8, data: 64 } }, /512 accelerators and there are 256/, /tensor 8/],
    [{ profile: { kind: "x" } }, /not a calibration profile/, /headroom calibrate/],
    [{ catalogue: { accelerators: [{ name: "X" }] } }, /accelerators\[0\]\.source must be a text/, /catalogue file/],
    [{ fabric: { switchPorts: 4 } }, /more than three tiers of 4-port switches join|a node has 8 ports/, /./],
  ] satisfies [Partial<TrainingSizing>, RegExp, RegExp][])(
    "that cannot be says what could: %j",
    (part, reason, nearest) => {
      const answer = sizeTraining({ ...run, ...part });
      expect(answer).toMatchObject({
        kind: "impossible",
        reason: expect.stringMatching(reason),
        nearest: expect.stringMatching(nearest),
      });
    },
  );
});

describe("an endpoint", () => {
  it("costs what its accelerators cost, the cheapest first", () => {
    const { plans } = served({});
    for (const plan of plans) expect(plan.costPerHour).toBeCloseTo(plan.acceleratorCount * 3);
    const costs = plans.map(({ costPerHour }) => costPerHour);
    expect(costs).toEqual(costs.toSorted((a, b) => a - b));
  });

  it("is predicted with what was measured where a profile is given", () => {
    const [fitted, measured] = [served({}), served({ profile })];
    expect([fitted.isCalibrated, measured.isCalibrated]).toEqual([false, true]);
    expect(measured.best.step.totalMs).not.toBe(fitted.best.step.totalMs);
  });
});

const photo = {
  name: "photo-8b",
  config: {
    model_type: "llava",
    vision_config: { hidden_size: 1024 },
    text_config: {
      model_type: "llama",
      num_hidden_layers: 32,
      hidden_size: 4096,
      num_attention_heads: 32,
      num_key_value_heads: 8,
      intermediate_size: 14_336,
      vocab_size: 128_256,
    },
  },
};

describe("a multimodal model", () => {
  it("is sized by its language model, and the answer says so", () => {
    const notice =
      "only the language model of photo-8b is sized, without the time and memory of its other parts: vision";
    expect(trained({ model: photo }).warnings).toContain(notice);
    expect(served({ model: photo }).chosen).toContain(notice);
    expect(trained({}).warnings).toEqual([]);
  });
});

const datasheet = (vendor: string): unknown => ({
  accelerators: [
    {
      name: "Next-1",
      vendor,
      year: 2027,
      denseTflops: { bf16: 3000, fp8: 6000 },
      memoryGib: 432,
      memoryGbPerS: 16_000,
      scaleUp: { kind: "switched", name: "link", gbPerS: 1800, domainCount: 72 },
      scaleOutGbPerS: 100,
      source: "datasheet",
    },
  ],
});

describe("an accelerator of which only the datasheet is known", () => {
  const next = { accelerator: "Next-1", catalogue: datasheet("Example") };
  const ratio = ({ low, high }: { readonly low: number; readonly high: number }): number => high / low;

  it("is sized for training and serving, with a wider interval and no near evidence", () => {
    const [run, known] = [trained(next), trained({})];
    const interval = ({ step }: TrainingReport): number =>
      ratio({ low: step.interval.lowSeconds, high: step.interval.highSeconds });
    expect([run.evidence.isNear, known.evidence.isNear]).toEqual([false, true]);
    expect(interval(run)).toBeGreaterThan(interval(known));
    const [endpoint, measured] = [served(next), served({})];
    expect([endpoint.evidence.isNear, measured.evidence.isNear]).toEqual([false, true]);
    expect(ratio(endpoint.best.tpotIntervalMs)).toBeGreaterThan(ratio(measured.best.tpotIntervalMs));
  });

  it("is not sized for serving if the vendor's compiler plans whole programs", () => {
    expect(sizeServing({ ...chat, accelerator: "Next-1", catalogue: datasheet("Google") })).toMatchObject({
      kind: "unknown",
      reasons: [expect.stringContaining("its compiler plans whole programs")],
    });
  });
});

describe("a stated layout that cannot run", () => {
  it("is refused with the reason, and not for its latency", () => {
    const layout = { tensor: 3, pipeline: 1, attentionData: 1, expert: 1 };
    expect(sizeServing({ ...chat, layout })).toMatchObject({
      kind: "impossible",
      reason:
        "the layout cannot run on H200; tensor 3, pipeline 1: tensor 3 does not divide the 64 attention heads; 2 does",
    });
  });

  it("is refused in general if the requests fit no layout", () => {
    expect(sizeServing({ ...chat, promptTokens: 1e8 })).toMatchObject({
      kind: "impossible",
      reason: expect.stringMatching(
        /^no layout can run on H200, such as tensor 8, .* positions that llama-3-70b knows/,
      ),
    });
  });

  it("of separate workers says that the traffic is too much", () => {
    expect(served({ requestsPerS: 1e9 }).disaggregated).toEqual({
      kind: "impossible",
      reason: "the traffic needs more than 65536 workers",
    });
  });
});

describe("a fabric under a mix", () => {
  const jobs = [
    {
      model: "llama-3-8b",
      share: 1,
      scaling: "weak",
      acceleratorCount: 64,
      sequenceLength: 4096,
      globalBatch: 64,
      format: "bf16",
      stack: "eager",
    },
  ] as const;

  it("is looked at up to its own size", () => {
    const network = fabricRequest({ nodeCount: 256 });
    const answer = answerSizing({ kind: "network", network, mix: { accelerator: "H100", lossShare: 0.1, jobs } });
    if (answer.kind !== "network") throw new Error(answer.kind);
    expect(answer.wall?.points.map(({ nodeCount }) => nodeCount)).toEqual([8, 16, 32, 64, 128, 256]);
  });

  it("is refused with a job that has no plan", () => {
    const network = fabricRequest({ nodeCount: 256 });
    const tooSmall = jobs.map((job) => ({ ...job, model: "llama-3-405b", acceleratorCount: 8 }));
    const mix = { accelerator: "H100", lossShare: 0.1, jobs: tooSmall };
    expect(answerSizing({ kind: "network", network, mix })).toMatchObject({ kind: "impossible" });
  });
});
