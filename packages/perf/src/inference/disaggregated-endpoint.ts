import type { InferenceConstants } from "../constants-inference.ts";
import { promptLatencyMs, promptMs, promptWaitMs } from "./batching.ts";
import { kvTransferMs } from "./disaggregation.ts";
import { usualLayouts, type EndpointQuestion } from "./endpoint.ts";
import { obstacles } from "./feasibility.ts";
import { latencyQuantile, waitingTail } from "./queueing.ts";
import type { LatencyQuantile } from "./queueing.ts";
import { acceleratorCount, buildReplica } from "./replica.ts";
import type { BuiltReplica, ServingLayout } from "./replica.ts";

/** Numbers of prefill and decode workers that together meet an objective. */
export interface DisaggregatedPlan {
  readonly kind: "plan";
  readonly prefill: ServingLayout;
  readonly prefillCount: number;
  readonly decode: ServingLayout;
  readonly decodeCount: number;
  readonly acceleratorCount: number;
  /**
   * The parts of the time to the first token and the time per output token after the first, at the objective's
   * quantile.
   */
  readonly latency: LatencyQuantile;
  readonly transferMs: number;
  readonly costPerHour: number;
  readonly costPerMillionOutputTokens: number;
}

export type DisaggregatedAnswer = DisaggregatedPlan | { readonly kind: "impossible"; readonly reason: string };

/** The smallest number of workers of one stage (prefill or decode) that meets this stage's part of the objective. */
interface Stage {
  readonly layout: ServingLayout;
  readonly replica: BuiltReplica;
  readonly count: number;
}

/** Maximum number of workers of one stage. If more are needed, the objective counts as unreachable. */
const workersMax = 65_536;

const overloaded = `the traffic needs more than ${workersMax} workers`;

/** The smallest count for which `keeps` returns true, or `undefined` if there is none. `keeps` must be monotonic. */
function leastCount(keeps: (count: number) => boolean): number | undefined {
  if (!keeps(workersMax)) return undefined;
  let low = 0;
  let high = workersMax;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (keeps(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/**
 * Time to the first token in ms at the objective's quantile, with this number of prefill workers. It includes the
 * transfer of the cache.
 */
function firstTokenMs(prefill: BuiltReplica, question: EndpointQuestion, count: number, k: InferenceConstants): number {
  const { request, requestsPerS, objective } = question;
  const own = promptLatencyMs(prefill, request, 0, k);
  const busyShare = (requestsPerS * promptMs(prefill, request, k)) / 1000 / count;
  if (busyShare >= 1) return Number.POSITIVE_INFINITY;
  const waiting = promptWaitMs(own, busyShare) * waitingTail(objective.share);
  return k.requestOverheadMs + own + waiting + kvTransferMs(prefill, request, k);
}

/**
 * Latency of decoding only. For a decode worker, every prompt counts as cached, because the prefill workers have
 * computed it.
 */
function decodeLatency(
  decode: BuiltReplica,
  question: EndpointQuestion,
  count: number,
  k: InferenceConstants,
): LatencyQuantile | undefined {
  const cached = { ...question.request, prefixHitShare: 1 };
  const load = { requestsPerS: question.requestsPerS / count, share: question.objective.share };
  return latencyQuantile(decode, cached, load, k);
}

function stageReplica(question: EndpointQuestion, layout: ServingLayout): BuiltReplica | string {
  const { model, accelerator, formats, engine, request } = question;
  const replica = { model, accelerator, formats, engine, layout };
  return obstacles(replica, request)[0]?.message ?? buildReplica(replica);
}

function prefillStage(question: EndpointQuestion, layout: ServingLayout, k: InferenceConstants): Stage | string {
  const replica = stageReplica(question, layout);
  if (typeof replica === "string") return replica;
  const count = leastCount((each) => firstTokenMs(replica, question, each, k) <= question.objective.ttftMs);
  if (count !== undefined) return { layout, replica, count };
  const ms = firstTokenMs(replica, question, workersMax, k);
  return Number.isFinite(ms) ? `an idle prefill worker takes ${ms.toFixed(0)} ms to the first token` : overloaded;
}

function decodeStage(question: EndpointQuestion, layout: ServingLayout, k: InferenceConstants): Stage | string {
  const replica = stageReplica(question, layout);
  if (typeof replica === "string") return replica;
  const count = leastCount((each) => {
    const latency = decodeLatency(replica, question, each, k);
    return latency !== undefined && latency.tpotMs <= question.objective.tpotMs;
  });
  if (count !== undefined) return { layout, replica, count };
  const latency = decodeLatency(replica, question, workersMax, k);
  return latency === undefined ? overloaded : `an idle decode worker takes ${latency.tpotMs.toFixed(1)} ms per token`;
}

const acceleratorsOf = ({ layout, count }: Stage): number => count * acceleratorCount(layout);

/**
 * The stage with the fewest accelerators; among equals, the one whose layout comes first. If no layout is possible, the
 * result is the reason for the first layout.
 */
function smallestStage(stages: readonly (Stage | string)[]): Stage | string {
  const possible = stages.filter((stage) => typeof stage !== "string");
  const [smallest] = possible.toSorted((a, b) => acceleratorsOf(a) - acceleratorsOf(b));
  return smallest ?? stages[0] ?? "there is no layout to look at";
}

function planOfStages(
  question: EndpointQuestion,
  prefill: Stage | string,
  decode: Stage | string,
  k: InferenceConstants,
): DisaggregatedAnswer {
  if (typeof prefill === "string") return { kind: "impossible", reason: prefill };
  if (typeof decode === "string") return { kind: "impossible", reason: decode };
  const { request, requestsPerS } = question;
  const count = acceleratorsOf(prefill) + acceleratorsOf(decode);
  const costPerHour = count * question.pricePerAcceleratorHour;
  return {
    kind: "plan",
    prefill: prefill.layout,
    prefillCount: prefill.count,
    decode: decode.layout,
    decodeCount: decode.count,
    acceleratorCount: count,
    latency: {
      ttftMs: firstTokenMs(prefill.replica, question, prefill.count, k),
      tpotMs: decodeLatency(decode.replica, question, decode.count, k)?.tpotMs ?? Number.NaN,
    },
    transferMs: kvTransferMs(prefill.replica, request, k),
    costPerHour,
    costPerMillionOutputTokens: costPerHour / ((requestsPerS * request.outputTokens * 3600) / 1e6),
  };
}

/**
 * The smallest numbers of both kinds of workers for a request rate within an objective. The two stages are sized
 * independently, because prefill determines the time to the first token and decode the time per further token
 * (DistServe, arXiv 2401.09670 §4).
 */
export function planDisaggregated(
  question: EndpointQuestion,
  layouts: { readonly prefill: ServingLayout; readonly decode: ServingLayout },
  k: InferenceConstants,
): DisaggregatedAnswer {
  return planOfStages(
    question,
    prefillStage(question, layouts.prefill, k),
    decodeStage(question, layouts.decode, k),
    k,
  );
}

/**
 * The cheapest plan over the given layouts, or over the usual layouts if none are given. The stages share no
 * accelerators, so each stage uses the layout that is best for it.
 */
export function cheapestDisaggregated(question: EndpointQuestion, k: InferenceConstants): DisaggregatedAnswer {
  const layouts = question.layouts ?? usualLayouts(question.model, question.accelerator);
  const prefill = smallestStage(layouts.map((layout) => prefillStage(question, layout, k)));
  const decode = smallestStage(layouts.map((layout) => decodeStage(question, layout, k)));
  return planOfStages(question, prefill, decode, k);
}
