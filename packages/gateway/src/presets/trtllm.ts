/**
 * TensorRT-LLM: `trtllm-serve`. Metrics: tensorrt_llm/metrics/collector.py; they are off without `return_perf_metrics: true` in the
 * file of --config, and `/metrics` is JSON.
 */
import { metric, type EnginePreset } from "./preset.ts";

export const trtllm: EnginePreset = {
  start: {
    command: "trtllm-serve {model} --host {host} --port {port} --tp_size {accelerators} --config trtllm.yaml",
    port: 8000,
  },
  probe: { path: "/health" },
  drain: { onSigterm: "dropsStreams", source: "not documented, so not relied on" },
  protocol: { canResume: false, speaksMessages: false, speaksResponses: true },
  metrics: {
    path: "/prometheus/metrics",
    waiting: [metric("trtllm_num_requests_waiting")],
    running: [metric("trtllm_num_requests_running")],
    kvUsage: [metric("trtllm_kv_cache_utilization")],
    kvBlockTokens: [metric("trtllm_kv_cache_tokens_per_block")],
    kvBlocks: [metric("trtllm_kv_cache_max_blocks")],
    timeToFirstToken: ["trtllm_time_to_first_token_seconds"],
    timePerOutputToken: ["trtllm_time_per_output_token_seconds"],
    requestLatency: ["trtllm_e2e_request_latency_seconds"],
    queueTime: ["trtllm_request_queue_time_seconds"],
    promptTokens: ["trtllm_prompt_tokens_total"],
    generationTokens: ["trtllm_generation_tokens_total"],
  },
};
