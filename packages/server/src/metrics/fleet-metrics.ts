/**
 * Metrics by team, pool, accelerator type and kind of workload. The number of series is limited: teams beyond
 * `TEAMS_MAX` share one label.
 */
import { endpointsOf } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import type { Event, NodeId } from "@headroom/model";
import type { AcceleratorReading } from "@headroom/protocol";
import { fleetView, isServing, READINGS_FRESH_MS, teamList } from "@headroom/views";
import type { AcceleratorReadings } from "@headroom/views";
import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";

const TEAMS_MAX = 500;
/** Maximum number of accelerators with series of their own. Each has seven. */
const READINGS_MAX = 4_096;
/** Maximum number of endpoints with series of their own. */
const ENDPOINTS_MAX = 1_000;
const BYTES_PER_MIB = 1024 * 1024;
const OTHER_TEAMS = "(other)";
/**
 * Bucket bounds of waiting times in seconds, from a second to a week. They distinguish waits of interactive work from
 * those of long queues.
 */
const waitBoundsS = [1, 5, 15, 60, 300, 900, 3_600, 4 * 3_600, 12 * 3_600, 86_400, 3 * 86_400, 7 * 86_400];

interface AcceleratorSeries {
  readonly pool: string;
  readonly type: string;
  readonly state: string;
  readonly count: number;
}

interface TeamSeries {
  readonly team: string;
  readonly type: string;
  readonly bound: string;
  readonly count: number;
}

interface WorkloadSeries {
  readonly team: string;
  readonly kind: string;
  readonly phase: string;
  count: number;
}

interface EndpointSeries {
  readonly team: string;
  readonly endpoint: string;
  readonly state: string;
  readonly count: number;
}

interface ReadingSeries {
  readonly node: string;
  readonly pool: string;
  readonly type: string;
  readonly reading: AcceleratorReading;
}

/** Figures read from one state, so that the series are consistent. */
export interface FleetFigures {
  readonly accelerators: readonly AcceleratorSeries[];
  readonly teams: readonly TeamSeries[];
  readonly workloads: readonly WorkloadSeries[];
  /** Replicas of endpoints; of at most `ENDPOINTS_MAX` endpoints. */
  readonly endpoints: readonly EndpointSeries[];
  /** Readings of accelerators whose vendor tool answered within the last minute; at most `READINGS_MAX`. */
  readonly readings: readonly ReadingSeries[];
}

export function fleetFigures(engine: Engine, accelerators: AcceleratorReadings, nowMs: number): FleetFigures {
  const { pools } = fleetView(engine);
  const { items: teams } = teamList(engine, { limit: TEAMS_MAX });
  const known = new Set<string>(teams.map(({ name }) => name));
  return {
    accelerators: pools.flatMap(({ name, acceleratorType, accelerators: { held, free, unavailable, foreign = 0 } }) =>
      Object.entries({ held, free, unavailable, foreign }).map(([state, count]) => ({
        pool: name,
        type: acceleratorType,
        state,
        count,
      })),
    ),
    teams: teams.flatMap(({ name, held, guarantee = {}, limit }) =>
      Object.entries({ held, guarantee, limit }).flatMap(([bound, amounts]) =>
        Object.entries(amounts).map(([type, count]) => ({ team: name, type, bound, count: Number(count) })),
      ),
    ),
    workloads: workloadSeries(engine, known),
    endpoints: endpointSeries(engine),
    readings: readingSeries(engine, accelerators, nowMs),
  };
}

function endpointSeries(engine: Engine): readonly EndpointSeries[] {
  const { attempts } = engine.state;
  const series: EndpointSeries[] = [];
  for (const { id, spec, scale, activeAttempts } of endpointsOf(engine)) {
    if (series.length >= 2 * ENDPOINTS_MAX) break;
    const labels = { team: spec.team, endpoint: spec.name ?? id };
    series.push({ ...labels, state: "wanted", count: scale?.replicas ?? 0 });
    const ready = activeAttempts.filter((each) => isServing(attempts.get(each))).length;
    series.push({ ...labels, state: "ready", count: ready });
  }
  return series;
}

function readingSeries({ state }: Engine, { all }: AcceleratorReadings, nowMs: number): ReadingSeries[] {
  const series: ReadingSeries[] = [];
  for (const { node, atMs, accelerators } of all) {
    const known = state.nodes.get(node as NodeId);
    if (known === undefined || atMs === null || nowMs - atMs > READINGS_FRESH_MS) continue;
    for (const reading of accelerators) {
      if (series.length >= READINGS_MAX) return series;
      series.push({ node, pool: known.pool, type: known.acceleratorType, reading });
    }
  }
  return series;
}

/** Counts workloads that have not ended. */
function workloadSeries({ state }: Engine, teams: ReadonlySet<string>): WorkloadSeries[] {
  const series = new Map<string, WorkloadSeries>();
  for (const { spec, phase, endedAtMs } of state.workloads.values()) {
    if (endedAtMs !== null) continue;
    const team = teams.has(spec.team) ? spec.team : OTHER_TEAMS;
    const key = `${team} ${spec.kind} ${phase}`;
    const known = series.get(key);
    if (known === undefined) series.set(key, { team, kind: spec.kind, phase, count: 1 });
    else known.count++;
  }
  return [...series.values()];
}

/**
 * Metrics of readings. Each value gives one series for each accelerator. Fields: metric name, value units in one metric
 * unit, help text.
 */
const readingMetrics = {
  busyMilli: ["utilization_ratio", 1000, "Share of time in which the accelerator was busy."],
  memoryUsedMib: ["memory_used_bytes", 1 / BYTES_PER_MIB, "Memory in use."],
  memoryTotalMib: ["memory_total_bytes", 1 / BYTES_PER_MIB, "Memory of the accelerator."],
  temperatureC: ["temperature_celsius", 1, "Temperature."],
  powerMilliwatts: ["power_watts", 1000, "Power draw."],
  errorCount: ["uncorrected_errors", 1, "Uncorrected memory errors since the driver was loaded."],
} as const;
type ReadingName = keyof typeof readingMetrics;
const readingNames = Object.keys(readingMetrics) as readonly ReadingName[];

export class FleetMetrics {
  readonly #readings: ReadonlyMap<ReadingName, Gauge>;
  readonly #faults: Gauge;
  readonly #accelerators: Gauge;
  readonly #teams: Gauge;
  readonly #workloads: Gauge;
  readonly #endpoints: Gauge;
  readonly #waits: Histogram;
  readonly #ends: Counter;
  readonly #teamsSeen = new Set<string>();

  constructor(registry: Registry) {
    const registers = [registry];
    this.#accelerators = new Gauge({
      name: "headroom_pool_accelerators",
      help: "Accelerators by pool, type and use.",
      labelNames: ["pool", "type", "state"],
      registers,
    });
    this.#teams = new Gauge({
      name: "headroom_team_resources",
      help: "Held, guarantee and limit of each team, by accelerator type or resource.",
      labelNames: ["team", "type", "bound"],
      registers,
    });
    this.#workloads = new Gauge({
      name: "headroom_team_workloads",
      help: "Workloads that have not ended, by team, kind and phase.",
      labelNames: ["team", "kind", "phase"],
      registers,
    });
    this.#endpoints = new Gauge({
      name: "headroom_endpoint_replicas",
      help: "Replicas of endpoints: wanted, and ready for requests.",
      labelNames: ["team", "endpoint", "state"],
      registers,
    });
    const labelNames = ["node", "accelerator", "pool", "type"];
    this.#readings = new Map(
      readingNames.map((value) => {
        const [name, , help] = readingMetrics[value];
        return [value, new Gauge({ name: `headroom_accelerator_${name}`, help, labelNames, registers })];
      }),
    );
    this.#faults = new Gauge({
      name: "headroom_accelerator_fault",
      help: "1: the vendor's tool reports an error of the accelerator, or no longer lists it.",
      labelNames,
      registers,
    });
    this.#waits = new Histogram({
      name: "headroom_queue_wait_seconds",
      help: "Time from submission to the first placement, over workloads placed since the start of the process.",
      labelNames: ["team", "kind"],
      buckets: waitBoundsS,
      registers,
    });
    this.#ends = new Counter({
      name: "headroom_team_workloads_ended_total",
      help: "Workloads ended since the start of the process, by team, kind and phase.",
      labelNames: ["team", "kind", "phase"],
      registers,
    });
  }

  set({ accelerators, teams, workloads, endpoints, readings }: FleetFigures): void {
    const gauges = [
      this.#accelerators,
      this.#teams,
      this.#workloads,
      this.#endpoints,
      this.#faults,
      ...this.#readings.values(),
    ];
    for (const gauge of gauges) gauge.reset();
    for (const each of readings) this.#setReading(each);
    for (const { pool, type, state, count } of accelerators) this.#accelerators.set({ pool, type, state }, count);
    for (const { team, type, bound, count } of teams) this.#teams.set({ team, type, bound }, count);
    for (const { team, endpoint, state, count } of endpoints) this.#endpoints.set({ team, endpoint, state }, count);
    for (const { team, kind, phase, count } of workloads) this.#workloads.set({ team, kind, phase }, count);
  }

  #setReading({ node, pool, type, reading }: ReadingSeries): void {
    const labels = { node, accelerator: String(reading.index), pool, type };
    for (const name of readingNames) {
      const value = reading[name];
      if (value !== null) this.#readings.get(name)?.set(labels, value / readingMetrics[name][1]);
    }
    this.#faults.set(labels, reading.fault === null ? 0 : 1);
  }

  /** Counts an event once it is durable. */
  observe(event: Event, { state }: Engine): void {
    if (event.kind !== "gangPlaced" && event.kind !== "workloadEnded") return;
    const workload = state.workloads.get(event.workloadId);
    if (workload === undefined) return;
    const { team, kind } = { team: this.#label(workload.spec.team), kind: workload.spec.kind };
    if (event.kind === "workloadEnded") this.#ends.inc({ team, kind, phase: workload.phase });
    else if (event.number === 1)
      this.#waits.observe({ team, kind }, Math.max(0, event.atMs - workload.submittedAtMs) / 1000);
  }

  #label(team: string): string {
    if (this.#teamsSeen.has(team)) return team;
    if (this.#teamsSeen.size >= TEAMS_MAX) return OTHER_TEAMS;
    this.#teamsSeen.add(team);
    return team;
  }
}
