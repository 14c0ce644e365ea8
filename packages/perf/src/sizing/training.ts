import { deriveCalibration } from "../calibration/derive.ts";
import { readProfile } from "../calibration/profile.ts";
import type { AcceleratorCalibration } from "../catalogue/calibration.ts";
import { nonBlockingFabric, type Fabric } from "../catalogue/fabric.ts";
import { parameterCounts, queryWidth, type ModelArchitecture } from "../catalogue/model.ts";
import type { NumberFormat } from "../catalogue/number-format.ts";
import { scaledToNode, findFailureRecord } from "../failures/rates.ts";
import { fabricCounts, fabricOf, fabricRequest } from "../network/fabric-counts.ts";
import type { FabricRequest } from "../network/fabric-request.ts";
import type { StorageTier } from "../storage/axes.ts";
import { checkpointBytes, hostCopySeconds, tokenReads } from "../storage/demand.ts";
import { estimateMemory, type MemoryBreakdown } from "../training/memory.ts";
import {
  acceleratorCountOf,
  mixedPrecision,
  type ParallelPlan,
  type TrainingJob,
  type TrainingSystem,
} from "../training/job.ts";
import { parametersPerRank } from "../training/parameters.ts";
import { estimateStep, type StepBreakdown } from "../training/step.ts";
import { sizeFailures, type FailureReport } from "./failures.ts";
import { choosePlan, usableBytes } from "./plan-choice.ts";
import {
  impossible,
  isImpossible,
  resolveAccelerator,
  resolveModel,
  stated,
  usualNode,
  type Given,
  type Impossible,
  type ModelChoice,
} from "./resolve.ts";
import { sizeStorage, type StorageReport } from "./storage.ts";

/** A training run on a part of a fleet. What is left out is chosen. */
export interface TrainingSizing {
  readonly model: ModelChoice;
  readonly accelerator: string;
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
  readonly step: { readonly seconds: number; readonly breakdown: StepBreakdown };
  readonly tokensPerS: number;
  readonly tokensPerSPerAccelerator: number;
  /** Model FLOPs (6 per active parameter that multiplies, and causal attention) against the 16-bit peak. */
  readonly modelFlopsShare: number;
  readonly memory: {
    readonly peakBytes: number;
    readonly usableBytes: number;
    readonly breakdown: MemoryBreakdown;
  };
  readonly failures: FailureReport;
  readonly storage: StorageReport;
  readonly run: RunReport | undefined;
  readonly scaling: readonly ScalingPoint[];
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

/** The same batch on more accelerators, each size with a plan of its own. */
export interface ScalingPoint {
  readonly acceleratorCount: number;
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
  if ("kind" in plan) return plan;
  const { job, system, model } = setting;
  const { node } = system.cluster;
  const step = estimateStep(job, plan, system);
  const memory = estimateMemory(job, plan);
  const fullest = memory.first.bytes >= memory.last.bytes ? memory.first : memory.last;
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
    step,
    tokensPerS,
    tokensPerSPerAccelerator: tokensPerS / question.acceleratorCount,
    modelFlopsShare: flopsShare(setting, tokensPerS),
    memory: { peakBytes: memory.peakBytes, usableBytes: usableBytes(system), breakdown: fullest.breakdown },
    failures,
    storage,
    run: runOf(question, tokensPerS, failures.goodputShare),
    scaling: scalingOf(setting),
    warnings: warningsOf(setting, memory.peakBytes, storage, failures),
  };
}

function settingOf(question: TrainingSizing): Setting | Impossible {
  const model = resolveModel(question.model);
  if (isImpossible(model)) return model;
  const accelerator = resolveAccelerator(question.accelerator);
  if (isImpossible(accelerator)) return accelerator;
  if (accelerator.denseTflops.bf16 === undefined) {
    return impossible(`the 16-bit rate of ${accelerator.name} is not known`, "an accelerator with 16-bit matrix units");
  }
  const node = usualNode(accelerator, question);
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

/** The plan as given, completed, or the best of those in use. */
function planOf({ question, job, system, model }: Setting): ParallelPlan | Impossible {
  const { acceleratorCount } = question;
  const chosen = choosePlan(job, system, acceleratorCount);
  if (question.plan === undefined) return isImpossible(chosen) ? chosen : chosen.plan;
  const given = stated(question.plan);
  const { tensor = 1, pipeline = 1, context = 1 } = given;
  const data = given.data ?? acceleratorCount / (tensor * pipeline * context);
  const nearest = isImpossible(chosen) ? chosen.nearest : describePlan(chosen.plan);
  const plan: ParallelPlan = {
    expert: 1,
    virtualStages: 1,
    schedule: (given.virtualStages ?? 1) > 1 ? "interleaved" : "1f1b",
    microBatch: 1,
    sequenceParallel: tensor > 1,
    zeroStage: 1,
    recomputation: "none",
    ...given,
    tensor,
    pipeline,
    context,
    data,
    shardCount: given.shardCount ?? data * context,
  };
  const fault = planFault(plan, job, model, acceleratorCount);
  return fault === undefined ? plan : impossible(fault, nearest);
}

function planFault(plan: ParallelPlan, job: TrainingJob, model: ModelArchitecture, count: number): string | undefined {
  const { tensor, pipeline, context, data, microBatch, expert } = plan;
  if ([tensor, pipeline, context, data, microBatch, expert].some((width) => !Number.isInteger(width) || width < 1)) {
    return `tensor ${tensor} × pipeline ${pipeline} × context ${context} do not divide ${count} accelerators`;
  }
  if (acceleratorCountOf(plan) !== count)
    return `the plan takes ${acceleratorCountOf(plan)} accelerators, not ${count}`;
  const { headCount } = model.attention;
  if (headCount % tensor !== 0) return `tensor ${tensor} does not divide the ${headCount} attention heads`;
  if (pipeline * plan.virtualStages > model.layerCount) {
    return `${pipeline} stages of ${plan.virtualStages} chunks are more than the ${model.layerCount} layers`;
  }
  if (job.globalBatch % (data * microBatch) !== 0) {
    return `a batch of ${job.globalBatch} does not divide over ${data} replicas of micro-batch ${microBatch}`;
  }
  if (expert > 1 && (model.experts === undefined || model.experts.count % expert !== 0)) {
    return `expert ${expert} does not divide the ${model.experts?.count ?? 0} experts`;
  }
  return undefined;
}

export function describePlan(plan: ParallelPlan): string {
  const widths = (["tensor", "pipeline", "context", "data", "expert"] as const)
    .filter((name) => plan[name] > 1)
    .map((name) => `${name} ${plan[name]}`);
  const parts = [
    ...(widths.length === 0 ? ["one accelerator"] : widths),
    ...(plan.virtualStages > 1 ? [`${plan.virtualStages} chunks per stage`] : []),
    `micro-batch ${plan.microBatch}`,
    `ZeRO ${plan.zeroStage}`,
    `recomputation ${plan.recomputation}`,
  ];
  return parts.join(", ");
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

/** Doublings that are looked at beyond the size that was asked for, and halvings below it. */
const doublings = [-2, -1, 0, 1, 2, 3];

function scalingOf({ question, job, system }: Setting): ScalingPoint[] {
  const points: Omit<ScalingPoint, "efficiency">[] = [];
  for (const doubling of doublings) {
    const acceleratorCount = question.acceleratorCount * 2 ** doubling;
    if (!Number.isInteger(acceleratorCount) || acceleratorCount > job.globalBatch * 64) continue;
    const nodeCount = Math.ceil(acceleratorCount / system.cluster.node.acceleratorCount);
    const chosen = choosePlan(job, { ...system, cluster: { ...system.cluster, nodeCount } }, acceleratorCount);
    if (isImpossible(chosen)) continue;
    const tokensPerS = (job.globalBatch * job.sequenceLength) / chosen.seconds;
    points.push({ acceleratorCount, stepSeconds: chosen.seconds, tokensPerS });
  }
  const [first] = points;
  if (first === undefined) return [];
  const base = first.tokensPerS / first.acceleratorCount;
  return points.map((point) => ({ ...point, efficiency: point.tokensPerS / point.acceleratorCount / base }));
}

function warningsOf(
  { question, system, model }: Setting,
  peakBytes: number,
  storage: StorageReport,
  failures: FailureReport,
): string[] {
  const warnings: string[] = [];
  const usable = usableBytes(system);
  const gib = (bytes: number): string => (bytes / 2 ** 30).toFixed(1);
  if (peakBytes > usable) warnings.push(`out of memory: ${gib(peakBytes)} GiB needed, ${gib(usable)} usable`);
  else if (peakBytes > 0.92 * usable) warnings.push(`memory is tight: ${gib(peakBytes)} of ${gib(usable)} GiB usable`);
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
