/** vLLM: `vllm serve`. Metrics: vllm/v1/metrics/loggers.py; names of 0.x releases follow the current ones. */
import { metric, type EnginePreset } from "./preset.ts";

export const vllm: EnginePreset = {
  start: {
    command:
      "vllm serve {model} --served-model-name {name} --host {host} --port {port} --tensor-parallel-size {accelerators} --shutdown-timeout {drainSeconds}",
    port: 8000,
  },
  probe: { path: "/health" },
  // Without --shutdown-timeout, or with 0, vLLM aborts running requests.
  drain: { onSigterm: "finishesStreams", source: "vllm-project/vllm#32420, #43208" },
  protocol: { canResume: true, speaksMessages: true, speaksResponses: true, tokenizePath: "/tokenize" },
  metrics: {
    path: "/metrics",
    waiting: [metric("vllm:num_requests_waiting")],
    running: [metric("vllm:num_requests_running")],
    kvUsage: [metric("vllm:kv_cache_usage_perc"), metric("vllm:gpu_cache_usage_perc")],
    kvBlockTokens: [{ metric: "vllm:cache_config_info", amountLabel: "block_size" }],
    kvBlocks: [{ metric: "vllm:cache_config_info", amountLabel: "num_gpu_blocks" }],
    loraInfo: "vllm:lora_requests_info",
    timeToFirstToken: ["vllm:time_to_first_token_seconds"],
    timePerOutputToken: ["vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"],
    requestLatency: ["vllm:e2e_request_latency_seconds"],
    queueTime: ["vllm:request_queue_time_seconds"],
    promptTokens: ["vllm:prompt_tokens_total"],
    generationTokens: ["vllm:generation_tokens_total"],
  },
};
