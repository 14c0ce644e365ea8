import type { Accelerator } from "../catalogue/accelerator.ts";
import type { ModelArchitecture } from "../catalogue/model.ts";
import type { InferenceConstants } from "../constants-inference.ts";
import { ignorance } from "./abstention.ts";
import type { Ignorance } from "./abstention.ts";
import type { RequestShape } from "./batching.ts";
import { obstacles } from "./feasibility.ts";
import type { Obstacle } from "./feasibility.ts";
import { latencyQuantile, requestsPerSMax } from "./queueing.ts";
import type { LatencyQuantile } from "./queueing.ts";
import type { ServingFormats } from "./quantization.ts";
import { acceleratorCount, buildReplica } from "./replica.ts";
import type { BuiltReplica, Replica, ServingEngine, ServingLayout } from "./replica.ts";

/** Latency objective of an endpoint: the share `share` of the requests must stay below both times. */
export interface ServingObjective {
  readonly ttftMs: number;
  readonly tpotMs: number;
  readonly share: number;
}

export interface EndpointQuestion {
  readonly model: ModelArchitecture;
  readonly accelerator: Accelerator;
  readonly formats: ServingFormats;
  readonly engine: ServingEngine;
  readonly request: RequestShape;
  readonly requestsPerS: number;
  readonly objective: ServingObjective;
  readonly pricePerAcceleratorHour: number;
  /** Layouts to consider. If absent, the usual layouts are considered. */
  readonly layouts?: readonly ServingLayout[];
}

/** A layout and number of replicas that meet the objective. */
export interface EndpointPlan {
  readonly replica: BuiltReplica;
  readonly replicaCount: number;
  readonly acceleratorCount: number;
  /** Highest request rate at which one replica meets the objective. */
  readonly requestsPerSPerReplica: number;
  readonly latency: LatencyQuantile;
  readonly costPerHour: number;
  readonly costPerMillionOutputTokens: number;
}

/** A layout that does not meet the objective, with the reason: it cannot run, or it is too slow. */
export interface RejectedLayout {
  readonly kind: "obstacle" | "objective";
  readonly layout: ServingLayout;
  readonly reason: string;
  /** Latencies of the layout's replica under almost no load, if it can run. */
  readonly reached?: LatencyQuantile;
}

export type EndpointAnswer =
  /**
   * `plans`: layouts that meet the objective, sorted by cost from the cheapest. `rejected`: layouts that do not meet
   * it.
   */
  | { readonly kind: "plans"; readonly plans: readonly EndpointPlan[]; readonly rejected: readonly RejectedLayout[] }
  | { readonly kind: "impossible"; readonly rejected: readonly RejectedLayout[] }
  | { readonly kind: "unknown"; readonly reasons: readonly Ignorance[] };

/** Widths of tensor parallelism and numbers of attention-data ranks that usual layouts have. */
const widths = [1, 2, 4, 8, 16, 32, 64];

/** Number of bisection steps of the search for a rate. They determine the rate to a millionth of the largest rate. */
const searchSteps = 20;

/**
 * Usual layouts: every width of tensor parallelism within the scale-up domain, and the largest of these widths with two
 * or four pipeline stages. For mixtures of experts, every division of a domain into attention-data ranks is included.
 */
export function usualLayouts(model: ModelArchitecture, accelerator: Accelerator): readonly ServingLayout[] {
  const domain = Math.max(accelerator.scaleUp.domainCount, accelerator.scaleUp.kind === "pcie" ? 8 : 1);
  const tensors = widths.filter((width) => width <= domain && model.attention.headCount % width === 0);
  const plain = tensors.map((tensor) => ({ tensor, pipeline: 1, attentionData: 1, expert: 1 }));
  const widest = tensors.at(-1) ?? 1;
  const staged = [2, 4].map((pipeline) => ({ tensor: widest, pipeline, attentionData: 1, expert: 1 }));
  if (model.experts === undefined) return [...plain, ...staged];
  const shared = tensors.flatMap((tensor) =>
    widths
      .filter((ranks) => ranks > 1 && tensor * ranks <= domain)
      .map((attentionData) => ({ tensor, pipeline: 1, attentionData, expert: tensor * attentionData })),
  );
  return [...plain, ...staged, ...shared];
}

/**
 * The highest request rate in requests per second at which a replica meets the objective, or 0 if it cannot meet it
 * even for a single request. Both latencies grow with the rate, so bisection finds the highest rate.
 */
export function requestsPerSWithin(
  replica: BuiltReplica,
  request: RequestShape,
  objective: ServingObjective,
  k: InferenceConstants,
): number {
  const keeps = (requestsPerS: number): boolean => {
    const latency = latencyQuantile(replica, request, { requestsPerS, share: objective.share }, k);
    return latency !== undefined && latency.ttftMs <= objective.ttftMs && latency.tpotMs <= objective.tpotMs;
  };
  let low = 0;
  let high = requestsPerSMax(replica, request, k);
  if (!keeps(high * 1e-6)) return 0;
  for (let index = 0; index < searchSteps; index += 1) {
    const middle = (low + high) / 2;
    if (keeps(middle)) low = middle;
    else high = middle;
  }
  return low;
}

function planFor(
  question: EndpointQuestion,
  layout: ServingLayout,
  k: InferenceConstants,
): EndpointPlan | RejectedLayout {
  const { model, accelerator, formats, engine, request, objective } = question;
  const plain: Replica = { model, accelerator, formats, engine, layout };
  const found: readonly Obstacle[] = obstacles(plain, request);
  if (found.length > 0) {
    return { kind: "obstacle", layout, reason: found.map(({ message }) => message).join("; ") };
  }
  const replica = buildReplica(plain);
  const within = requestsPerSWithin(replica, request, objective, k);
  if (within <= 0) return missedObjective(replica, question, k);
  const replicaCount = Math.max(1, Math.ceil(question.requestsPerS / within));
  const load = { requestsPerS: question.requestsPerS / replicaCount, share: objective.share };
  const latency = latencyQuantile(replica, request, load, k);
  if (latency === undefined) return { kind: "objective", layout, reason: "one replica's share is more than it takes" };
  const total = replicaCount * acceleratorCount(layout);
  const costPerHour = total * question.pricePerAcceleratorHour;
  const millionTokensPerHour = (question.requestsPerS * request.outputTokens * 3600) / 1e6;
  return {
    replica,
    replicaCount,
    acceleratorCount: total,
    requestsPerSPerReplica: within,
    latency,
    costPerHour,
    costPerMillionOutputTokens: costPerHour / millionTokensPerHour,
  };
}

/**
 * The rejection of a layout that misses the objective even under almost no load. The reason states its latencies and
 * those of the objective.
 */
function missedObjective(replica: BuiltReplica, question: EndpointQuestion, k: InferenceConstants): RejectedLayout {
  const { layout } = replica;
  const { request, objective } = question;
  const requestsPerS = requestsPerSMax(replica, request, k) * 1e-6;
  const best = latencyQuantile(replica, request, { requestsPerS, share: objective.share }, k);
  if (best === undefined) return { kind: "objective", layout, reason: "no request fits" };
  const reached = `${best.ttftMs.toFixed(0)} ms and ${best.tpotMs.toFixed(1)} ms`;
  const reason = `an idle replica reaches ${reached} to the first and per further token, asked are ${objective.ttftMs} and ${objective.tpotMs} ms`;
  return { kind: "objective", layout, reason, reached: best };
}

/** For each layout: replicas, accelerators and cost for a request rate within an objective. */
export function planEndpoint(question: EndpointQuestion, k: InferenceConstants): EndpointAnswer {
  const layouts = question.layouts ?? usualLayouts(question.model, question.accelerator);
  const plans: EndpointPlan[] = [];
  const rejected: RejectedLayout[] = [];
  const { model, accelerator, formats, engine } = question;
  const first = layouts[0];
  const unknown = first === undefined ? [] : ignorance({ model, accelerator, formats, engine, layout: first });
  if (unknown.length > 0) return { kind: "unknown", reasons: unknown };
  for (const layout of layouts) {
    const plan = planFor(question, layout, k);
    if ("reason" in plan) rejected.push(plan);
    else plans.push(plan);
  }
  if (plans.length === 0) return { kind: "impossible", rejected };
  // All layouts have the same price per accelerator, so sorting by the number of accelerators sorts by cost, even if no
  // price is given.
  plans.sort((a, b) => a.acceleratorCount - b.acceleratorCount || a.latency.tpotMs - b.latency.tpotMs);
  return { kind: "plans", plans, rejected };
}
