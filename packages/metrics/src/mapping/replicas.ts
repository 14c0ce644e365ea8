/**
 * Metrics of inference engines, as values of a replica: vLLM, SGLang and llama.cpp's server. Engines that count the same
 * thing under different names give the same value.
 * https://docs.vllm.ai/en/latest/usage/metrics.html
 */
import { mappedValue } from "./rules.ts";
import type { Mapping, MappingRule } from "./rules.ts";

const value = mappedValue.bind(null, "replica");
const rate = { combine: "sum", isRate: true } as const;
const mean = { combine: "sum", isRate: true, overReplicas: "mean" } as const;
const share = { combine: "mean", factor: 100, overReplicas: "mean" } as const;

const average = (value: string, metric: string): readonly MappingRule[] => [
  { metric: `${metric}_sum`, value },
  { metric: `${metric}_count`, value, isDivisor: true },
];

export const replicaMapping: Mapping = {
  values: [
    value("requestsRunning", "requests", { combine: "sum" }),
    value("requestsQueued", "requests", { combine: "sum" }),
    value("kvCachePercent", "%", share),
    value("promptTokensPerS", "tokens/s", rate),
    value("generatedTokensPerS", "tokens/s", rate),
    value("requestsPerS", "requests/s", rate),
    value("preemptionsPerS", "1/s", rate),
    value("firstTokenS", "s", mean),
    value("tokenS", "s", mean),
    value("requestS", "s", mean),
  ],
  rules: [
    { metric: "vllm:num_requests_running", value: "requestsRunning" },
    { metric: "sglang:num_running_reqs", value: "requestsRunning" },
    { metric: "llamacpp:requests_processing", value: "requestsRunning" },
    { metric: "vllm:num_requests_waiting", value: "requestsQueued" },
    { metric: "sglang:num_queue_reqs", value: "requestsQueued" },
    { metric: "llamacpp:requests_deferred", value: "requestsQueued" },
    { metric: "vllm:kv_cache_usage_perc", value: "kvCachePercent" },
    { metric: "vllm:gpu_cache_usage_perc", value: "kvCachePercent" },
    { metric: "sglang:token_usage", value: "kvCachePercent" },
    { metric: "llamacpp:kv_cache_usage_ratio", value: "kvCachePercent" },
    { metric: "vllm:prompt_tokens_total", value: "promptTokensPerS" },
    { metric: "sglang:prompt_tokens_total", value: "promptTokensPerS" },
    { metric: "llamacpp:prompt_tokens_total", value: "promptTokensPerS" },
    { metric: "vllm:generation_tokens_total", value: "generatedTokensPerS" },
    { metric: "sglang:generation_tokens_total", value: "generatedTokensPerS" },
    { metric: "llamacpp:tokens_predicted_total", value: "generatedTokensPerS" },
    { metric: "vllm:request_success_total", value: "requestsPerS" },
    { metric: "sglang:num_requests_total", value: "requestsPerS" },
    { metric: "vllm:num_preemptions_total", value: "preemptionsPerS" },
    ...average("firstTokenS", "vllm:time_to_first_token_seconds"),
    ...average("firstTokenS", "sglang:time_to_first_token_seconds"),
    ...average("tokenS", "vllm:time_per_output_token_seconds"),
    ...average("tokenS", "vllm:inter_token_latency_seconds"),
    ...average("requestS", "vllm:e2e_request_latency_seconds"),
    ...average("requestS", "sglang:e2e_request_latency_seconds"),
  ],
};
