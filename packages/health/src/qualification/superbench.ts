/** Results of SuperBench: `results-summary.jsonl` (a line for each node) and `results.json` (a file for each benchmark of a node). */
import { listOf, own, type Measurement } from "./measurement.ts";
import { nodeOfPath } from "./node-name.ts";

/** A line of the summary: `{"node": "gpu01", "kernel-launch/event_time:0": 0.006, …}`. */
export function isSummaryLine(value: unknown): boolean {
  return (
    typeof own(value, "node") === "string" &&
    typeof value === "object" &&
    value !== null &&
    Object.keys(value).some((key) => key.includes("/"))
  );
}

export function readSummaryLine(value: unknown): readonly Measurement[] {
  const node = own(value, "node");
  if (typeof node !== "string" || typeof value !== "object" || value === null) return [];
  return Object.keys(value).flatMap((key) => {
    const figure = own(value, key);
    return key === "node" || typeof figure !== "number" || !Number.isFinite(figure)
      ? []
      : [measured(node, key, figure)];
  });
}

/** `{"name": "kernel-launch", "return_code": 0, "result": {"event_time": [0.006]}}`. */
export function isBenchmarkResult(value: unknown): boolean {
  return (
    typeof own(value, "name") === "string" &&
    typeof own(value, "return_code") === "number" &&
    own(value, "result") !== undefined
  );
}

export function readBenchmarkResult(value: unknown, path: string): readonly Measurement[] {
  const name = String(own(value, "name"));
  const node = nodeOfPath(path);
  const rank = /\brank(\d+)\b/.exec(path)?.[1];
  const suffix = rank === undefined ? "" : `:${rank}`;
  const result = own(value, "result");
  const code = measured(node, `${name}/return_code${suffix}`, Number(own(value, "return_code")));
  if (typeof result !== "object" || result === null) return [code];
  const figures = Object.keys(result).flatMap((metric) => {
    const values = listOf(own(result, metric)).filter((each) => typeof each === "number");
    const mean = values.reduce((sum, each) => sum + each, 0) / values.length;
    return metric === "return_code" || values.length === 0 ? [] : [measured(node, `${name}/${metric}${suffix}`, mean)];
  });
  return [code, ...figures];
}

function measured(node: string, test: string, value: number): Measurement {
  const isCode = /\/return_code(?::\d+)?$/.test(test);
  const isMonitor = test.startsWith("monitor/");
  return {
    node,
    test,
    value,
    unit: isCode ? null : unitOf(test),
    // Values of the monitor, such as temperatures, depend on the load and the place in the rack.
    verdict: isCode ? (value === 0 ? "pass" : "fail") : isMonitor ? "unknown" : null,
    source: "superbench",
    ...(isCode && value !== 0 ? { detail: `return code ${value}` } : {}),
  };
}

/** Units of SuperBench's metrics, from its documentation; null: it names none. */
function unitOf(test: string): string | null {
  const metric = test.slice(test.indexOf("/") + 1).toLowerCase();
  if (/(?:busbw|algbw|_bw|bandwidth)/.test(metric)) return "GB/s";
  if (/flops/.test(metric)) return "GFLOPS";
  if (/iops/.test(metric)) return "IOPS";
  if (/throughput/.test(metric)) return "samples/s";
  if (/(?:step_time|event_time|wall_time|overhead)/.test(metric)) return "ms";
  if (/(?:_lat|latency|_time)/.test(metric)) return "us";
  return null;
}
