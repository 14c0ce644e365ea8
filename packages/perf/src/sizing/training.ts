import { parameterCounts, queryWidth } from "../catalogue/model.ts";
import {
  correctionFactor,
  modelFamilyOf,
  type CorrectionFactor,
  type ModelFamily,
} from "../correction/fleet-correction.ts";
import { networkWait, type NetworkWait } from "../network/network-wait.ts";
import type { NumberFormat } from "../catalogue/number-format.ts";
import { describeRunKind, evidenceFor, runKindOf, type EvidenceReading } from "../training/evidence.ts";
import { measuredRuns } from "../training/measured-runs.ts";
import { predictionInterval, type PredictionInterval } from "../training/interval.ts";
import type { ParallelPlan, SoftwareStack, TrainingPrecision } from "../training/job.ts";
import {
  estimateMemory,
  fitVerdict,
  outOfMemoryProbability,
  type FitVerdict,
  type MemoryBreakdown,
} from "../training/memory.ts";
import type { PlanChoiceName } from "../training/search/ordinary.ts";
import { searchPareto } from "../training/search/pareto.ts";
import { estimateStep, type StepBreakdown, type StepEstimate } from "../training/step.ts";
import type { FailureReport } from "./failures.ts";
import { chosenPlan, type PlanChoice } from "./plan-choice.ts";
import { launchCommand } from "./launch-command.ts";
import { isImpossible, leftOutText, type Impossible } from "./resolve.ts";
import type { StorageReport } from "./storage.ts";
import { failuresOf, storageOf } from "./training-losses.ts";
import { scalingOf, type ScalingReport } from "./training-scaling.ts";
import { settingOf, type TrainingSetting, type TrainingSizing } from "./training-setting.ts";

const gib = 2 ** 30;

export interface TrainingReport {
  readonly kind: "training";
  readonly model: { readonly name: string; readonly parameterCount: number; readonly activeParameterCount: number };
  readonly accelerator: string;
  readonly nodeCount: number;
  /** The software stack that the question states, or the usual stack of the accelerator. */
  readonly stack: SoftwareStack;
  readonly plan: ParallelPlan;
  readonly isPlanGiven: boolean;
  /** Choices of the plan that the question did not state. */
  readonly chosen: readonly PlanChoiceName[];
  /** Bytes per parameter of weights, gradients and optimizer, and the format of the products. */
  readonly precision: TrainingPrecision;
  /**
   * Number format of the operands of the linear layers. `reason`: why this format was chosen, if the model or the
   * accelerator decided it.
   */
  readonly format: { readonly linear: NumberFormat; readonly reason?: string };
  readonly isCalibrated: boolean;
  /** Time of a step, with its parts and the 80% interval. */
  readonly step: { readonly seconds: number; readonly breakdown: StepBreakdown; readonly interval: PredictionInterval };
  /** Distance from the nearest measured runs. A larger distance widens the interval. */
  readonly evidence: EvidenceReport;
  /** Factor from the fleet's own runs by which all times are multiplied, and the number of runs that it is based on. */
  readonly correction: CorrectionFactor;
  /** Family of the model. Prediction errors are similar within a family. */
  readonly family: ModelFamily;
  readonly tokensPerS: number;
  readonly tokensPerSPerAccelerator: number;
  /**
   * FLOPs of the model (6 for each active parameter that multiplies, and causal attention) per second, as a share of
   * the 16-bit peak.
   */
  readonly modelFlopsShare: number;
  readonly memory: {
    readonly peakBytes: number;
    readonly availableBytes: number;
    /**
     * Whether the run fits. `tight` means that the run is so close to the available memory that only a trial run can
     * show whether it fits.
     */
    readonly verdict: FitVerdict;
    /** Probability of running out of memory. */
    readonly outOfMemoryProbability: number;
    readonly breakdown: MemoryBreakdown;
  };
  readonly failures: FailureReport;
  readonly storage: StorageReport;
  readonly network: NetworkWait;
  readonly run: RunReport | undefined;
  readonly scaling: ScalingReport;
  /**
   * Plans for which no other plan is better in time, memory and cost at once, the fastest first. Empty unless
   * requested.
   */
  readonly alternatives: readonly AlternativePlan[];
  readonly warnings: readonly string[];
  /** The torchrun command that starts the run with this plan. `null` if no command line can state the plan. */
  readonly launch: string | null;
}

/** A plan that trades time for memory and cost. It uses the requested number of accelerators or a part of them. */
export interface AlternativePlan {
  readonly plan: ParallelPlan;
  readonly acceleratorCount: number;
  readonly stepSeconds: number;
  readonly peakBytes: number;
  /** Cost of a step. */
  readonly cost: number;
}

export interface RunReport {
  readonly tokens: number;
  readonly steps: number;
  readonly undisturbedDays: number;
  /** Duration of the run in days, including failures, checkpoints and restarts. */
  readonly days: number;
  readonly acceleratorHours: number;
  readonly cost: number;
}

export function sizeTraining(question: TrainingSizing): TrainingReport | Impossible {
  const asked = settingOf(question);
  if ("kind" in asked) return asked;
  const choice = chosenPlan(asked);
  return isImpossible(choice) ? choice : trainingReport(asked, choice);
}

/** The report on a plan that was chosen for the question. */
export function trainingReport(asked: TrainingSetting, { plan, chosen, job }: PlanChoice): TrainingReport {
  const { question } = asked;
  const setting = { ...asked, job };
  const { system, model, format } = setting;
  const { node } = system.cluster;
  const correction = correctionFor(setting);
  const step = correctedStep(estimateStep(job, plan, system), correction.factor);
  const memory = estimateMemory(job, plan);
  const verdict = fitVerdict(memory, node.accelerator);
  const evidence = evidenceFor(
    runKindOf(job, plan, system),
    measuredRuns,
    system.calibration === undefined ? "uncalibrated" : "calibrated",
  );
  const failures = failuresOf(setting);
  const storage = storageOf(setting, step.seconds, failures.chosen.intervalSeconds);
  const network = networkWait(job, plan, system);
  const { total, active } = parameterCounts(model);
  const tokensPerS = (job.globalBatch * job.sequenceLength) / step.seconds;
  return {
    kind: "training",
    model: { name: model.name, parameterCount: total, activeParameterCount: active },
    accelerator: node.accelerator.name,
    nodeCount: system.cluster.nodeCount,
    stack: job.software.stack,
    plan,
    isPlanGiven: question.plan !== undefined,
    chosen,
    precision: job.precision,
    format: { linear: format.linear, ...(format.reason === undefined ? {} : { reason: format.reason }) },
    isCalibrated: system.calibration !== undefined,
    step: { seconds: step.seconds, breakdown: step.breakdown, interval: predictionInterval(step, evidence) },
    evidence: evidenceReport(evidence),
    correction,
    family: modelFamilyOf(job),
    tokensPerS,
    tokensPerSPerAccelerator: tokensPerS / question.acceleratorCount,
    modelFlopsShare: flopsShare(setting, tokensPerS),
    memory: {
      peakBytes: memory.peakBytes,
      availableBytes: node.accelerator.memoryGib * gib,
      verdict,
      outOfMemoryProbability: outOfMemoryProbability(memory, node.accelerator),
      breakdown: memory.fullest.breakdown,
    },
    failures,
    storage,
    network,
    run: runOf(question, tokensPerS, failures.goodputShare),
    scaling: correctedScaling(scalingOf(setting), correction.factor),
    alternatives: question.alternatives === true ? alternativesOf(setting, correction.factor) : [],
    launch: launchCommand(job, plan, node.accelerator.halfFormat),
    warnings: warningsOf(setting, { verdict, storage, failures, network, evidence, correction }),
  };
}

const uncorrected: CorrectionFactor = { factor: 1, runCount: 0, typeRunCount: 0 };

function correctionFor({ question, job, system }: TrainingSetting): CorrectionFactor {
  const { correction } = question;
  // Measured rates of the accelerator itself are better than a correction from other runs of its type, so no correction
  // is used with them.
  if (correction == null || system.calibration !== undefined) return uncorrected;
  return correctionFactor(correction, system.cluster.node.accelerator.name, modelFamilyOf(job));
}

function correctedStep(step: StepEstimate, factor: number): StepEstimate {
  const parts = Object.entries(step.breakdown).map(([part, seconds]) => [part, seconds * factor] as const);
  return {
    seconds: step.seconds * factor,
    tokensPerSecondPerAccelerator: step.tokensPerSecondPerAccelerator / factor,
    breakdown: Object.fromEntries(parts) as Record<keyof StepBreakdown, number>,
  };
}

function correctedScaling(scaling: ScalingReport, factor: number): ScalingReport {
  const points = scaling.points.map((point) => ({
    ...point,
    stepSeconds: point.stepSeconds * factor,
    tokensPerS: point.tokensPerS / factor,
  }));
  return { ...scaling, points };
}

export interface EvidenceReport {
  readonly distance: number;
  readonly isNear: boolean;
  /** The kind of measured run that is most similar to this run. */
  readonly nearest: string | undefined;
}

function evidenceReport({ distance, isFar, nearest }: EvidenceReading): EvidenceReport {
  return { distance, isNear: !isFar, nearest: nearest === undefined ? undefined : describeRunKind(nearest) };
}

/**
 * Achieved share of the peak FLOP/s by PaLM's convention with causal attention: 6 FLOPs for each parameter that
 * multiplies, and 6·L·h·s for scores and values.
 */
function flopsShare({ model, job, system, question }: TrainingSetting, tokensPerS: number): number {
  const { active } = parameterCounts(model);
  const multiplying = model.hasTiedEmbeddings ? active : active - model.vocabulary * model.hidden;
  const attention = 6 * model.layerCount * queryWidth(model.attention) * job.sequenceLength;
  const { bf16 = 1 } = system.cluster.node.accelerator.denseTflops;
  return ((6 * multiplying + attention) * tokensPerS) / (bf16 * 1e12 * question.acceleratorCount);
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

/**
 * Parts of the requested size for which alternative plans are searched. A run on fewer accelerators takes longer but
 * loses less time to waiting.
 */
const alternativeParts = [1, 1 / 2, 1 / 4];

function alternativesOf({ question, job, system }: TrainingSetting, factor: number): AlternativePlan[] {
  const acceleratorCounts = alternativeParts.map((part) => question.acceleratorCount * part).filter(Number.isInteger);
  // The order of plans by cost does not depend on the price. If no price is stated, any price gives this order.
  const pricePerAcceleratorHour = question.pricePerAcceleratorHour > 0 ? question.pricePerAcceleratorHour : 1;
  const result = searchPareto(job, system, { acceleratorCounts, pricePerAcceleratorHour });
  if (result.kind === "refused") return [];
  return result.points.map(({ plan, acceleratorCount, step, memory, cost }) => ({
    plan,
    acceleratorCount,
    stepSeconds: step.seconds * factor,
    peakBytes: memory.peakBytes,
    cost: question.pricePerAcceleratorHour > 0 ? cost * factor : 0,
  }));
}

interface Findings {
  readonly verdict: FitVerdict;
  readonly storage: StorageReport;
  readonly failures: FailureReport;
  readonly network: NetworkWait;
  readonly evidence: EvidenceReading;
  readonly correction: CorrectionFactor;
}

/** Minimum number of the fleet's own runs of a type and family for them to count as evidence. */
const ownRunsMin = 5;

/**
 * If a job waits for the network for more than this share of time, the network counts as its limit. A mix of jobs on a
 * fabric has the same limit.
 */
const networkShareMax = 0.1;

function warningsOf({ question, model, format }: TrainingSetting, found: Findings): string[] {
  const { verdict, storage, failures, network, evidence, correction } = found;
  const leftOut = leftOutText(model);
  const warnings: string[] = leftOut === undefined ? [] : [leftOut];
  if (evidence.isFar && correction.runCount < ownRunsMin) {
    const nearest = evidence.nearest === undefined ? "" : `; the nearest are ${describeRunKind(evidence.nearest)}`;
    warnings.push(
      `no measured run is like this one${nearest}: measure a step (\`headroom calibrate\`) before relying on it`,
    );
  }
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
  warnings.push(...format.warnings);
  if (network.networkShare > networkShareMax) {
    const isNarrow = network.oversubscriptionShare * 2 > network.networkShare;
    const why = isNarrow ? "the fabric's oversubscription" : "the ports of the nodes";
    const lost = (network.networkShare * 100).toFixed(0);
    warnings.push(`the network starves the job: it waits ${lost}% of the time for it, because of ${why}`);
  }
  if (failures.goodputShare < 0.9) {
    const lost = ((1 - failures.goodputShare) * 100).toFixed(0);
    warnings.push(
      `failures and checkpoints cost ${lost}% of the time; overlapped checkpoints and faster restarts help`,
    );
  }
  return warnings;
}
