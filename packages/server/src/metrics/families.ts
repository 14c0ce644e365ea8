/** What `/v1/metrics` shows: a bounded set of series, whatever the fleet and its users do. */
import type { Status } from "@headroom/protocol";
import type { DriverStatus } from "../driver/driver.ts";
import type { MetricFamily, Sample } from "./exposition.ts";
import { latencyBoundsS } from "./request-counts.ts";
import type { OperationCounts, RequestCounts } from "./request-counts.ts";

export interface Measured {
  readonly status: Status;
  readonly driver: DriverStatus;
  readonly requests: RequestCounts;
  readonly openStreams: number;
}

export function metricFamilies(measured: Measured): MetricFamily[] {
  return [
    ...workFamilies(measured.status),
    ...driverFamilies(measured.driver),
    ...edgeFamilies(measured),
    ...processFamilies(),
  ];
}

function gauge(name: string, help: string, value: number): MetricFamily {
  return { name, type: "gauge", help, samples: [{ value }] };
}

function counter(name: string, help: string, value: number): MetricFamily {
  return { name, type: "counter", help, samples: [{ value }] };
}

function byState(name: string, help: string, states: Readonly<Record<string, number>>): MetricFamily {
  return {
    name,
    type: "gauge",
    help,
    samples: Object.entries(states).map(([state, value]) => ({ labels: { state }, value })),
  };
}

function workFamilies({ workloads, nodes, accelerators, ...status }: Status): MetricFamily[] {
  return [
    counter("headroom_events_total", "Events recorded in the journal.", status.sequence),
    counter("headroom_workloads_submitted_total", "Workloads submitted.", workloads.submitted),
    counter("headroom_workloads_ended_total", "Workloads ended.", workloads.ended),
    gauge("headroom_workloads_unfinished", "Workloads that have not ended.", workloads.unfinished),
    gauge("headroom_workloads_waiting", "Workloads with a task that could start now.", workloads.waiting),
    gauge("headroom_tasks_waiting", "Tasks that could start now.", status.waitingTasks),
    gauge("headroom_accelerators_waited_for", "Accelerators that waiting tasks ask for.", status.waitingAccelerators),
    gauge("headroom_attempts_active", "Attempts that have not ended.", status.activeAttempts),
    byState("headroom_nodes", "Nodes by health.", { up: nodes.up, lost: nodes.lost }),
    gauge("headroom_nodes_draining", "Nodes that take nothing new.", nodes.draining),
    byState("headroom_accelerators", "Accelerators by what becomes of them.", {
      held: accelerators.held,
      free: accelerators.free,
      unavailable: accelerators.unavailable,
    }),
  ];
}

function driverFamilies(driver: DriverStatus): MetricFamily[] {
  const quantiles = (name: string, help: string, { p50Ms, p99Ms }: DriverStatus["sync"]): MetricFamily => ({
    name,
    type: "gauge",
    help,
    samples: [
      { labels: { quantile: "0.5" }, value: p50Ms / 1000 },
      { labels: { quantile: "0.99" }, value: p99Ms / 1000 },
    ],
  });
  return [
    counter("headroom_journal_groups_total", "Groups of events made durable since the start.", driver.groupCount),
    counter("headroom_journal_syncs_total", "Syncs of the journal since the start.", driver.syncCount),
    gauge("headroom_journal_bytes", "Size of the journal.", driver.journalBytes),
    counter("headroom_commands_total", "Commands decided since the start.", driver.commandCount),
    counter("headroom_commands_refused_total", "Commands refused for overload.", driver.rejectedOverloadCount),
    counter("headroom_signals_dropped_total", "Progress signals dropped for overload.", driver.signalDroppedCount),
    gauge("headroom_inbox_length", "Commands and observations that wait to be decided.", driver.inboxLength),
    quantiles("headroom_journal_sync_seconds", "How long a sync takes.", driver.sync),
    quantiles("headroom_decide_seconds", "How long deciding a batch takes.", driver.decide),
    quantiles("headroom_event_loop_delay_seconds", "How late the event loop runs.", driver.loopDelay),
  ];
}

function edgeFamilies({ requests, openStreams }: Measured): MetricFamily[] {
  const answers: Sample[] = [];
  const durations: Sample[] = [];
  for (const [operation, counts] of requests.entries()) {
    counts.byStatusClass.forEach((value, statusClass) => {
      if (value > 0) answers.push({ labels: { operation, status: `${statusClass}xx` }, value });
    });
    durations.push(...histogram(operation, counts));
  }
  return [
    { name: "headroom_http_requests_total", type: "counter", help: "Answered requests.", samples: answers },
    {
      name: "headroom_http_request_duration_seconds",
      type: "histogram",
      help: "From the first byte of a request's headers to its answer.",
      samples: durations,
    },
    gauge("headroom_http_streams_open", "Open event and log streams.", openStreams),
  ];
}

/** Operations that were never asked for have no series yet. */
function histogram(operation: string, { buckets, sumS }: OperationCounts): Sample[] {
  const count = buckets.reduce((total, value) => total + value, 0);
  if (count === 0) return [];
  let below = 0;
  const samples = [...buckets].map((value, index): Sample => {
    below += value;
    const bound = latencyBoundsS[index];
    return { suffix: "_bucket", labels: { operation, le: bound === undefined ? "+Inf" : String(bound) }, value: below };
  });
  return [
    ...samples,
    { suffix: "_sum", labels: { operation }, value: sumS },
    { suffix: "_count", labels: { operation }, value: count },
  ];
}

function processFamilies(): MetricFamily[] {
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return [
    gauge("process_resident_memory_bytes", "Resident memory.", rss),
    gauge("process_heap_bytes", "Used JavaScript heap.", heapUsed),
    counter("process_cpu_seconds_total", "Processor time, user and system.", (user + system) / 1_000_000),
  ];
}
