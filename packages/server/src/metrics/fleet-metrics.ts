/** Series by team, pool, accelerator type and kind of workload. Their number is bounded: teams past `TEAMS_MAX` share one label. */
import type { Engine, Event } from "@headroom/engine";
import { fleetView, teamList } from "@headroom/views";
import { Counter, Gauge, Histogram } from "prom-client";
import type { Registry } from "prom-client";

const TEAMS_MAX = 500;
const OTHER_TEAMS = "(other)";
/** From a second to a week: interactive work and long queues can both be told apart. */
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

/** Read from one state, so that the series agree with each other. */
export interface FleetFigures {
  readonly accelerators: readonly AcceleratorSeries[];
  readonly teams: readonly TeamSeries[];
  readonly workloads: readonly WorkloadSeries[];
}

export function fleetFigures(engine: Engine): FleetFigures {
  const { pools } = fleetView(engine);
  const { items: teams } = teamList(engine, { limit: TEAMS_MAX });
  const known = new Set<string>(teams.map(({ name }) => name));
  return {
    accelerators: pools.flatMap(({ name, acceleratorType, accelerators: { held, free, unavailable } }) =>
      Object.entries({ held, free, unavailable }).map(([state, count]) => ({
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
  };
}

/** Workloads that have not ended. */
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

export class FleetMetrics {
  readonly #accelerators: Gauge;
  readonly #teams: Gauge;
  readonly #workloads: Gauge;
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
    this.#waits = new Histogram({
      name: "headroom_queue_wait_seconds",
      help: "From submission to the first placement, of workloads placed since the start of the process.",
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

  set({ accelerators, teams, workloads }: FleetFigures): void {
    for (const gauge of [this.#accelerators, this.#teams, this.#workloads]) gauge.reset();
    for (const { pool, type, state, count } of accelerators) this.#accelerators.set({ pool, type, state }, count);
    for (const { team, type, bound, count } of teams) this.#teams.set({ team, type, bound }, count);
    for (const { team, kind, phase, count } of workloads) this.#workloads.set({ team, kind, phase }, count);
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
