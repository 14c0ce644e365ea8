/** Follows the journal's events and sends spans and logs of decisions and attempts. No decision waits for a collector. */
import type { Event } from "@headroom/model";
import type { Driver } from "../driver/driver.ts";
import type { DriverLog } from "../driver/driver-log.ts";
import type { ReadonlyState } from "@headroom/engine";
import { logOfEvent, type DecisionLog } from "./decision-logs.ts";
import { DecisionSpans, type DecisionSpan } from "./decision-spans.ts";
import { OtlpExporter } from "./otlp-exporter.ts";
import { logsRequest, tracesRequest } from "./otlp-requests.ts";
import type { TracingTarget } from "./otlp-exporter.ts";

const SEND_EVERY_MS = 1_000;
/** Time in ms for the last spans when the control plane stops. */
const CLOSE_MS = 3_000;
/** Events that wait to be read. Spans and logs of further ones are missing. */
const WAITING_MAX = 100_000;

interface WaitingEvent {
  readonly sequence: number;
  readonly event: Event;
}

interface TraceOptions {
  readonly driver: Driver;
  readonly tracing: TracingTarget;
  readonly log: DriverLog;
}

export class TraceService {
  readonly #options: TraceOptions;
  readonly #spans: DecisionSpans;
  readonly #exporter: OtlpExporter<DecisionSpan>;
  readonly #logExporter: OtlpExporter<DecisionLog>;
  readonly #closing = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #waiting: WaitingEvent[] = [];

  constructor(options: TraceOptions) {
    this.#options = options;
    this.#spans = new DecisionSpans(options.tracing.share ?? 1);
    const { signal } = this.#closing;
    this.#exporter = new OtlpExporter(options.tracing, { path: "/v1/traces", requestOf: tracesRequest }, signal);
    this.#logExporter = new OtlpExporter(options.tracing, { path: "/v1/logs", requestOf: logsRequest }, signal);
    this.#timer = setInterval(() => void this.#send(), SEND_EVERY_MS);
    this.#timer.unref();
    void this.#follow();
  }

  /** Sends what waits, unless the collector needs too long for it. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const limit = setTimeout(() => this.#closing.abort(), CLOSE_MS);
    await this.#send();
    clearTimeout(limit);
    this.#closing.abort();
  }

  async #follow(): Promise<void> {
    const { driver, log } = this.#options;
    try {
      const from = await driver.read((engine) => {
        this.#spans.adopt(engine.state);
        return engine.state.sequence + 1;
      });
      for await (const { sequence, event } of driver.events(from, this.#closing.signal))
        if (this.#waiting.length < WAITING_MAX) this.#waiting.push({ sequence, event });
    } catch (error) {
      if (!this.#closing.signal.aborted)
        log.warn(`no more spans are sent: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Never rejects: a control plane that has failed can be asked nothing. */
  async #send(): Promise<void> {
    const events = this.#waiting;
    this.#waiting = [];
    try {
      if (events.length > 0)
        await this.#options.driver.read(({ state }) => {
          for (const { sequence, event } of events) this.#add(sequence, event, state);
        });
      await Promise.all([this.#exporter.flush(Date.now()), this.#logExporter.flush(Date.now())]);
    } catch (error) {
      this.#options.log.warn(`spans were not sent: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #add(sequence: number, event: Event, state: ReadonlyState): void {
    const before = this.#spans.traceIdOf(event, state);
    this.#exporter.add(this.#spans.spansOf(event, state));
    const log = logOfEvent(sequence, event, before);
    if (log !== null) this.#logExporter.add([log]);
  }
}
