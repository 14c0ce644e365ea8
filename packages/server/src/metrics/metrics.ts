/** The series of `/metrics`. Their number is limited, whatever the fleet and its users do. */
import type { Status } from "@headroom/protocol";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { FleetMetrics } from "./fleet-metrics.ts";
import type { TargetCount } from "../metric-sources/metric-source-service.ts";
import type { FleetFigures } from "./fleet-metrics.ts";
import type { DriverStatus } from "../driver/driver.ts";

export interface Measured {
  readonly status: Status;
  readonly driver: DriverStatus;
  readonly openStreams: number;
  readonly fleet: FleetFigures;
  readonly targets: readonly TargetCount[];
}

/** Bucket bounds in seconds, chosen to tell a durable write (1 to 50 ms) from a stuck disk. */
const latencyBoundsS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

interface Answers {
  readonly duration: Histogram.Internal<"operation">;
  /** Counters by the first digit of the status code, from 1 to 5. */
  readonly byStatusClass: readonly Counter.Internal[];
}

export class Metrics {
  readonly #registry = new Registry();
  readonly fleet = new FleetMetrics(this.#registry);
  readonly #byOperation = new Map<string, Answers>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #counters = new Map<string, Counter>();

  /** `operations`: all allowed values of the label `operation`. */
  constructor(operations: readonly string[]) {
    const registers = [this.#registry];
    const labelNames = ["operation", "status"] as const;
    const answers = new Counter({
      name: "headroom_http_requests_total",
      help: "Answered requests.",
      labelNames,
      registers,
    });
    const duration = new Histogram({
      name: "headroom_http_request_duration_seconds",
      help: "Time from the first byte of a request's headers to its answer.",
      labelNames: ["operation"] as const,
      buckets: latencyBoundsS,
      registers,
    });
    for (const operation of operations) {
      const byStatusClass = Array.from({ length: 6 }, (_, digit) =>
        answers.labels({ operation, status: `${digit}xx` }),
      );
      this.#byOperation.set(operation, { duration: duration.labels({ operation }), byStatusClass });
    }
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Counts an answer. Requests that match no operation count as `other`. */
  record(operation: string, status: number, durationMs: number): void {
    const answers = this.#byOperation.get(operation);
    answers?.byStatusClass[Math.floor(status / 100)]?.inc();
    answers?.duration.observe(durationMs / 1000);
  }

  /** All metrics in Prometheus' text format, with the given state. */
  expose(measured: Measured): Promise<string> {
    this.#setWork(measured.status);
    this.#setDriver(measured.driver);
    this.#gauge("headroom_http_streams_open", "Open event and log streams.", measured.openStreams);
    this.#setProcess();
    this.#setTargets(measured.targets);
    this.fleet.set(measured.fleet);
    return this.#registry.metrics();
  }

  #setWork({ workloads, nodes, accelerators, ...status }: Status): void {
    this.#counter("headroom_events_total", "Events recorded in the journal.", status.sequence);
    this.#counter("headroom_workloads_submitted_total", "Workloads submitted.", workloads.submitted);
    this.#counter("headroom_workloads_ended_total", "Workloads ended.", workloads.ended);
    this.#gauge("headroom_workloads_unfinished", "Workloads that have not ended.", workloads.unfinished);
    this.#gauge("headroom_workloads_waiting", "Workloads with a task that could start now.", workloads.waiting);
    this.#gauge("headroom_tasks_waiting", "Tasks that could start now.", status.waitingTasks);
    const asked = "Accelerators requested by waiting tasks.";
    this.#gauge("headroom_accelerators_waited_for", asked, status.waitingAccelerators);
    this.#gauge("headroom_attempts_active", "Attempts that have not ended.", status.activeAttempts);
    this.#gaugeByLabel("headroom_nodes", "Nodes by health.", "state", { up: nodes.up, lost: nodes.lost });
    this.#gauge("headroom_nodes_draining", "Nodes that accept no new work.", nodes.draining);
    const { held, free, unavailable, foreign = 0 } = accelerators;
    this.#gaugeByLabel("headroom_accelerators", "Accelerators by use.", "state", { held, free, unavailable, foreign });
  }

  #setDriver(driver: DriverStatus): void {
    const groups = "Batches of events made durable since the start.";
    this.#counter("headroom_journal_groups_total", groups, driver.groupCount);
    this.#counter("headroom_journal_syncs_total", "Syncs of the journal since the start.", driver.syncCount);
    this.#gauge("headroom_journal_bytes", "Size of the journal.", driver.journalBytes);
    this.#counter("headroom_commands_total", "Commands decided since the start.", driver.commandCount);
    this.#counter("headroom_commands_refused_total", "Commands refused for overload.", driver.rejectedOverloadCount);
    this.#counter("headroom_signals_dropped_total", "Signals dropped for overload.", driver.signalDroppedCount);
    this.#gauge("headroom_inbox_length", "Commands and observations that wait for a decision.", driver.inboxLength);
    this.#quantiles("headroom_journal_sync_seconds", "Duration of a sync.", driver.sync);
    this.#quantiles("headroom_decide_seconds", "Duration of the decision on a batch.", driver.decide);
    this.#quantiles("headroom_event_loop_delay_seconds", "Delay of the event loop.", driver.loopDelay);
  }

  #setTargets(targets: readonly TargetCount[]): void {
    const help = "Targets of metric sources by state.";
    const gauge = this.#gaugeNamed("headroom_metric_targets", help, ["source", "state"]);
    gauge.reset();
    for (const { source, state, count } of targets) gauge.set({ source, state }, count);
  }

  #setProcess(): void {
    const { rss, heapUsed } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    this.#gauge("process_resident_memory_bytes", "Resident memory.", rss);
    this.#gauge("process_heap_bytes", "Used JavaScript heap.", heapUsed);
    this.#counter("process_cpu_seconds_total", "Processor time, user and system.", (user + system) / 1_000_000);
  }

  #quantiles(name: string, help: string, { p50Ms, p99Ms }: DriverStatus["sync"]): void {
    this.#gaugeByLabel(name, help, "quantile", { "0.5": p50Ms / 1000, "0.99": p99Ms / 1000 });
  }

  #gauge(name: string, help: string, value: number): void {
    this.#gaugeNamed(name, help, []).set(value);
  }

  #gaugeByLabel(name: string, help: string, label: string, values: Readonly<Record<string, number>>): void {
    const gauge = this.#gaugeNamed(name, help, [label]);
    for (const [key, value] of Object.entries(values)) gauge.set({ [label]: key }, value);
  }

  #gaugeNamed(name: string, help: string, labelNames: string[]): Gauge {
    const known = this.#gauges.get(name);
    if (known !== undefined) return known;
    const gauge = new Gauge({ name, help, labelNames, registers: [this.#registry] });
    this.#gauges.set(name, gauge);
    return gauge;
  }

  /** Adds a total that other code counts to the metrics. */
  #counter(name: string, help: string, total: number): void {
    let counter = this.#counters.get(name);
    if (counter === undefined) {
      counter = new Counter({ name, help, registers: [this.#registry] });
      this.#counters.set(name, counter);
    }
    counter.reset();
    counter.inc(total);
  }
}
