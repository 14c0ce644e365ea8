/** llama.cpp: `llama-server`. Metrics: tools/server/README.md; they are off without --metrics, and there are no histograms. */
import { metric, type EnginePreset } from "./preset.ts";

export const llamacpp: EnginePreset = {
  start: {
    command: "llama-server --model {model} --alias {name} --host {host} --port {port} --n-gpu-layers 999 --metrics",
    port: 8080,
  },
  probe: { path: "/health" },
  drain: { onSigterm: "dropsStreams", source: "measured: SIGTERM with a request in flight did not end the process" },
  protocol: { canResume: false, speaksMessages: true, speaksResponses: false },
  metrics: {
    path: "/metrics",
    waiting: [metric("llamacpp:requests_deferred")],
    running: [metric("llamacpp:requests_processing")],
    kvUsage: [metric("llamacpp:kv_cache_usage_ratio")], // Only releases before 2025-08 have this metric.
    promptTokens: ["llamacpp:prompt_tokens_total"],
    generationTokens: ["llamacpp:tokens_predicted_total"],
  },
};
