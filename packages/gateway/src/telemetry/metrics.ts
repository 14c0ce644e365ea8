/**
 * Metrics in Prometheus text. Names for requests and tokens are those of OpenTelemetry's GenAI semantic conventions,
 * names for pools those of the Gateway API inference extension, all others are `headroom_gateway_*`. Labels contain
 * only names from the configuration, so that clients cannot increase their number.
 */
import type { ExchangeSummary } from "../exchange/runtime.ts";
import type { LimitDefinition } from "../limits/ledger.ts";
import type { Pool } from "../replicas/pool.ts";
import { Histogram } from "./histogram.ts";
import { copiesText } from "./copies-metrics.ts";
import { fairText } from "./fair-metrics.ts";
import { overflowText } from "./overflow-metrics.ts";
import { escaped } from "./prometheus-text.ts";
import { RecentMinutes } from "./recent-minutes.ts";
import { TeamMetrics, type LimitState, type TeamCounts } from "./team-metrics.ts";

/** Bucket bounds that the GenAI conventions recommend, in seconds and tokens. */
const durationBounds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const firstTokenBounds = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const perTokenBounds = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const tokenBounds = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304];

interface Series {
  readonly labels: string;
  readonly duration: Histogram;
  readonly firstToken: Histogram;
  readonly perToken: Histogram;
  readonly inputTokens: Histogram;
  readonly outputTokens: Histogram;
  readonly statuses: Map<string, number>;
}

const SERIES_MAX = 5000;

export interface GatewayGauges {
  readonly connections: number;
  readonly exchanges: number;
  readonly bodyBytes: number;
  readonly held: number;
  /** Lines of the access log, and spans, that were dropped because disk or collector are slow. */
  readonly droppedLogLines: number;
  readonly droppedSpans: number;
  readonly answerBytes: number;
  readonly pools: Iterable<Pool>;
  readonly limits: readonly LimitState[];
  /** Amount that a limit counts now. */
  used(definition: LimitDefinition): number;
}

export class GatewayMetrics {
  /**
   * Series by model, pool and operation. A table in three levels, because these strings come from the configuration and
   * their hashes are therefore cached.
   */
  readonly #byModel = new Map<string, Map<string, Map<string, Series>>>();
  readonly #series: Series[] = [];
  readonly #teams = new TeamMetrics();
  readonly #refused = new Map<string, number>();
  readonly recent = new RecentMinutes();

  /** Requests that were refused before a replica was chosen, by reason. */
  get refusals(): ReadonlyMap<string, number> {
    return this.#refused;
  }

  get teamCounts(): readonly TeamCounts[] {
    return this.#teams.counts;
  }

  observe(summary: ExchangeSummary): void {
    const { record, startedAtMs, firstByteAtMs, endedAtMs, isStream } = summary;
    this.recent.observe(summary);
    this.#teams.observe(summary);
    const series = this.#seriesOf(record.model, record.pool, record.operation);
    if (series === undefined) return;
    const status =
      record.outcome === "completed" ? "ok" : record.outcome === "aborted" ? "aborted" : String(record.status);
    series.statuses.set(status, (series.statuses.get(status) ?? 0) + 1);
    series.duration.observe((endedAtMs - startedAtMs) / 1000);
    if (record.outcome !== "completed") return;
    series.inputTokens.observe(record.promptTokens);
    series.outputTokens.observe(record.completionTokens);
    if (!isStream || firstByteAtMs === 0) return;
    series.firstToken.observe((firstByteAtMs - startedAtMs) / 1000);
    if (record.completionTokens > 1) {
      series.perToken.observe((endedAtMs - firstByteAtMs) / 1000 / (record.completionTokens - 1));
    }
  }

  /** Counts a request that was refused before a replica was chosen, because of its framing, key, body or model. */
  refused(reason: string): void {
    this.#refused.set(reason, (this.#refused.get(reason) ?? 0) + 1);
  }

  /**
   * All metrics as text. `nowMs` is a time of the gateway's clock, because the waits of replicas are measured with that
   * clock.
   */
  text(gauges: GatewayGauges, nowMs: number): string {
    const pools = [...gauges.pools];
    return [
      this.#requestText(),
      this.#teams.text(gauges.limits),
      this.#poolText(pools, nowMs),
      overflowText(pools, gauges.used),
      fairText(pools),
      copiesText(pools),
      this.#processText(gauges),
    ].join("");
  }

  #seriesOf(model: string, pool: string, operation: string): Series | undefined {
    const found = this.#byModel.get(model)?.get(pool)?.get(operation);
    if (found !== undefined || this.#series.length >= SERIES_MAX) return found;
    const series: Series = {
      labels: `gen_ai_operation_name="${operation}",gen_ai_request_model="${escaped(model)}",gen_ai_provider_name="${escaped(pool)}"`,
      duration: new Histogram(durationBounds),
      firstToken: new Histogram(firstTokenBounds),
      perToken: new Histogram(perTokenBounds),
      inputTokens: new Histogram(tokenBounds),
      outputTokens: new Histogram(tokenBounds),
      statuses: new Map(),
    };
    const byPool = this.#byModel.get(model) ?? new Map<string, Map<string, Series>>();
    const byOperation = byPool.get(pool) ?? new Map<string, Series>();
    this.#byModel.set(model, byPool);
    byPool.set(pool, byOperation);
    byOperation.set(operation, series);
    this.#series.push(series);
    return series;
  }

  #requestText(): string {
    const all = this.#series;
    const histograms: readonly (readonly [string, string, (series: Series) => string])[] = [
      [
        "gen_ai_server_request_duration_seconds",
        "Time from the request to the end of its response",
        (each) => each.duration.lines("gen_ai_server_request_duration_seconds", each.labels),
      ],
      [
        "gen_ai_server_time_to_first_token_seconds",
        "Time to the first event of a stream",
        (each) => each.firstToken.lines("gen_ai_server_time_to_first_token_seconds", each.labels),
      ],
      [
        "gen_ai_server_time_per_output_token_seconds",
        "Mean time per output token after the first",
        (each) => each.perToken.lines("gen_ai_server_time_per_output_token_seconds", each.labels),
      ],
      [
        "gen_ai_client_token_usage",
        "Tokens per request",
        (each) =>
          each.inputTokens.lines("gen_ai_client_token_usage", `${each.labels},gen_ai_token_type="input"`) +
          each.outputTokens.lines("gen_ai_client_token_usage", `${each.labels},gen_ai_token_type="output"`),
      ],
    ];
    let text =
      "# HELP headroom_gateway_requests_total Requests by outcome\n# TYPE headroom_gateway_requests_total counter\n";
    for (const { labels, statuses } of all) {
      for (const [status, count] of statuses)
        text += `headroom_gateway_requests_total{${labels},outcome="${status}"} ${count}\n`;
    }
    for (const [name, help, lines] of histograms) {
      text += `# HELP ${name} ${help}\n# TYPE ${name} histogram\n${all.map(lines).join("")}`;
    }
    text +=
      "# HELP headroom_gateway_refused_total Messages refused before they became requests\n# TYPE headroom_gateway_refused_total counter\n";
    for (const [reason, count] of this.#refused)
      text += `headroom_gateway_refused_total{reason="${escaped(reason)}"} ${count}\n`;
    return text;
  }

  #poolText(pools: Iterable<Pool>, nowMs: number): string {
    const ready: string[] = [];
    const queue: string[] = [];
    const kv: string[] = [];
    const running: string[] = [];
    for (const pool of pools) {
      const label = `{name="${escaped(pool.name)}"}`;
      const replicas = [...pool.replicas.values()];
      ready.push(`inference_pool_ready_pods${label} ${replicas.filter((each) => each.isAvailable(nowMs)).length}\n`);
      queue.push(`inference_pool_average_queue_size${label} ${mean(replicas.map((each) => each.load.queued ?? 0))}\n`);
      kv.push(
        `inference_pool_average_kv_cache_utilization${label} ${mean(replicas.map((each) => each.load.kvUsage ?? 0))}\n`,
      );
      for (const each of replicas) {
        running.push(
          `headroom_gateway_replica_requests{name="${escaped(pool.name)}",replica="${escaped(each.id)}"} ${each.requestCount}\n`,
        );
      }
    }
    return [
      gauge("inference_pool_ready_pods", "Replicas that take requests", ready),
      gauge("inference_pool_average_queue_size", "Mean of the replicas' queues", queue),
      gauge("inference_pool_average_kv_cache_utilization", "Mean share of the KV caches in use", kv),
      gauge("headroom_gateway_replica_requests", "Requests in progress at a replica", running),
    ].join("");
  }

  #processText(gauges: GatewayGauges): string {
    const { connections, exchanges, bodyBytes, answerBytes, held, droppedLogLines, droppedSpans } = gauges;
    const memory = memoryUsed();
    return [
      gauge("headroom_gateway_connections", "Open client connections", [
        `headroom_gateway_connections ${connections}\n`,
      ]),
      gauge("headroom_gateway_requests_in_progress", "Requests in progress", [
        `headroom_gateway_requests_in_progress ${exchanges}\n`,
      ]),
      gauge("headroom_gateway_body_bytes", "Bytes of request bodies held", [
        `headroom_gateway_body_bytes ${bodyBytes}\n`,
      ]),
      gauge("headroom_gateway_answer_bytes", "Bytes of answers held", [
        `headroom_gateway_answer_bytes ${answerBytes}\n`,
      ]),
      counter(
        "headroom_gateway_access_log_dropped_total",
        "Lines of the access log that were dropped",
        droppedLogLines,
      ),
      counter("headroom_gateway_spans_dropped_total", "Spans that were dropped", droppedSpans),
      gauge("headroom_gateway_held_requests", "Requests held until a replica wakes", [
        `headroom_gateway_held_requests ${held}\n`,
      ]),
      memory === undefined ? "" : memoryText(memory),
    ].join("");
  }
}

/** Memory usage. Undefined while no file descriptor is free, because Node opens a file of `/proc` to read it. */
function memoryUsed(): NodeJS.MemoryUsage | undefined {
  try {
    return process.memoryUsage();
  } catch {
    return undefined;
  }
}

function memoryText({ rss, heapUsed }: NodeJS.MemoryUsage): string {
  return (
    gauge("process_resident_memory_bytes", "Resident memory", [`process_resident_memory_bytes ${rss}\n`]) +
    gauge("nodejs_heap_size_used_bytes", "Heap in use", [`nodejs_heap_size_used_bytes ${heapUsed}\n`])
  );
}

function gauge(name: string, help: string, lines: readonly string[]): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} gauge\n${lines.join("")}`;
}

function counter(name: string, help: string, value: number): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} counter\n${name} ${value}\n`;
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
