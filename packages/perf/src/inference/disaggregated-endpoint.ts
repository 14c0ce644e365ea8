import type { InferenceConstants } from "../constants-inference.ts";
import { promptLatencyMs, promptMs } from "./batching.ts";
import { kvTransferMs } from "./disaggregation.ts";
import type { EndpointQuestion } from "./endpoint.ts";
import { obstacles } from "./feasibility.ts";
import { latencyQuantile, promptWaitMs, waitingTail } from "./queueing.ts";
import type { LatencyQuantile } from "./queueing.ts";
import { acceleratorCount, buildReplica } from "./replica.ts";
import type { BuiltReplica, ServingLayout } from "./replica.ts";

/** Workers for prompts and workers for answers that keep an objective together. */
export interface DisaggregatedPlan {
  readonly kind: "plan";
  readonly prefillCount: number;
  readonly decodeCount: number;
  readonly acceleratorCount: number;
  /** The parts of the time to the first token, and the time per further token, at the promised share. */
  readonly latency: LatencyQuantile;
  readonly transferMs: number;
  readonly costPerHour: number;
  readonly costPerMillionOutputTokens: number;
}

export type DisaggregatedAnswer = DisaggregatedPlan | { readonly kind: "impossible"; readonly reason: string };

/** Workers of one stage at most; beyond it the objective is out of reach, not short of machines. */
const workersMax = 65_536;

/** The least count for which `keeps` holds, if it holds for any: it holds for every larger one too. */
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

/** Time to the first token at the promised share with so many prefill workers, the transfer of the cache included. */
function firstTokenMs(prefill: BuiltReplica, question: EndpointQuestion, count: number, k: InferenceConstants): number {
  const { request, requestsPerS, objective } = question;
  const own = promptLatencyMs(prefill, request, 0, k);
  const busyShare = (requestsPerS * promptMs(prefill, request, k)) / 1000 / count;
  if (busyShare >= 1) return Number.POSITIVE_INFINITY;
  const waiting = promptWaitMs(own, busyShare) * waitingTail(objective.share);
  return k.frontEndMs + own + waiting + kvTransferMs(prefill, request, k);
}

/** Answers without prompts: to a decode worker every prompt is one whose cache is there already. */
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

/**
 * The fewest workers of both kinds for a rate within an objective. The two stages are sized apart, since prompts decide the
 * first time and answers the second (DistServe, arXiv 2401.09670 §4).
 */
export function planDisaggregated(
  question: EndpointQuestion,
  layouts: { readonly prefill: ServingLayout; readonly decode: ServingLayout },
  k: InferenceConstants,
): DisaggregatedAnswer {
  const { model, accelerator, formats, engine, request, objective } = question;
  const plain = { model, accelerator, formats, engine };
  const found = [layouts.prefill, layouts.decode].flatMap((layout) => obstacles({ ...plain, layout }, request));
  const [obstacle] = found;
  if (obstacle !== undefined) return { kind: "impossible", reason: obstacle.message };
  const prefill = buildReplica({ ...plain, layout: layouts.prefill });
  const decode = buildReplica({ ...plain, layout: layouts.decode });
  const prefillCount = leastCount((count) => firstTokenMs(prefill, question, count, k) <= objective.ttftMs);
  if (prefillCount === undefined) {
    const alone = firstTokenMs(prefill, question, workersMax, k).toFixed(0);
    return { kind: "impossible", reason: `an idle prefill worker takes ${alone} ms to the first token` };
  }
  const decodeCount = leastCount((count) => {
    const latency = decodeLatency(decode, question, count, k);
    return latency !== undefined && latency.tpotMs <= objective.tpotMs;
  });
  if (decodeCount === undefined) {
    const alone = decodeLatency(decode, question, workersMax, k)?.tpotMs.toFixed(1) ?? "more than it has";
    return { kind: "impossible", reason: `an idle decode worker takes ${alone} ms per token` };
  }
  const count = prefillCount * acceleratorCount(layouts.prefill) + decodeCount * acceleratorCount(layouts.decode);
  const costPerHour = count * question.pricePerAcceleratorHour;
  return {
    kind: "plan",
    prefillCount,
    decodeCount,
    acceleratorCount: count,
    latency: {
      ttftMs: firstTokenMs(prefill, question, prefillCount, k),
      tpotMs: decodeLatency(decode, question, decodeCount, k)?.tpotMs ?? Number.NaN,
    },
    transferMs: kvTransferMs(prefill, request, k),
    costPerHour,
    costPerMillionOutputTokens: costPerHour / ((question.requestsPerS * request.outputTokens * 3600) / 1e6),
  };
}
