import { expect, it } from "vitest";
import { customMapping, readMetricSource } from "../sources/declaration.ts";
import { builtInMappings } from "./built-in.ts";
import { combineReplicas } from "./combine-replicas.ts";
import { MappedReading, MappingIndex } from "./mapped-reading.ts";

const index = new MappingIndex(builtInMappings);

function valuesAfter(reading: MappedReading, atMs: number, ...lines: readonly string[]): object {
  reading.readText(lines.join("\n"));
  return Object.fromEntries(
    reading.take(atMs).map(({ subject, values }) => [`${subject.kind}${subject.index}`, values] as const),
  );
}

it("maps dcgm-exporter to accelerators, without the lines of MIG instances", () => {
  const labels = 'gpu="3",UUID="GPU-1",device="nvidia3",modelName="NVIDIA H100 80GB HBM3",Hostname="other-node"';
  const values = valuesAfter(
    new MappedReading(index),
    1_000,
    `DCGM_FI_DEV_GPU_UTIL{${labels}} 97`,
    `DCGM_FI_DEV_GPU_UTIL{${labels},GPU_I_ID="2"} 4`,
    `DCGM_FI_DEV_FB_USED{${labels}} 70000`,
    `DCGM_FI_DEV_FB_FREE{${labels}} 11000`,
    `DCGM_FI_DEV_FB_RESERVED{${labels}} 559`,
    `DCGM_FI_DEV_POWER_USAGE{${labels}} 645.5`,
    `DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{${labels}} 0.25`,
    `DCGM_FI_DEV_GPU_TEMP{gpu="x"} 61`,
    `DCGM_FI_DEV_GPU_TEMP{${labels}} NaN`,
  );
  expect(values).toEqual({
    accelerator3: {
      busyMilli: 970,
      memoryUsedMib: 70_000,
      memoryTotalMib: 81_559,
      powerMilliwatts: 645_500,
      tensorPercent: 25,
    },
  });
});

it("maps the node exporter, with rates from the second reading on and after a counter that went back", () => {
  const reading = new MappedReading(index);
  const lines = (idle: readonly number[], received: number): readonly string[] => [
    ...idle.map((seconds, cpu) => `node_cpu_seconds_total{cpu="${cpu}",mode="idle"} ${seconds}`),
    `node_cpu_seconds_total{cpu="0",mode="user"} 9`,
    "node_memory_MemTotal_bytes 1000",
    "node_memory_MemAvailable_bytes 400",
    'node_network_receive_bytes_total{device="lo"} 5e9',
    `node_network_receive_bytes_total{device="eth0"} ${received}`,
  ];
  const memory = { memoryUsedBytes: 600, memoryTotalBytes: 1_000 };
  expect(valuesAfter(reading, 1_000, ...lines([100, 200], 1_000))).toEqual({ node: memory });
  expect(valuesAfter(reading, 11_000, ...lines([105, 210], 6_000))).toEqual({
    node: { ...memory, cpuPercent: 25, networkReceivedBytesPerS: 500 },
  });
  expect(valuesAfter(reading, 21_000, ...lines([105, 210], 2_000))).toEqual({
    node: { ...memory, cpuPercent: 100, networkReceivedBytesPerS: 200 },
  });
});

it("gives no rate over several counters while one of them comes, goes or goes back", () => {
  const reading = new MappedReading(index);
  const received = (atS: number, counters: Readonly<Record<string, number>>): unknown => {
    const lines = Object.entries(counters).map(
      ([device, bytes]) => `node_network_receive_bytes_total{device="${device}"} ${bytes}`,
    );
    return valuesAfter(reading, atS * 1_000, ...lines);
  };
  const rate = (networkReceivedBytesPerS: number): object => ({ node: { networkReceivedBytesPerS } });
  expect(received(10, { eth0: 5e12, eth1: 1_000 })).toEqual({});
  expect(received(20, { eth0: 5e12, eth1: 2_000 })).toEqual(rate(100));
  expect(received(30, { eth0: 5e12 })).toEqual({});
  expect(received(40, { eth0: 5e12 })).toEqual(rate(0));
  expect(received(50, { eth0: 5e12, eth1: 9e9 })).toEqual({});
  expect(received(60, { eth0: 5e12, eth1: 0 })).toEqual({});
  expect(received(70, { eth0: 5e12, eth1: 500 })).toEqual(rate(50));
});

it("maps vLLM, with the mean time to the first token of the requests since the last reading", () => {
  const reading = new MappedReading(index);
  const lines = (sum: number, count: number): readonly string[] => [
    'vllm:num_requests_running{model_name="m"} 3',
    'vllm:kv_cache_usage_perc{model_name="m"} 0.5',
    `vllm:time_to_first_token_seconds_sum{model_name="m"} ${sum}`,
    `vllm:time_to_first_token_seconds_count{model_name="m"} ${count}`,
    `vllm:generation_tokens_total{model_name="m"} ${count * 100}`,
  ];
  const now = { requestsRunning: 3, kvCachePercent: 50 };
  expect(valuesAfter(reading, 1_000, ...lines(10, 100))).toEqual({ replica: now });
  expect(valuesAfter(reading, 11_000, ...lines(12, 110))).toEqual({
    replica: { ...now, firstTokenS: 0.2, generatedTokensPerS: 100 },
  });
  expect(valuesAfter(reading, 21_000, ...lines(12, 110))).toEqual({ replica: { ...now, generatedTokensPerS: 0 } });
});

it("sums the amounts of replicas and averages their shares", () => {
  const one = { requestsRunning: 3, kvCachePercent: 50, firstTokenS: 0.1 };
  const two = { requestsRunning: 5, kvCachePercent: 70 };
  expect(combineReplicas([one, two])).toEqual({ requestsRunning: 8, kvCachePercent: 60, firstTokenS: 0.1 });
});

it("maps the metrics that a source declares", () => {
  const source = readMetricSource({
    kind: "metricSource",
    name: "fans",
    type: "scrape",
    targets: ["http://10.0.0.5:9290/metrics"],
    metrics: [{ metric: "ipmi_fan_speed_rpm", value: "fanRpm", unit: "rpm", combine: "max", labels: { state: "ok" } }],
  });
  if (!source.ok || source.declaration.type !== "scrape") throw new Error(JSON.stringify(source));
  const reading = new MappedReading(new MappingIndex([...builtInMappings, customMapping(source.declaration.metrics)]));
  const fan = (id: number, state: string, rpm: number): string =>
    `ipmi_fan_speed_rpm{id="${id}",state="${state}"} ${rpm}`;
  expect(valuesAfter(reading, 1, fan(1, "ok", 4_000), fan(2, "ok", 5_000), fan(3, "bad", 9_000))).toEqual({
    node: { fanRpm: 5_000 },
  });
});
