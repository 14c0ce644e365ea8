/**
 * How an inference engine is started, probed, drained and measured: one file per engine, data only. The gateway uses
 * `probe`, `protocol` and `metrics`; the component that starts and stops replicas uses `start` and `drain`.
 */

/** One gauge: a metric's name and the label that selects it. */
export interface MetricSelector {
  readonly metric: string;
  readonly label?: string;
  readonly value?: string;
  /** Label that holds the amount. Without it, the amount is the sample's value. */
  readonly amountLabel?: string;
}

export interface EnginePreset {
  readonly start: {
    /**
     * The arguments, separated by spaces. `{model}`, `{name}`, `{host}`, `{port}`, `{accelerators}` and
     * `{drainSeconds}` are replaced by a replica's values.
     */
    readonly command: string;
    /** The engine's default port. */
    readonly port: number;
  };
  readonly probe: {
    /** A path that answers 200 when the model is loaded. Before that the engine refuses connections or answers 503. */
    readonly path: string;
  };
  readonly drain: {
    /**
     * Behaviour on SIGTERM. With `finishesStreams`, the engine ends running streams first. With `dropsStreams`, it cuts
     * them off or never exits, so the signal must wait until the replica is out of routing and idle.
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
    /** A path that counts the tokens of a chat, and answers with them as `count`. */
    readonly tokenizePath?: string;
  };
  readonly metrics: EngineMetrics;
}

/**
 * Names of metrics in the engine's Prometheus text. If several are listed, the first one that is present counts. Names
 * of older releases come last.
 */
export interface EngineMetrics {
  readonly path: string;
  /** Port of the metrics. Without it, the port of the API. */
  readonly port?: number;
  readonly waiting: readonly MetricSelector[];
  readonly running: readonly MetricSelector[];
  /** Used share of the KV cache, 0 to 1. */
  readonly kvUsage: readonly MetricSelector[];
  /** Size of a block of the KV cache in tokens, and number of blocks. */
  readonly kvBlockTokens?: readonly MetricSelector[];
  readonly kvBlocks?: readonly MetricSelector[];
  /**
   * A metric whose labels list the LoRA adapters that are loaded, those that requests wait for, and how many can be
   * loaded at a time.
   */
  readonly loraInfo?: string;
  /** Names of histograms, in seconds. */
  readonly timeToFirstToken?: readonly string[];
  readonly timePerOutputToken?: readonly string[];
  readonly requestLatency?: readonly string[];
  readonly queueTime?: readonly string[];
  /** Names of counters, in tokens. */
  readonly promptTokens?: readonly string[];
  readonly generationTokens?: readonly string[];
}

/** A metric for which no label has to be selected. */
export const metric = (name: string): MetricSelector => ({ metric: name });
