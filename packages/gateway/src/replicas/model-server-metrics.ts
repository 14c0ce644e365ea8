/**
 * Reads from a model server's Prometheus text: queue, running requests, KV cache, LoRA adapters. Unknown lines are
 * skipped.
 */
import type { EngineTraits, MetricSelector } from "./engines.ts";
import type { ReportedLoad } from "./replica.ts";

const linePattern = /^([A-Za-z_:][\w:]*)(?:\{([^}]*)\})?\s+([^\s]+)/;
const labelPattern = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ADAPTERS_MAX = 1024;

interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

export function readLoad(text: string, traits: EngineTraits): ReportedLoad {
  const wanted = new Set([...traits.queued, ...traits.running, ...traits.kvUsage].map(({ metric }) => metric));
  if (traits.loraInfo !== undefined) wanted.add(traits.loraInfo);
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    const match = line.startsWith("#") ? null : linePattern.exec(line);
    if (match === null || !wanted.has(match[1]!)) continue;
    const labels = new Map([...(match[2] ?? "").matchAll(labelPattern)].map(([, name, value]) => [name!, value!]));
    samples.push({ name: match[1]!, labels, value: Number(match[3]) });
  }
  return {
    queued: summed(samples, traits.queued),
    running: summed(samples, traits.running),
    kvUsage: highest(samples, traits.kvUsage),
    loraAdapters: adaptersIn(samples, traits.loraInfo),
  };
}

function selected(samples: readonly Sample[], selectors: readonly MetricSelector[]): readonly number[] {
  for (const { metric, label, value } of selectors) {
    const found = samples.filter(
      (each) =>
        each.name === metric &&
        (label === undefined || each.labels.get(label) === value) &&
        Number.isFinite(each.value),
    );
    if (found.length > 0) return found.map((each) => each.value);
  }
  return [];
}

function summed(samples: readonly Sample[], selectors: readonly MetricSelector[]): number | undefined {
  const values = selected(samples, selectors);
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

function highest(samples: readonly Sample[], selectors: readonly MetricSelector[]): number | undefined {
  const values = selected(samples, selectors);
  return values.length === 0 ? undefined : Math.min(1, Math.max(0, ...values));
}

/** vLLM exports one sample for each change, with the time of the change as its value, so the newest sample counts. */
function adaptersIn(samples: readonly Sample[], metric: string | undefined): readonly string[] {
  const newest = samples
    .filter((each) => each.name === metric)
    .toSorted((a, b) => b.value - a.value)
    .at(0);
  const names = `${newest?.labels.get("running_lora_adapters") ?? ""},${newest?.labels.get("waiting_lora_adapters") ?? ""}`;
  return [...new Set(names.split(",").map((each) => each.trim()))].filter((each) => each !== "").slice(0, ADAPTERS_MAX);
}
