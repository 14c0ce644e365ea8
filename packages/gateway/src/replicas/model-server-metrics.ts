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
  const { queued, running, kvUsage, kvBlockTokens, kvBlocks } = traits;
  const selectors = [...queued, ...running, ...kvUsage, ...kvBlockTokens, ...kvBlocks];
  const wanted = new Set(selectors.map(({ metric }) => metric));
  if (traits.loraInfo !== undefined) wanted.add(traits.loraInfo);
  const samples: Sample[] = [];
  for (const line of text.split("\n")) {
    const match = line.startsWith("#") ? null : linePattern.exec(line);
    if (match === null || !wanted.has(match[1]!)) continue;
    const labels = new Map([...(match[2] ?? "").matchAll(labelPattern)].map(([, name, value]) => [name!, value!]));
    samples.push({ name: match[1]!, labels, value: Number(match[3]) });
  }
  const lora = newest(samples, traits.loraInfo);
  return {
    queued: summed(samples, queued),
    running: summed(samples, running),
    kvUsage: highest(samples, kvUsage),
    loraAdapters: adaptersIn(lora),
    maxAdapters: countIn(lora?.labels.get("max_lora")),
    kvCapacityTokens: capacityIn(samples, kvBlockTokens, kvBlocks),
  };
}

function selected(samples: readonly Sample[], selectors: readonly MetricSelector[]): readonly number[] {
  for (const { metric, label, value, amountLabel } of selectors) {
    const found = samples
      .filter((each) => each.name === metric && (label === undefined || each.labels.get(label) === value))
      .map((each) => (amountLabel === undefined ? each.value : Number(each.labels.get(amountLabel) ?? Number.NaN)))
      .filter((amount) => Number.isFinite(amount));
    if (found.length > 0) return found;
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

/** Size of the KV cache in tokens. A server with several ranks reports each; routing counts the sum. */
function capacityIn(
  samples: readonly Sample[],
  blockTokens: readonly MetricSelector[],
  blocks: readonly MetricSelector[],
): number | undefined {
  const size = highestAmount(selected(samples, blockTokens));
  const count = summed(samples, blocks);
  return size === undefined || count === undefined || !(size * count > 0) ? undefined : size * count;
}

function highestAmount(amounts: readonly number[]): number | undefined {
  return amounts.length === 0 ? undefined : Math.max(...amounts);
}

function countIn(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;
}

/** vLLM exports one sample for each change, with the time of the change as its value, so the newest sample counts. */
function newest(samples: readonly Sample[], metric: string | undefined): Sample | undefined {
  return samples
    .filter((each) => each.name === metric)
    .toSorted((a, b) => b.value - a.value)
    .at(0);
}

function adaptersIn(sample: Sample | undefined): readonly string[] {
  const names = `${sample?.labels.get("running_lora_adapters") ?? ""},${sample?.labels.get("waiting_lora_adapters") ?? ""}`;
  return [...new Set(names.split(",").map((each) => each.trim()))].filter((each) => each !== "").slice(0, ADAPTERS_MAX);
}
