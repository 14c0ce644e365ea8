import type { Accelerator } from "../catalogue/accelerator.ts";
import { usualNode } from "../catalogue/nodes.ts";
import type { NumberFormat } from "../catalogue/number-format.ts";
import { fittedInference, type InferenceConstants } from "../constants-inference.ts";
import { deriveCalibration } from "../calibration/derive.ts";
import { readProfile } from "../calibration/profile.ts";
import { batchLimit, decodeStep, meanContext, type RequestShape } from "../inference/batching.ts";
import { calibratedAccelerator } from "../inference/calibrated.ts";
import { coldStart, type ColdStart } from "../inference/cold-start.ts";
import { cheapestDisaggregated, type DisaggregatedAnswer } from "../inference/disaggregated-endpoint.ts";
import { planEndpoint, type EndpointPlan, type EndpointQuestion, type RejectedLayout } from "../inference/endpoint.ts";
import {
  describeServingKind,
  servingEvidenceFor,
  servingKindOf,
  type ServingEvidenceReading,
} from "../inference/evidence.ts";
import type { StepTime } from "../inference/forward.ts";
import { interval80, intervalWidth, type Interval } from "../inference/interval.ts";
import { servingMemory, type ServingMemory } from "../inference/kv-cache.ts";
import { openLoop, type LatencyQuantile } from "../inference/queueing.ts";
import { executableFormats, servingFormats, type ServingFormats } from "../inference/quantization.ts";
import { currentEngine, type ServingLayout } from "../inference/replica.ts";
import {
  impossible,
  isImpossible,
  leftOutText,
  otherDevice,
  resolveAccelerator,
  resolveModel,
  type Impossible,
  type ModelChoice,
} from "./resolve.ts";

/** An endpoint with its traffic and latency objective. */
export interface ServingSizing {
  readonly model: ModelChoice;
  readonly accelerator: string;
  /** A parsed file with accelerators that are not in the catalogue. */
  readonly catalogue?: unknown;
  readonly weights: NumberFormat;
  readonly kv?: NumberFormat | undefined;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Share of the prompt that is cached from earlier requests. */
  readonly prefixHitShare: number;
  readonly requestsPerS: number;
  readonly ttftMs: number;
  readonly tpotMs: number;
  /** Share of requests that must stay below both latencies of the objective. */
  readonly share: number;
  readonly pricePerAcceleratorHour: number;
  /** The only layout to consider. If absent, the usual layouts are compared. */
  readonly layout?: ServingLayout | undefined;
  /** A calibration profile of this accelerator, as `headroom calibrate` writes it. */
  readonly profile?: unknown;
  /** Rate in GB/s at which a starting node reads weights. */
  readonly weightsGbPerS: number;
  /** Time in s until a node is available for a starting replica. If absent, a node is idle. */
  readonly provisioningSeconds?: number | undefined;
  /**
   * Size in GB of the container image that a starting node must download. The download has the same rate as the
   * weights. If absent, the node has the image.
   */
  readonly imageGb?: number | undefined;
  /**
   * Total rate in GB/s of the store that holds the weights of all replicas. If absent, the store serves every node at
   * the rate of the node.
   */
  readonly storageGbPerS?: number | undefined;
  /** Number of replicas that start at once and share the store. If absent, all replicas of the plan. */
  readonly startingReplicas?: number | undefined;
}

export interface ServingPlanRow {
  readonly layout: ServingLayout;
  readonly replicaCount: number;
  readonly acceleratorCount: number;
  readonly requestsPerSPerReplica: number;
  readonly ttftMs: number;
  readonly tpotMs: number;
  readonly costPerHour: number;
  readonly costPerMillionOutputTokens: number;
}

export interface ServingReport {
  readonly kind: "serving";
  readonly model: { readonly name: string; readonly source: string };
  readonly accelerator: string;
  /** Choices that the question left open and the model made, in words. */
  readonly chosen: readonly string[];
  readonly evidence: ServingEvidenceReport;
  /** Plans sorted by cost, the cheapest first. */
  readonly plans: readonly ServingPlanRow[];
  /** Details of the cheapest plan, for the share of the traffic that one replica gets. */
  readonly best: {
    readonly memory: ServingMemory;
    readonly batch: number;
    readonly batchLimit: number;
    readonly step: StepTime;
    readonly tpotIntervalMs: Interval;
    readonly ttftIntervalMs: Interval;
    /** The start of one replica, while others start and read from the same store. `null`: no rate was stated. */
    readonly coldStart: ColdStart & { readonly startingReplicas: number; readonly storageGbPerS: number | null };
  };
  readonly rejected: readonly RejectedLayout[];
  /** A plan with separate prefill and decode workers for the same objective, or the reason why there is none. */
  readonly disaggregated: DisaggregatedAnswer;
  readonly isCalibrated: boolean;
}

/** How far the cheapest plan is from measured replicas. */
export interface ServingEvidenceReport {
  readonly distance: number;
  /** If false, the interval is an extrapolation, because no replica of this architecture or family was measured. */
  readonly isNear: boolean;
  readonly nearest: string | undefined;
}

/** Answer without a prediction: the model has no measurements or formulas for this case. */
export interface Unknown {
  readonly kind: "unknown";
  readonly reasons: readonly string[];
}

export function sizeServing(question: ServingSizing): ServingReport | Impossible | Unknown {
  const model = resolveModel(question.model);
  if (isImpossible(model)) return model;
  const listed = resolveAccelerator(question.accelerator, question.catalogue);
  if (isImpossible(listed)) return listed;
  const accelerator = asMeasured(question, listed);
  if (isImpossible(accelerator)) return accelerator;
  const { promptTokens, outputTokens, prefixHitShare, requestsPerS, ttftMs, tpotMs, share } = question;
  const request: RequestShape = { promptTokens, outputTokens, prefixHitShare };
  const endpoint: EndpointQuestion = {
    model,
    accelerator,
    formats: executableFormats(servingFormats(question.weights, question.kv), accelerator),
    engine: currentEngine,
    request,
    requestsPerS,
    objective: { ttftMs, tpotMs, share },
    pricePerAcceleratorHour: question.pricePerAcceleratorHour,
    ...(question.layout === undefined ? {} : { layouts: [question.layout] }),
  };
  const answer = planEndpoint(endpoint, fittedInference);
  if (answer.kind === "unknown") return { kind: "unknown", reasons: answer.reasons.map(({ message }) => message) };
  const disaggregated = cheapestDisaggregated(endpoint, fittedInference);
  const cheapest = answer.kind === "plans" ? answer.plans[0] : undefined;
  if (cheapest === undefined || answer.kind === "impossible") {
    return nothingServes(question, answer.rejected, disaggregated);
  }
  return {
    kind: "serving",
    model: { name: model.name, source: model.source },
    accelerator: accelerator.name,
    chosen: chosenFor(question, cheapest),
    evidence: evidenceReport(servingEvidenceFor(servingKindOf(cheapest.replica))),
    plans: answer.plans.map(planRow),
    best: closeLook(question, cheapest, request, fittedInference),
    rejected: answer.rejected,
    disaggregated,
    isCalibrated: question.profile !== undefined,
  };
}

function chosenFor({ layout, weights, kv }: ServingSizing, { replica, replicaCount }: EndpointPlan): readonly string[] {
  const { engine, formats, accelerator } = replica;
  const half = halfText(accelerator, servingFormats(weights, kv));
  const leftOut = leftOutText(replica.model);
  const widths = layoutText(replica.layout);
  return [
    ...(leftOut === undefined ? [] : [leftOut]),
    ...(half === undefined ? [] : [half]),
    ...(layout === undefined ? [`${widths}: the fewest accelerators of the usual layouts`] : []),
    ...(kv === undefined ? [`${formats.kv} cache, as checkpoints with ${formats.linear} weights have it`] : []),
    `${replicaCount === 1 ? "one replica" : `${replicaCount} replicas`} of an engine that takes ${engine.stepTokensMax} prompt tokens and ${engine.sequencesMax} sequences a step and fills ${(100 * engine.memoryShare).toFixed(0)}% of the memory`,
  ];
}

/** Text that states that fp16 replaces bf16, if fp16 is the accelerator's only 16-bit format. */
function halfText(accelerator: Accelerator, { linear, experts, kv }: ServingFormats): string | undefined {
  const { name, halfFormat } = accelerator;
  if (halfFormat === undefined || ![linear, experts, kv].includes("bf16")) return undefined;
  return `${halfFormat} instead of bf16, for which ${name} has no units`;
}

function evidenceReport({ distance, isFar, nearest }: ServingEvidenceReading): ServingEvidenceReport {
  return { distance, isNear: !isFar, nearest: nearest === undefined ? undefined : describeServingKind(nearest) };
}

function asMeasured(question: ServingSizing, accelerator: Accelerator): Accelerator | Impossible {
  if (question.profile === undefined) return accelerator;
  const reading = readProfile(question.profile);
  if (reading.kind === "refused") return impossible(reading.reason, "a profile that `headroom calibrate` wrote");
  const other = otherDevice(reading.profile, accelerator);
  if (other !== undefined) return other;
  return calibratedAccelerator(accelerator, deriveCalibration(reading.profile, accelerator).training);
}

function planRow(plan: EndpointPlan): ServingPlanRow {
  const { replica, latency, replicaCount, acceleratorCount, requestsPerSPerReplica } = plan;
  const { costPerHour, costPerMillionOutputTokens } = plan;
  return {
    layout: replica.layout,
    replicaCount,
    acceleratorCount,
    requestsPerSPerReplica,
    ttftMs: latency.ttftMs,
    tpotMs: latency.tpotMs,
    costPerHour,
    costPerMillionOutputTokens,
  };
}

function closeLook(
  question: ServingSizing,
  { replica, replicaCount, latency }: EndpointPlan,
  request: RequestShape,
  k: InferenceConstants,
): ServingReport["best"] {
  const node = usualNode(replica.accelerator);
  const state = openLoop(replica, request, question.requestsPerS / replicaCount, k);
  const evidence = servingEvidenceFor(servingKindOf(replica));
  const { startingReplicas = replicaCount, storageGbPerS = null } = question;
  const batch = state.kind === "steady" ? state.batch : batchLimit(replica, request);
  return {
    memory: servingMemory(replica),
    batch,
    batchLimit: batchLimit(replica, request),
    step: decodeStep(replica, batch, meanContext(request), k),
    tpotIntervalMs: interval80(latency.tpotMs, intervalWidth(replica, "step", evidence, k)),
    ttftIntervalMs: interval80(latency.ttftMs, intervalWidth(replica, "firstToken", evidence, k)),
    coldStart: {
      ...coldStart(replica, {
        provisioningS: question.provisioningSeconds ?? 0,
        imageGb: question.imageGb ?? 0,
        imageGbPerS: question.weightsGbPerS,
        weightsGbPerS: question.weightsGbPerS,
        simultaneousReplicas: startingReplicas,
        storageGbPerS: storageGbPerS ?? Number.POSITIVE_INFINITY,
        hostLinkGbPerS: node.hostLinkGbPerS,
        acceleratorsPerNode: node.acceleratorCount,
        isCompiledBefore: false,
      }),
      startingReplicas,
      storageGbPerS,
    },
  };
}

/**
 * The answer if no layout meets the objective. It is a plan with separate prefill and decode workers, if there is one.
 * Otherwise it is the nearest objective that could be met. If no layout can run at all, it is the reason for the widest
 * layout.
 */
function nothingServes(
  question: ServingSizing,
  rejected: ServingReport["rejected"],
  disaggregated: DisaggregatedAnswer,
): Impossible {
  const last = rejected.at(-1);
  if (last !== undefined && rejected.every(({ kind }) => kind === "obstacle")) return cannotRun(question, last);
  const what = `no layout on ${question.accelerator} meets the latency targets`;
  if (disaggregated.kind === "plan") {
    const workers = `${disaggregated.prefillCount} workers for prompts and ${disaggregated.decodeCount} for answers`;
    return impossible(what, `${workers}, ${disaggregated.acceleratorCount} accelerators in all`);
  }
  const nearest = nearestReached(question, rejected);
  if (nearest !== undefined) return impossible(what, nearest);
  return impossible(what, last === undefined ? "a layout to look at" : `${layoutText(last.layout)}: ${last.reason}`);
}

/** The answer if no layout can run, whatever the latency targets. `last`: the widest of the layouts. */
function cannotRun({ layout, accelerator }: ServingSizing, last: RejectedLayout): Impossible {
  const reason = `${layoutText(last.layout)}: ${last.reason}`;
  return layout === undefined
    ? impossible(`no layout can run on ${accelerator}, such as ${reason}`, "shorter requests, or narrower weights")
    : impossible(
        `the layout cannot run on ${accelerator}; ${reason}`,
        "another layout, or none: the usual ones are compared",
      );
}

const layoutText = ({ tensor, pipeline }: ServingLayout): string => `tensor ${tensor}, pipeline ${pipeline}`;

/** Text with the nearest objective that could be met, and the layout that meets it. */
function nearestReached(question: ServingSizing, rejected: ServingReport["rejected"]): string | undefined {
  const missed = ({ ttftMs, tpotMs }: LatencyQuantile): number =>
    Math.max(ttftMs / question.ttftMs, tpotMs / question.tpotMs);
  const candidates = rejected.flatMap(({ layout, reached }) => (reached === undefined ? [] : [{ layout, reached }]));
  const [best] = candidates.toSorted((a, b) => missed(a.reached) - missed(b.reached));
  if (best === undefined) return undefined;
  const { ttftMs, tpotMs } = best.reached;
  const promise = `${Math.ceil(ttftMs)} ms to the first token and ${tpotMs.toFixed(1)} ms for each further token`;
  return `${promise}, which ${layoutText(best.layout)} keeps under little load`;
}
