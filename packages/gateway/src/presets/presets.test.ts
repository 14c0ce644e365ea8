import { describe, expect, it } from "vitest";
import { engines } from "../replicas/engines.ts";
import { readLoad } from "../replicas/model-server-metrics.ts";
import { presets, startCommand } from "./index.ts";

const values = {
  model: "/models/m one",
  name: "chat",
  host: "127.0.0.1",
  port: 9001,
  accelerators: 2,
  drainSeconds: 45,
};

describe.each(Object.entries(presets))("the preset %s", (name, preset) => {
  it("starts a replica of the model on its address", () => {
    const command = startCommand(preset, values);
    expect(command.join(" ")).not.toMatch(/[{}]/);
    expect(command.join("\n")).toContain("/models/m one");
    expect(command.join(" ")).toContain("9001");
    if (preset.drain.onSigterm === "finishesStreams" && name !== "sglang") expect(command.join(" ")).toContain("45");
  });

  it("is what the gateway probes and reads", () => {
    const { waiting, running, kvUsage } = preset.metrics;
    const sample = ({ metric, label, value }: { metric: string; label?: string; value?: string }, amount: number) =>
      `${metric}{model_name="m"${label === undefined ? "" : `,${label}="${value}"`}} ${amount}`;
    const text = [sample(waiting[0]!, 3), sample(running[0]!, 5), sample(kvUsage[0]!, 0.25)].join("\n");
    expect(readLoad(text, engines[name as keyof typeof presets])).toMatchObject({
      queued: 3,
      running: 5,
      kvUsage: 0.25,
    });
    expect(engines[name as keyof typeof presets].probePath).toBe(preset.probe.path);
  });
});

describe("the model-server protocol", () => {
  it("gives vLLM's adapters and the size of its KV cache over all ranks, newest sample first", () => {
    const text = [
      'vllm:lora_requests_info{max_lora="4",running_lora_adapters="old",waiting_lora_adapters=""} 100',
      'vllm:lora_requests_info{max_lora="4",running_lora_adapters="a, b",waiting_lora_adapters="c"} 200.5',
      'vllm:cache_config_info{block_size="16",cache_dtype="auto",engine="0",num_gpu_blocks="1000",num_cpu_blocks="None"} 1.0',
      'vllm:cache_config_info{block_size="16",cache_dtype="auto",engine="1",num_gpu_blocks="500",num_cpu_blocks="None"} 1.0',
    ].join("\n");
    expect(readLoad(text, engines.vllm)).toMatchObject({
      loraAdapters: ["a", "b", "c"],
      maxAdapters: 4,
      kvCapacityTokens: 24_000,
    });
    const unknown =
      'vllm:cache_config_info{block_size="16",num_gpu_blocks="None"} 1\nvllm:lora_requests_info{max_lora="x"} 1';
    expect(readLoad(unknown, engines.vllm)).toMatchObject({ maxAdapters: undefined, kvCapacityTokens: undefined });
  });

  it.each([
    ["sglang", "sglang:page_size 64\nsglang:num_pages 100", 6400],
    ["sglang", 'sglang:cache_config_info{page_size="1",num_pages="5000"} 1', 5000],
    ["trtllm", "trtllm_kv_cache_tokens_per_block 32\ntrtllm_kv_cache_max_blocks 10", 320],
    [
      "triton",
      'nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per"} 64\nnv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max"} 7\nnv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction"} 0.5',
      448,
    ],
  ] as const)("gives the size of the KV cache of %s", (engine, text, tokens) => {
    expect(readLoad(text, engines[engine]).kvCapacityTokens).toBe(tokens);
  });
});

it("refuses a start command with a value that no replica has", () => {
  const preset = { ...presets.vllm, start: { command: "x {secret}", port: 1 } };
  expect(() => startCommand(preset, values)).toThrow("secret");
});
