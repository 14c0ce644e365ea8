/**
 * How each engine is probed, read and drained. Metric names: vLLM's and SGLang's documentation, llama.cpp's server README, NVIDIA's
 * Triton metrics, and the table of the Gateway API inference extension's model-server protocol.
 */
export const engineNames = ["openai", "anthropic", "vllm", "sglang", "llamacpp", "triton", "headroom"] as const;
export type EngineName = (typeof engineNames)[number];

/** One gauge: a metric's name and the labels that select it. */
export interface MetricSelector {
  readonly metric: string;
  readonly label?: string;
  readonly value?: string;
}

export interface EngineTraits {
  /** Undefined: not probed, as for providers; passive health alone counts. */
  readonly probePath: string | undefined;
  readonly metricsPath: string | undefined;
  readonly queued: readonly MetricSelector[];
  readonly running: readonly MetricSelector[];
  readonly kvUsage: readonly MetricSelector[];
  /** An info metric whose labels list the adapters that are loaded. */
  readonly loraInfo: string | undefined;
  /** Continues a chat from a partial assistant message (`continue_final_message`). */
  readonly canResume: boolean;
  readonly isProvider: boolean;
  /** Protocols it speaks itself; others are translated to chat completions. */
  readonly speaksMessages: boolean;
  readonly speaksResponses: boolean;
}

const vllm: EngineTraits = {
  probePath: "/health",
  metricsPath: "/metrics",
  queued: [{ metric: "vllm:num_requests_waiting" }],
  running: [{ metric: "vllm:num_requests_running" }],
  kvUsage: [{ metric: "vllm:kv_cache_usage_perc" }, { metric: "vllm:gpu_cache_usage_perc" }],
  loraInfo: "vllm:lora_requests_info",
  canResume: true,
  isProvider: false,
  speaksMessages: true,
  speaksResponses: true,
};

const provider: EngineTraits = {
  probePath: undefined,
  metricsPath: undefined,
  queued: [],
  running: [],
  kvUsage: [],
  loraInfo: undefined,
  canResume: false,
  isProvider: true,
  speaksMessages: false,
  speaksResponses: true,
};

export const engines: Readonly<Record<EngineName, EngineTraits>> = {
  openai: provider,
  anthropic: { ...provider, speaksMessages: true, speaksResponses: false },
  vllm,
  headroom: { ...vllm, speaksMessages: false, speaksResponses: false },
  sglang: {
    ...vllm,
    queued: [{ metric: "sglang:num_queue_reqs" }],
    running: [{ metric: "sglang:num_running_reqs" }],
    kvUsage: [{ metric: "sglang:token_usage" }],
    loraInfo: undefined,
    canResume: false,
    speaksMessages: false,
    speaksResponses: true,
  },
  llamacpp: {
    ...vllm,
    queued: [{ metric: "llamacpp:requests_deferred" }],
    running: [{ metric: "llamacpp:requests_processing" }],
    kvUsage: [{ metric: "llamacpp:kv_cache_usage_ratio" }],
    loraInfo: undefined,
    canResume: false,
    speaksMessages: true,
    speaksResponses: false,
  },
  triton: {
    ...vllm,
    probePath: "/v2/health/ready",
    queued: [{ metric: "nv_trt_llm_request_metrics", label: "request_type", value: "waiting" }],
    running: [{ metric: "nv_trt_llm_request_metrics", label: "request_type", value: "active" }],
    kvUsage: [{ metric: "nv_trt_llm_kv_cache_block_metrics", label: "kv_cache_block_type", value: "fraction" }],
    loraInfo: undefined,
    canResume: false,
    speaksMessages: false,
    speaksResponses: false,
  },
};
