/**
 * How an inference engine is started, probed, drained and measured: one file per engine, data only. The gateway uses
 * `probe`, `protocol` and `metrics`; the component that starts and stops replicas uses `start` and `drain`.
 */

/** One gauge: a metric's name and the label that selects it. */
export interface MetricSelector {
  readonly metric: string;
  readonly label?: string;
  readonly value?: string;
}

export interface EnginePreset {
  readonly start: {
    /** Arguments between spaces; `{model}`, `{name}`, `{host}`, `{port}`, `{accelerators}` and `{drainSeconds}` stand for a replica's values. */
    readonly command: string;
    /** The engine's default port. */
    readonly port: number;
  };
  readonly probe: {
    /** 200 once the model is loaded. Before that the engine refuses connections or answers 503. */
    readonly path: string;
  };
  readonly drain: {
    /**
     * Behaviour on SIGTERM. `finishesStreams`: the engine ends running streams first. `dropsStreams`: it cuts them or
     * never exits, so a replica must be out of routing, and idle, before the signal.
     */
    readonly onSigterm: "finishesStreams" | "dropsStreams";
    readonly source: string;
  };
  readonly protocol: {
    /** Whether the engine continues a chat from a partial assistant message (`continue_final_message`). */
    readonly canResume: boolean;
    /**
     * Whether the engine serves Anthropic's `/v1/messages` and OpenAI's `/v1/responses`. For other engines these
     * requests are translated to chat completions.
     */
    readonly speaksMessages: boolean;
    readonly speaksResponses: boolean;
  };
  readonly metrics: EngineMetrics;
}

/**
 * Metric names in the engine's Prometheus text. If several are listed, the first one present counts (names of older
 * releases follow).
 */
export interface EngineMetrics {
  readonly path: string;
  /** Port of the metrics, if it differs from the port of the API. */
  readonly port?: number;
  readonly waiting: readonly MetricSelector[];
  readonly running: readonly MetricSelector[];
  /** Share of the KV cache in use, 0 to 1. */
  readonly kvUsage: readonly MetricSelector[];
  /** An info metric whose labels list the LoRA adapters that are loaded. */
  readonly loraInfo?: string;
  /** Histograms in seconds. */
  readonly timeToFirstToken?: readonly string[];
  readonly timePerOutputToken?: readonly string[];
  readonly requestLatency?: readonly string[];
  readonly queueTime?: readonly string[];
  /** Counters in tokens. */
  readonly promptTokens?: readonly string[];
  readonly generationTokens?: readonly string[];
}

/** A metric that is read without a label selector. */
export const metric = (name: string): MetricSelector => ({ metric: name });
