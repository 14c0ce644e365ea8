// Metrics with vLLM's names (vllm/v1/metrics/loggers.py) in the Prometheus text format, so that dashboards for vLLM
// work.
const LATENCIES = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80];
const TOKENS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const HISTOGRAMS = {
  time_to_first_token_seconds: ["Histogram of time to first token in seconds.", LATENCIES],
  inter_token_latency_seconds: ["Histogram of inter-token latency in seconds.", LATENCIES],
  request_time_per_output_token_seconds: ["Histogram of time per output token in seconds, per request.", LATENCIES],
  e2e_request_latency_seconds: ["Histogram of request latency in seconds.", LATENCIES],
  request_queue_time_seconds: ["Histogram of time in the queue in seconds.", LATENCIES],
  request_prompt_tokens: ["Number of prompt tokens of a request.", TOKENS],
  request_generation_tokens: ["Number of generated tokens of a request.", TOKENS],
};
const REASONS = ["stop", "length", "abort", "error"];

export class Metrics {
  #labels;
  #model;
  #totals = { prompt: 0, generation: 0 };
  #finished = new Map(REASONS.map((reason) => [reason, 0]));
  #histograms = new Map(
    Object.entries(HISTOGRAMS).map(([name, [, bounds]]) => [name, { counts: bounds.map(() => 0), count: 0, sum: 0 }]),
  );
  /** The engine's last report; see `Scheduler.stats`. */
  engine = { running: 0, waiting: 0, cacheUsage: 0, preemptions: 0, prefixQueries: 0, prefixHits: 0 };

  constructor(model) {
    this.#model = model.replaceAll(/[\\"\n]/g, "_");
    this.#labels = `engine="0",model_name="${this.#model}"`;
  }

  observe(name, value) {
    const histogram = this.#histograms.get(name);
    const at = HISTOGRAMS[name][1].findIndex((bound) => value <= bound);
    if (at >= 0) histogram.counts[at] += 1;
    histogram.count += 1;
    histogram.sum += value;
  }

  /** Counts a request that has ended. Times are in seconds; `firstTokenAt` is undefined if no token was generated. */
  finish({ reason, promptTokens, generatedTokens, arrivedAt, startedAt, firstTokenAt, endedAt }) {
    this.#finished.set(reason, this.#finished.get(reason) + 1);
    this.#totals.prompt += promptTokens;
    this.#totals.generation += generatedTokens;
    this.observe("e2e_request_latency_seconds", endedAt - arrivedAt);
    this.observe("request_prompt_tokens", promptTokens);
    this.observe("request_generation_tokens", generatedTokens);
    if (startedAt !== undefined) this.observe("request_queue_time_seconds", startedAt - arrivedAt);
    if (firstTokenAt !== undefined && generatedTokens > 1)
      this.observe("request_time_per_output_token_seconds", (endedAt - firstTokenAt) / (generatedTokens - 1));
  }

  text() {
    const { running, waiting, cacheUsage, preemptions, prefixQueries, prefixHits } = this.engine;
    return [
      ...this.#one("num_requests_running", "gauge", "Number of requests in model execution batches.", running),
      ...this.#one("num_requests_waiting", "gauge", "Number of requests waiting to be processed.", waiting),
      ...this.#one("kv_cache_usage_perc", "gauge", "KV-cache usage. 1 means 100 percent usage.", cacheUsage),
      ...this.#one("num_preemptions_total", "counter", "Cumulative number of preemptions.", preemptions),
      ...this.#one("prefix_cache_queries_total", "counter", "Prefix cache queries, in queried tokens.", prefixQueries),
      ...this.#one("prefix_cache_hits_total", "counter", "Prefix cache hits, in cached tokens.", prefixHits),
      ...this.#one("prompt_tokens_total", "counter", "Number of prefill tokens processed.", this.#totals.prompt),
      ...this.#one(
        "generation_tokens_total",
        "counter",
        "Number of generation tokens processed.",
        this.#totals.generation,
      ),
      ...this.#head("request_success_total", "counter", "Count of successfully processed requests."),
      ...[...this.#finished].map(
        ([reason, n]) => `vllm:request_success_total{${this.#labels},finished_reason="${reason}"} ${n}`,
      ),
      ...[...this.#histograms].flatMap(([name, histogram]) => this.#histogram(name, histogram)),
      "",
    ].join("\n");
  }

  #head = (name, type, help) => [`# HELP vllm:${name} ${help}`, `# TYPE vllm:${name} ${type}`];
  #one = (name, type, help, value) => [...this.#head(name, type, help), `vllm:${name}{${this.#labels}} ${value}`];
  #histogram(name, { counts, count, sum }) {
    const [help, bounds] = HISTOGRAMS[name];
    let below = 0;
    const buckets = bounds.map(
      (bound, i) => `vllm:${name}_bucket{${this.#labels},le="${bound}"} ${(below += counts[i])}`,
    );
    const rest = [
      `_bucket{${this.#labels},le="+Inf"} ${count}`,
      `_sum{${this.#labels}} ${sum}`,
      `_count{${this.#labels}} ${count}`,
    ];
    return [...this.#head(name, "histogram", help), ...buckets, ...rest.map((line) => `vllm:${name}${line}`)];
  }
}
