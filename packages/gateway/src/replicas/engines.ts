/** Properties of each engine that the gateway uses, taken from the engine's preset. Providers have no preset. */
import { presets, type PresetName } from "../presets/index.ts";
import type { EnginePreset, MetricSelector } from "../presets/preset.ts";

export type { MetricSelector } from "../presets/preset.ts";
export const engineNames = [
  "openai",
  "anthropic",
  "vllm",
  "sglang",
  "llamacpp",
  "trtllm",
  "triton",
  "headroom",
] as const;
export type EngineName = (typeof engineNames)[number];

export interface EngineTraits {
  /**
   * Path of the probe. Undefined for providers: they are not probed, and only the results of requests determine their
   * health.
   */
  readonly probePath: string | undefined;
  readonly metricsPath: string | undefined;
  /** Port of the metrics. Undefined if it is the port of the API. */
  readonly metricsPort: number | undefined;
  readonly queued: readonly MetricSelector[];
  readonly running: readonly MetricSelector[];
  readonly kvUsage: readonly MetricSelector[];
  readonly kvBlockTokens: readonly MetricSelector[];
  readonly kvBlocks: readonly MetricSelector[];
  /** A metric whose labels list the adapters. See `EngineMetrics.loraInfo`. */
  readonly loraInfo: string | undefined;
  /** Whether the engine continues a chat from a partial assistant message (`continue_final_message`). */
  readonly canResume: boolean;
  readonly isProvider: boolean;
  /** Whether the engine serves these protocols itself; if not, requests are translated to chat completions. */
  readonly speaksMessages: boolean;
  readonly speaksResponses: boolean;
  /** See `EnginePreset.protocol`. */
  readonly tokenizePath?: string;
}

function traitsOf({ probe, protocol, metrics }: EnginePreset): EngineTraits {
  return {
    probePath: probe.path,
    metricsPath: metrics.path,
    metricsPort: metrics.port,
    queued: metrics.waiting,
    running: metrics.running,
    kvUsage: metrics.kvUsage,
    kvBlockTokens: metrics.kvBlockTokens ?? [],
    kvBlocks: metrics.kvBlocks ?? [],
    loraInfo: metrics.loraInfo,
    ...protocol,
    isProvider: false,
  };
}

const provider: EngineTraits = {
  probePath: undefined,
  metricsPath: undefined,
  metricsPort: undefined,
  queued: [],
  running: [],
  kvUsage: [],
  kvBlockTokens: [],
  kvBlocks: [],
  loraInfo: undefined,
  canResume: false,
  isProvider: true,
  speaksMessages: false,
  speaksResponses: true,
};

const traits = Object.fromEntries(
  Object.entries(presets).map(([name, preset]) => [name, traitsOf(preset)]),
) as Readonly<Record<PresetName, EngineTraits>>;

export const engines: Readonly<Record<EngineName, EngineTraits>> = {
  openai: provider,
  anthropic: { ...provider, speaksMessages: true, speaksResponses: false },
  ...traits,
};
