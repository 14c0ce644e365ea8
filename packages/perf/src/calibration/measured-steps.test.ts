/**
 * Whole training steps measured on the machine of the example profile. No constant was fitted to them, so the model's
 * results, with and without the profile, are predictions.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { findAccelerator } from "../catalogue/accelerators.ts";
import type { ModelArchitecture } from "../catalogue/model.ts";
import { usualCluster } from "../catalogue/nodes.ts";
import { estimateMemory } from "../training/memory.ts";
import type { ParallelPlan, Recomputation, TrainingJob, TrainingSystem } from "../training/job.ts";
import { estimateStep } from "../training/step.ts";
import { deriveCalibration } from "./derive.ts";
import { readProfile } from "./profile.ts";

interface MeasuredStep {
  readonly model: string;
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly ffn: number;
  readonly vocab: number;
  readonly sequence: number;
  readonly microBatch: number;
  readonly weights: "fp32" | "bf16";
  readonly recompute: Recomputation;
  readonly seconds: number;
  readonly peakBytes: number;
}

function example(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../../../examples/calibration/${name}`, import.meta.url), "utf8"));
}

const { step: steps } = example("h200-steps.json") as { readonly step: readonly MeasuredStep[] };

function modelOf(step: MeasuredStep): ModelArchitecture {
  const { heads: headCount, kvHeads: kvHeadCount } = step;
  return {
    name: step.model,
    layerCount: step.layers,
    hidden: step.hidden,
    attention: { kind: "grouped", headCount, kvHeadCount, headDim: step.hidden / headCount },
    ffnHidden: step.ffn,
    isFfnGated: true,
    vocabulary: step.vocab,
    hasTiedEmbeddings: false,
    learnedPositions: 0,
    source: "training-steps.py",
  };
}

/**
 * Runs with fp32 weights have weights, gradients and two moments of 4 bytes each, under autocast. Runs with bf16
 * weights have 2 bytes for each of them.
 */
function jobOf(step: MeasuredStep): TrainingJob {
  const bytes = step.weights === "fp32" ? 4 : 2;
  return {
    model: modelOf(step),
    sequenceLength: step.sequence,
    globalBatch: step.microBatch,
    method: { kind: "full" },
    precision: { linear: "bf16", weightBytes: bytes, gradientBytes: bytes, optimizerBytes: 2 * bytes },
    software: { stack: "eager", attention: "flash" },
  };
}

function planOf(step: MeasuredStep): ParallelPlan {
  return {
    tensor: 1,
    pipeline: 1,
    context: 1,
    data: 1,
    expert: 1,
    virtualStages: 1,
    schedule: "1f1b",
    microBatch: step.microBatch,
    sequenceParallel: false,
    zeroStage: 0,
    shardCount: 1,
    recomputation: step.recompute,
  };
}

function systems(): { readonly plain: TrainingSystem; readonly calibrated: TrainingSystem } {
  const h200 = findAccelerator("H200");
  const reading = readProfile(example("h200.json"));
  if (h200 === undefined || reading.kind === "refused") throw new Error("the example profile is damaged");
  const cluster = usualCluster(h200, 1);
  return {
    plain: { cluster },
    calibrated: { cluster, calibration: deriveCalibration(reading.profile, h200).training },
  };
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

describe("training steps measured on an H200, one accelerator, plain PyTorch", () => {
  const errorsOn = (system: TrainingSystem): number[] =>
    steps.map((step) => Math.abs(estimateStep(jobOf(step), planOf(step), system).seconds / step.seconds - 1));

  it("are predicted within 10% on average with the profile of that machine, none off by more than 20%", () => {
    const errors = errorsOn(systems().calibrated);
    expect(errors).toHaveLength(6);
    expect(mean(errors)).toBeLessThan(0.1);
    expect(Math.max(...errors)).toBeLessThan(0.2);
  });

  it("are predicted worse without it", () => {
    const { plain, calibrated } = systems();
    expect(mean(errorsOn(plain))).toBeGreaterThan(mean(errorsOn(calibrated)));
    expect(mean(errorsOn(plain))).toBeLessThan(0.25);
  });

  it("need the memory that is predicted, within 15% on average", () => {
    const errors = steps.map((step) =>
      Math.abs(estimateMemory(jobOf(step), planOf(step)).peakBytes / step.peakBytes - 1),
    );
    expect(mean(errors)).toBeLessThan(0.15);
  });
});
