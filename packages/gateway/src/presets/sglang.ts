/** SGLang: `sglang.launch_server`. Metrics: SGLang's page "Production Metrics"; they are off without --enable-metrics. */
import { metric, type EnginePreset } from "./preset.ts";

export const sglang: EnginePreset = {
  start: {
    command:
      "python -m sglang.launch_server --model-path {model} --served-model-name {name} --host {host} --port {port} --tp {accelerators} --enable-metrics",
    port: 30_000,
  },
  probe: { path: "/health" },
  // SGLang waits for its streams without a deadline. The SIGKILL after the replica's grace period ends the wait.
  drain: { onSigterm: "finishesStreams", source: "sgl-project/sglang#1838" },
  protocol: { canResume: false, speaksMessages: false, speaksResponses: true },
  metrics: {
    path: "/metrics",
    waiting: [metric("sglang:num_queue_reqs")],
    running: [metric("sglang:num_running_reqs")],
    kvUsage: [metric("sglang:token_usage")],
    // Releases before 0.5.11 have the amounts as labels.
    kvBlockTokens: [metric("sglang:page_size"), { metric: "sglang:cache_config_info", amountLabel: "page_size" }],
    kvBlocks: [metric("sglang:num_pages"), { metric: "sglang:cache_config_info", amountLabel: "num_pages" }],
    timeToFirstToken: ["sglang:time_to_first_token_seconds"],
    timePerOutputToken: ["sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"],
    requestLatency: ["sglang:e2e_request_latency_seconds"],
    promptTokens: ["sglang:prompt_tokens_total"],
    generationTokens: ["sglang:generation_tokens_total"],
  },
};
