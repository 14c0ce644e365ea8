/** The server in examples/serving. Its metrics have vLLM's names. It has none for adapters. */
import type { EnginePreset } from "./preset.ts";
import { vllm } from "./vllm.ts";

const { loraInfo: _none, ...metrics } = vllm.metrics;

export const headroom: EnginePreset = {
  start: {
    command: "node serve.mjs --model {model} --name {name} --host {host} --port {port} --drain-seconds {drainSeconds}",
    port: 8000,
  },
  probe: { path: "/health" },
  drain: { onSigterm: "finishesStreams", source: "examples/serving/serve.test.ts" },
  protocol: { canResume: true, speaksMessages: false, speaksResponses: false },
  metrics,
};
