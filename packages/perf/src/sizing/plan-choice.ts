import type { ModelArchitecture } from "../catalogue/model.ts";
import { estimateMemory } from "../training/memory.ts";
import {
  acceleratorOf,
  type ParallelPlan,
  type Recomputation,
  type TrainingJob,
  type TrainingSystem,
} from "../training/job.ts";
import { estimateStep } from "../training/step.ts";
import { impossible, type Impossible } from "./resolve.ts";

/** A plan with what it was chosen by. */
export interface ChosenPlan {
  readonly plan: ParallelPlan;
  readonly seconds: number;
  readonly peakBytes: number;
}

const gib = 2 ** 30;

/** What of an accelerator's memory a job may fill: the allocator needs some room to move. */
const usableShare = 0.96;

export function usableBytes(system: TrainingSystem): number {
  return acceleratorOf(system).memoryGib * gib * usableShare;
}

/** The fastest of the plans in use that fits, over all of `acceleratorCount`; otherwise what came nearest. */
export function choosePlan(
  job: TrainingJob,
  system: TrainingSystem,
  acceleratorCount: number,
): ChosenPlan | Impossible {
  const limit = usableBytes(system);
  let best: ChosenPlan | undefined;
  let smallest: ChosenPlan | undefined;
  for (const plan of plansInUse(job, system, acceleratorCount)) {
    const { peakBytes } = estimateMemory(job, plan);
    if (smallest === undefined || peakBytes < smallest.peakBytes) smallest = { plan, seconds: 0, peakBytes };
    if (peakBytes > limit) continue;
    const { seconds } = estimateStep(job, plan, system);
    if (best === undefined || seconds < best.seconds) best = { plan, seconds, peakBytes };
  }
  return best ?? nothingFits(job, system, acceleratorCount, smallest);
}

function nothingFits(
  job: TrainingJob,
  system: TrainingSystem,
  acceleratorCount: number,
  smallest: ChosenPlan | undefined,
): Impossible {
  if (smallest === undefined) {
    return impossible(
      `a batch of ${job.globalBatch} sequences does not divide over ${acceleratorCount} accelerators in any plan`,
      `a batch of ${acceleratorCount * Math.max(1, Math.round(job.globalBatch / acceleratorCount))}`,
    );
  }
  const { memoryGib, name } = acceleratorOf(system);
  const needed = (smallest.peakBytes / gib).toFixed(1);
  const what = `${job.model.name} needs at least ${needed} GiB on each of ${acceleratorCount} ${name}, which has ${memoryGib}`;
  for (let count = acceleratorCount * 2; count <= 1 << 20; count *= 2) {
    const larger = { ...job, globalBatch: Math.max(job.globalBatch, count) };
    const fits = plansInUse(larger, system, count).some(
      (plan) => estimateMemory(larger, plan).peakBytes <= usableBytes(system),
    );
    if (fits) return impossible(what, `${count} accelerators, or less to keep: a smaller batch or LoRA`);
  }
  return impossible(what, "a smaller model or accelerators with more memory");
}

/** Plans that training frameworks are run with: powers of two in every dimension, the batch divided evenly. */
function plansInUse(job: TrainingJob, system: TrainingSystem, acceleratorCount: number): ParallelPlan[] {
  const { model } = job;
  const domain = Math.max(1, acceleratorOf(system).scaleUp.domainCount);
  const plans: ParallelPlan[] = [];
  const heads = model.attention.headCount;
  for (const tensor of powersUpTo(Math.min(domain, acceleratorCount)).filter((width) => heads % width === 0)) {
    for (const pipeline of powersUpTo(Math.min(64, model.layerCount, acceleratorCount / tensor))) {
      for (const context of powersUpTo(job.sequenceLength >= 32_768 ? 16 : 1)) {
        const data = acceleratorCount / (tensor * pipeline * context);
        if (Number.isInteger(data)) plans.push(...withBatches(job, { tensor, pipeline, context, data }, domain));
      }
    }
  }
  return plans;
}

type Widths = Pick<ParallelPlan, "tensor" | "pipeline" | "context" | "data">;

function withBatches(job: TrainingJob, widths: Widths, domain: number): ParallelPlan[] {
  const plans: ParallelPlan[] = [];
  for (const microBatch of [1, 2, 4, 8, 16]) {
    if (job.globalBatch % (widths.data * microBatch) !== 0) continue;
    for (const recomputation of recomputations) {
      for (const zeroStage of stagesOf(job, widths)) {
        for (const [expert, virtualStages] of expertsAndChunks(job, widths, microBatch, domain)) {
          plans.push({
            ...widths,
            expert,
            virtualStages,
            schedule: virtualStages > 1 ? "interleaved" : "1f1b",
            microBatch,
            sequenceParallel: widths.tensor > 1,
            zeroStage,
            shardCount: widths.data * widths.context,
            recomputation,
          });
        }
      }
    }
  }
  return plans;
}

const recomputations: readonly Recomputation[] = ["none", "selective", "full"];

/** FSDP does without pipelines; Megatron shards the optimizer alone. */
function stagesOf(job: TrainingJob, { data, context, pipeline }: Widths): readonly (0 | 1 | 3)[] {
  if (data * context === 1) return [0];
  if (job.software.stack === "fused" || pipeline > 1) return [1];
  return [1, 3];
}

function expertsAndChunks(job: TrainingJob, widths: Widths, microBatch: number, domain: number): [number, number][] {
  const chunks = chunkCounts(job, widths, microBatch);
  return expertWidths(job.model, widths, domain).flatMap((expert) =>
    chunks.map((count): [number, number] => [expert, count]),
  );
}

/** Interleaving needs whole chunks, and micro-batches in multiples of the stages (Megatron's schedule). */
function chunkCounts(job: TrainingJob, { pipeline, data }: Widths, microBatch: number): number[] {
  const microBatches = job.globalBatch / (data * microBatch);
  if (pipeline === 1 || microBatches % pipeline !== 0) return [1];
  return [1, 2, 4].filter((count) => pipeline * count <= job.model.layerCount);
}

function expertWidths(model: ModelArchitecture, { data, context, tensor }: Widths, domain: number): number[] {
  const { experts } = model;
  if (experts === undefined) return [1];
  const ranks = data * context * tensor;
  return powersUpTo(Math.min(ranks, experts.count, Math.max(domain, 64))).filter(
    (width) => experts.count % width === 0 && ranks % width === 0,
  );
}

function powersUpTo(limit: number): number[] {
  const powers: number[] = [];
  for (let power = 1; power <= limit; power *= 2) powers.push(power);
  return powers;
}
