import { deriveCalibration } from "../calibration/derive.ts";
import { readProfile } from "../calibration/profile.ts";
import type { Accelerator } from "../catalogue/accelerator.ts";
import type { AcceleratorCalibration } from "../catalogue/calibration.ts";
import { nonBlockingFabric, type Fabric } from "../catalogue/fabric.ts";
import { parameterCounts, queryWidth, type ModelArchitecture } from "../catalogue/model.ts";
import type { NodeShape } from "../catalogue/node.ts";
import { usualCluster } from "../catalogue/nodes.ts";
import type { NumberFormat } from "../catalogue/number-format.ts";
import { scaledToNode, findFailureRecord } from "../failures/rates.ts";
import { fabricCounts, fabricOf, fabricRequest } from "../network/fabric-counts.ts";
import type { FabricRequest } from "../network/fabric-request.ts";
import type { StorageTier } from "../storage/axes.ts";
import { checkpointBytes, hostCopySeconds, tokenReads } from "../storage/demand.ts";
import { predictionInterval, type PredictionInterval } from "../training/interval.ts";
import {
  acceleratorCountOf,
  mixedPrecision,
  type ParallelPlan,
  type TrainingJob,
  type TrainingSystem,
} from "../training/job.ts";
import { estimateMemory, fitVerdict, type FitVerdict, type MemoryBreakdown } from "../training/memory.ts";
import { parametersPerRank } from "../training/parameters.ts";
import { scalingCurve, type ScalingWall } from "../training/scaling.ts";
import { searchBestPlan, type MemoryNeed } from "../training/search/best.ts";
import { advise, smallestThatFits } from "../training/search/nearest.ts";
import { wholeSpace } from "../training/search/space.ts";
import { estimateStep, type StepBreakdown } from "../training/step.ts";
import { sizeFailures, type FailureReport } from "./failures.ts";
import { describePlan, problemText } from "./plan-text.ts";
import {
  impossible,
  isImpossible,
  resolveAccelerator,
  resolveModel,
  stated,
  type Given,
  type Impossible,
  type ModelChoice,
} from "./resolve.ts";
import { sizeStorage, type StorageReport } from "./storage.ts";

const gib = 2 ** 30;

/** A training run on a part of a fleet. What is left out is chosen. */
export interface TrainingSizing {
  readonly model: ModelChoice;
  readonly accelerator: string;
  /** A parsed file of accelerators that the catalogue lacks. */
  readonly catalogue?: unknown;
  readonly acceleratorCount: number;
  readonly acceleratorsPerNode?: number | undefined;
  readonly nodeNetworkGbPerS?: number | undefined;
  /** The network between nodes; non-blocking if left out. */
  readonly fabric?: Given<Omit<FabricRequest, "nodeCount">> | undefined;
  readonly sequenceLength: number;
  /** Sequences per optimizer step. */
  readonly globalBatch: number;
  /** Tokens of the whole run. */
  readonly tokens?: number | undefined;
  readonly method: { readonly kind: "full" } | { readonly kind: "lora"; readonly rank: number };
  readonly format: NumberFormat;
  readonly stack: "fused" | "eager" | "compiled";
  readonly plan?: Given<ParallelPlan> | undefined;
  readonly profile?: unknown;
  readonly pricePerAcceleratorHour: number;
  readonly perThousandNodeDays?: number | undefined;
  readonly restartSeconds: number;
  /** How other sizes are compared: `strong` with the same batch, `weak` with a batch that grows with them. */
  readonly scaling: "strong" | "weak";
  readonly checkpointOverlapped: boolean;
  /** Rate at which the storage takes a checkpoint from this job, GB/s. */
  readonly checkpointGbPerS: number;
  readonly tiers: readonly StorageTier[];
}

export interface TrainingReport {
  readonly kind: "training";
  readonly model: { readonly name: string; readonly parameterCount: number; readonly activeParameterCount: number };
  readonly accelerator: string;
  readonly nodeCount: number;
  readonly plan: ParallelPlan;
  readonly isPlanGiven: boolean;
  readonly isCalibrated: boolean;
  /** The step, and where it lies with a probability of 80%. */
  readonly step: { readonly seconds: number; readonly breakdown: StepBreakdown; readonly interval: PredictionInterval };
  readonly tokensPerS: number;
  readonly tokensPerSPerAccelerator: number;
  /** Model FLOPs (6 per active parameter that multiplies, and causal attention) against the 16-bit peak. */
  readonly modelFlopsShare: number;
  readonly memory: {
    readonly peakBytes: number;
    readonly availableBytes: number;
    /** `tight`: so close to what there is that only trying tells. */
    readonly verdict: FitVerdict;
    readonly breakdown: MemoryBreakdown;
  };
  readonly failures: FailureReport;
  readonly storage: StorageReport;
  readonly run: RunReport | undefined;
  readonly scaling: ScalingReport;
  readonly warnings: readonly string[];
}

export interface RunReport {
  readonly tokens: number;
  readonly steps: number;
  readonly undisturbedDays: number;
  /** With failures, checkpoints and restarts. */
  readonly days: number;
  readonly acceleratorHours: number;
  readonly cost: number;
}

export interface ScalingReport {
  readonly kind: "strong" | "weak";
  readonly points: readonly ScalingPoint[];
  /** The size beyond which a doubling stops paying, and what is scarce there; undefined: all of them pay. */
  readonly wall: ScalingWall | undefined;
}

/** A size with the best plan of its own. */
export interface ScalingPoint {
  readonly acceleratorCount: number;
  readonly globalBatch: number;
  readonly stepSeconds: number;
  readonly tokensPerS: number;
  /** Tokens per accelerator against the smallest size. */
  readonly efficiency: number;
}

interface Setting {
  readonly question: TrainingSizing;
  readonly model: ModelArchitecture;
  readonly job: TrainingJob;
  readonly system: TrainingSystem;
}

export function sizeTraining(question: TrainingSizing): TrainingReport | Impossible {
  const setting = settingOf(question);
  if ("kind" in setting) return setting;
  const plan = planOf(setting);
  if (isImpossible(plan)) return plan;
  const { job, system, model } = setting;
  const { node } = system.cluster;
  const step = estimateStep(job, plan, system);
  const memory = estimateMemory(job, plan);
  const fullest = memory.first.bytes >= memory.last.bytes ? memory.first : memory.last;
  const verdict = fitVerdict(memory, node.accelerator);
  const failures = failuresOf(setting);
  const storage = storageOf(setting, step.seconds, failures.chosen.intervalSeconds);
  const { total, active } = parameterCounts(model);
  const tokensPerS = (job.globalBatch * job.sequenceLength) / step.seconds;
  return {
    kind: "training",
    model: { name: model.name, parameterCount: total, activeParameterCount: active },
    accelerator: node.accelerator.name,
    nodeCount: system.cluster.nodeCount,
    plan,
    isPlanGiven: question.plan !== undefined,
    isCalibrated: system.calibration !== undefined,
    step: { seconds: step.seconds, breakdown: step.breakdown, interval: predictionInterval(step) },
    tokensPerS,
    tokensPerSPerAccelerator: tokensPerS / question.acceleratorCount,
    modelFlopsShare: flopsShare(setting, tokensPerS),
    memory: {
      peakBytes: memory.peakBytes,
      availableBytes: node.accelerator.memoryGib * gib,
      verdict,
      breakdown: fullest.breakdown,
    },
    failures,
    storage,
    run: runOf(question, tokensPerS, failures.goodputShare),
    scaling: scalingOf(setting),
    warnings: warningsOf(setting, verdict, storage, failures),
  };
}

function settingOf(question: TrainingSizing): Setting | Impossible {
  const model = resolveModel(question.model);
  if (isImpossible(model)) return model;
  const accelerator = resolveAccelerator(question.accelerator, question.catalogue);
  if (isImpossible(accelerator)) return accelerator;
  if (accelerator.denseTflops.bf16 === undefined) {
    return impossible(`the 16-bit rate of ${accelerator.name} is not known`, "an accelerator with 16-bit matrix units");
  }
  const node = nodeOf(question, accelerator);
  const nodeCount = Math.ceil(question.acceleratorCount / node.acceleratorCount);
  const fabric = fabricFor(question, nodeCount);
  if (isImpossible(fabric)) return fabric;
  const calibration = calibrationOf(question.profile, accelerator);
  if (calibration !== undefined && "reason" in calibration) return calibration;
  const job: TrainingJob = {
    model,
    sequenceLength: question.sequenceLength,
    globalBatch: question.globalBatch,
    method: question.method,
    precision: mixedPrecision(question.format),
    software: { stack: question.stack, attention: "flash" },
  };
  const cluster = { node, nodeCount, fabric };
  return { question, model, job, system: calibration === undefined ? { cluster } : { cluster, calibration } };
}

function fabricFor(question: TrainingSizing, nodeCount: number): Fabric | Impossible {
  if (question.fabric === undefined || nodeCount === 1) return nonBlockingFabric;
  const counts = fabricCounts(fabricRequest({ ...stated(question.fabric), nodeCount }));
  return counts.kind === "impossible" ? counts : fabricOf(counts);
}

function calibrationOf(
  profile: unknown,
  accelerator: Parameters<typeof deriveCalibration>[1],
): AcceleratorCalibration | Impossible | undefined {
  if (profile === undefined) return undefined;
  const reading = readProfile(profile);
  if (reading.kind === "refused") return impossible(reading.reason, "a profile that `headroom calibrate` wrote");
  return deriveCalibration(reading.profile, accelerator).training;
}

/** The usual server, or one with so many accelerators and so much network as the question says. */
function nodeOf(question: TrainingSizing, accelerator: Accelerator): NodeShape {
  const { node } = usualCluster(accelerator, question.acceleratorCount);
  const acceleratorCount = question.acceleratorsPerNode ?? node.acceleratorCount;
  const scaleOutGbPerS = question.nodeNetworkGbPerS ?? accelerator.scaleOutGbPerS * acceleratorCount;
  return { ...node, acceleratorCount, scaleOutGbPerS };
}

/** The plan as given, completed; or the fastest of all that fit. */
function planOf(setting: Setting): ParallelPlan | Impossible {
  const { question, job, system } = setting;
  if (question.plan !== undefined) return givenPlan(setting, stated(question.plan));
  const result = searchBestPlan(job, system, wholeSpace(job, system, question.acceleratorCount));
  switch (result.kind) {
    case "found":
      return result.best.plan;
    case "refused":
      return impossible(result.problems.map(problemText).join("; "), "whole numbers from 1");
    case "nothingFits":
      return nothingFits(setting, result.least);
  }
}

function givenPlan({ question, job, system }: Setting, given: Partial<ParallelPlan>): ParallelPlan | Impossible {
  const { acceleratorCount } = question;
  const { tensor = 1, pipeline = 1, context = 1 } = given;
  const data = given.data ?? acceleratorCount / (tensor * pipeline * context);
  const plan: ParallelPlan = {
    expert: 1,
    virtualStages: 1,
    schedule: (given.virtualStages ?? 1) > 1 ? "interleaved" : "1f1b",
    microBatch: 1,
    sequenceParallel: tensor > 1,
    zeroStage: data * context > 1 ? 1 : 0,
    recomputation: "none",
    ...given,
    tensor,
    pipeline,
    context,
    data,
    shardCount: given.shardCount ?? data,
  };
  const advice = advise(job, plan, system);
  const isDivided = Number.isInteger(data);
  const problems = isDivided
    ? advice.problems.map(problemText)
    : [`tensor ${tensor} × pipeline ${pipeline} × context ${context} do not divide ${acceleratorCount} accelerators`];
  if (problems.length === 0 && acceleratorCountOf(plan) !== acceleratorCount) {
    problems.push(`the plan takes ${acceleratorCountOf(plan)} accelerators, not ${acceleratorCount}`);
  }
  if (problems.length === 0) return plan;
  const count = advice.smallestCount;
  const other = count === undefined ? "a smaller model, or less to keep" : `${count} accelerators`;
  return impossible(problems.join("; "), advice.nearest === undefined ? other : describePlan(advice.nearest));
}

function nothingFits({ question, job, system }: Setting, least: MemoryNeed | undefined): Impossible {
  const { acceleratorCount } = question;
  const count = smallestThatFits(job, system);
  const nearest =
    count === undefined ? "a smaller model, or less to keep: a shorter sequence, adapters" : `${count} accelerators`;
  if (least === undefined) {
    return impossible(
      `a batch of ${job.globalBatch} divides over ${acceleratorCount} accelerators in no plan`,
      nearest,
    );
  }
  const { name, memoryGib } = system.cluster.node.accelerator;
  const needed = least.neededGib.toFixed(1);
  const what = `${job.model.name} needs at least ${needed} GiB on each of ${acceleratorCount} ${name}`;
  return impossible(`${what}, too close to the ${memoryGib} there are, or above them`, nearest);
}

/** PaLM's convention with causal attention: 6 FLOPs per parameter that multiplies, 6·L·h·s for scores and values. */
function flopsShare({ model, job, system, question }: Setting, tokensPerS: number): number {
  const { active } = parameterCounts(model);
  const multiplying = model.hasTiedEmbeddings ? active : active - model.vocabulary * model.hidden;
  const attention = 6 * model.layerCount * queryWidth(model.attention) * job.sequenceLength;
  const { bf16 = 1 } = system.cluster.node.accelerator.denseTflops;
  return ((6 * multiplying + attention) * tokensPerS) / (bf16 * 1e12 * question.acceleratorCount);
}

/** Widths of a job that nothing divides: what is counted with it is counted for the whole model. */
const undivided: ParallelPlan = {
  tensor: 1,
  pipeline: 1,
  context: 1,
  data: 1,
  expert: 1,
  virtualStages: 1,
  schedule: "1f1b",
  microBatch: 1,
  sequenceParallel: false,
  zeroStage: 0,
  shardCount: 1,
  recomputation: "none",
};

/** What is trained and its optimizer; frozen weights are not saved again. */
function checkpointSize({ job }: Setting): number {
  const parameterCount = parametersPerRank(job, undivided).trained;
  return checkpointBytes({ parameterCount, weightBytes: 2, optimizerBytes: 12 });
}

function failuresOf(setting: Setting): FailureReport {
  const { question, system } = setting;
  const { node, nodeCount } = system.cluster;
  const bytes = checkpointSize(setting);
  const stallSeconds = question.checkpointOverlapped
    ? hostCopySeconds(bytes, question.acceleratorCount, node.hostLinkGbPerS)
    : bytes / (question.checkpointGbPerS * 1e9);
  const record = findFailureRecord("llama3-h100");
  const published = record === undefined ? 3.79 : scaledToNode(record, node.acceleratorCount);
  return sizeFailures({
    nodeCount,
    acceleratorsPerNode: node.acceleratorCount,
    perThousandNodeDays: question.perThousandNodeDays ?? published,
    otherPerDay: 0,
    restartSeconds: question.restartSeconds,
    stallSeconds: Math.max(stallSeconds, 0.1),
    stragglerShare: 0,
    repairHours: 24,
    spareCoverage: 0.99,
    burstiness: 1,
    domains: [{ name: "node", nodeCount: 1 }],
  });
}

function storageOf(setting: Setting, stepSeconds: number, intervalSeconds: number): StorageReport {
  const { question, job, system } = setting;
  const { acceleratorCount } = question;
  const bytes = checkpointSize(setting);
  const stallSeconds = bytes / (question.checkpointGbPerS * 1e9);
  const tokensPerStep = job.globalBatch * job.sequenceLength;
  const { nodeCount, node } = system.cluster;
  return sizeStorage(
    {
      datasets: [tokenReads({ acceleratorCount, tokensPerStep, stepSeconds, datasetTokens: question.tokens ?? 0 })],
      checkpoints: [
        {
          bytes,
          intervalSeconds,
          keptCount: 2,
          writerCount: acceleratorCount,
          filesPerWriter: 1,
          mode: question.checkpointOverlapped ? { kind: "overlapped" } : { kind: "blocking", stallSeconds },
        },
      ],
      starts: [
        {
          nodeCount,
          processesPerNode: node.acceleratorCount,
          imageBytesPerNode: 20e9,
          filesPerProcess: 5000,
          stateBytes: bytes,
          budgetSeconds: question.restartSeconds,
          startsPerDay: 4,
        },
      ],
    },
    question.tiers,
  );
}

function runOf(question: TrainingSizing, tokensPerS: number, goodputShare: number): RunReport | undefined {
  const { tokens, acceleratorCount, pricePerAcceleratorHour } = question;
  if (tokens === undefined) return undefined;
  const undisturbedDays = tokens / tokensPerS / 86_400;
  const days = undisturbedDays / goodputShare;
  const acceleratorHours = days * 24 * acceleratorCount;
  return {
    tokens,
    steps: Math.ceil(tokens / (question.globalBatch * question.sequenceLength)),
    undisturbedDays,
    days,
    acceleratorHours,
    cost: acceleratorHours * pricePerAcceleratorHour,
  };
}

/** Halvings below the size that was asked for, and doublings beyond it. */
const factors = [1 / 4, 1 / 2, 1, 2, 4];

function scalingOf({ question, job, system }: Setting): ScalingReport {
  const { acceleratorCount, scaling } = question;
  const acceleratorCounts = factors.map((factor) => acceleratorCount * factor).filter(Number.isInteger);
  const smallest = acceleratorCounts[0] ?? acceleratorCount;
  // A weak curve starts with its share of the batch, so that the size that was asked for has the batch that was asked for.
  const share =
    scaling === "weak" ? Math.max(1, Math.round((job.globalBatch * smallest) / acceleratorCount)) : job.globalBatch;
  const curve = scalingCurve({ ...job, globalBatch: share }, system, { kind: scaling, acceleratorCounts });
  return {
    kind: curve.kind,
    points: curve.points.map((point) => ({
      acceleratorCount: point.acceleratorCount,
      globalBatch: point.globalBatch,
      stepSeconds: point.best.step.seconds,
      tokensPerS: point.tokensPerSecond,
      efficiency: point.efficiency,
    })),
    wall: curve.wall,
  };
}

function warningsOf(
  { question, model }: Setting,
  verdict: FitVerdict,
  storage: StorageReport,
  failures: FailureReport,
): string[] {
  const warnings: string[] = [];
  if (verdict === "tight") warnings.push("memory is tight: so close to what there is that only trying tells");
  if (model.maxPosition !== undefined && question.sequenceLength > model.maxPosition) {
    warnings.push(
      `${question.sequenceLength} tokens are more than the ${model.maxPosition} positions of ${model.name}`,
    );
  }
  for (const { tier, verdict } of storage.verdicts) {
    if (!verdict.isEnough)
      warnings.push(`${tier.name} starves the job: ${verdict.breaksFirst?.axis ?? ""} breaks first`);
  }
  if (failures.goodputShare < 0.9) {
    const lost = ((1 - failures.goodputShare) * 100).toFixed(0);
    warnings.push(
      `failures and checkpoints cost ${lost}% of the time; overlapped checkpoints and faster restarts help`,
    );
  }
  return warnings;
}
