/**
 * Triton Inference Server with the TensorRT-LLM backend. Metrics: the table of the Gateway API inference extension's model-server
 * protocol and Triton's metrics page; Triton serves them on a port of their own.
 */
import type { EnginePreset } from "./preset.ts";

const requests = (value: string) => ({ metric: "nv_trt_llm_request_metrics", label: "request_type", value });
const blocks = (value: string) => ({
  metric: "nv_trt_llm_kv_cache_block_metrics",
  label: "kv_cache_block_type",
  value,
});

export const triton: EnginePreset = {
  start: {
    command:
      "tritonserver --model-repository={model} --http-address={host} --http-port={port} --exit-timeout-secs={drainSeconds}",
    port: 8000,
  },
  probe: { path: "/v2/health/ready" },
  drain: { onSigterm: "finishesStreams", source: "tritonserver --help: --exit-timeout-secs" },
  protocol: { canResume: false, speaksMessages: false, speaksResponses: false },
  metrics: {
    path: "/metrics",
    port: 8002,
    waiting: [requests("waiting")],
    running: [requests("scheduled"), requests("active")],
    kvUsage: [blocks("fraction")],
    kvBlockTokens: [blocks("tokens_per")],
    kvBlocks: [blocks("max")],
  },
};
