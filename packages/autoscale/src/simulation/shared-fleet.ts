/**
 * Training and endpoints on one fleet in one loop: jobs of a trace and replicas of endpoints are work of the same engine,
 * Headroom's rule changes the numbers of replicas, and a replica takes its cold start before it serves. Requests are a
 * queue of work by second, not single requests. The simulation must not decide anything that engine or rule decide.
 */
import { commandId, teamName } from "@headroom/model";
import type { Attempt, LaunchGang, Policy, Team, TeamName, WorkloadId, WorkloadSpec } from "@headroom/model";
import { createSimulation } from "@headroom/sim";
import type {
  FleetSpec,
  ReplicaGroup,
  ServingSlo,
  Simulation,
  SimulatedRound,
  SimulationObserver,
  Trace,
} from "@headroom/sim";
import { ReplicaCapacity } from "../capacity.ts";
import type { ReplicaBounds } from "../contract.ts";
import { bounded } from "../contract.ts";
import { PredictiveScaler } from "../policies/predictive.ts";
import { LoadMeter } from "../policies/load-meter.ts";
import { WAITED_SHARE } from "../policies/waited-share.ts";
import { lateInTick, TICK_MS, workByTick, type TickTraffic } from "./tick-traffic.ts";

export interface SharedEndpoint {
  readonly name: string;
  readonly traffic: TickTraffic;
  readonly group: ReplicaGroup;
  readonly slo: ServingSlo;
  readonly bounds: ReplicaBounds;
  readonly coldStartMs: number;
  readonly priority: number;
}

export interface SharedFleetOptions {
  readonly fleet: FleetSpec;
  readonly policy: Policy;
  readonly jobs: Trace["jobs"];
  readonly endpoints: readonly SharedEndpoint[];
}

export interface SharedEndpointResult {
  readonly endpoint: string;
  readonly requests: number;
  readonly attainment_pct: number;
  readonly accelerator_hours: number;
  readonly replicas_max: number;
  /** Accelerator-hours for which the rule wanted replicas that had no place. */
  readonly missing_accelerator_hours: number;
}

export interface SharedFleetResult {
  readonly endpoints: readonly SharedEndpointResult[];
  readonly attainment_pct: number;
  readonly serving_accelerator_hours: number;
  readonly jobs: number;
  readonly jobs_started: number;
  readonly jobs_ended: number;
  readonly mean_wait_s: number;
  readonly training_accelerator_hours: number;
  readonly utilization_pct: number;
}

/** Interval in ms of decisions. */
const STEP_MS = 5000;
/** Work of traffic in times of the capacity model: 0.75 to 0.9 was measured by simulations of requests. */
const WORK_FACTOR = 0.85;
const FOREVER_MS = 315_360_000_000;
const common = { actor: "simulator", idempotencyKey: null } as const;
const servingTeam: TeamName = teamName("serving");
const trainingTeam: TeamName = teamName("trace");

/** Waits and accelerator time of the jobs. */
class JobCounts implements SimulationObserver {
  readonly #jobs: Trace["jobs"];
  readonly #running = new Map<string, { readonly job: number; startedAtMs: number }>();
  started = 0;
  ended = 0;
  waitMs = 0;
  acceleratorMs = 0;

  constructor(jobs: Trace["jobs"]) {
    this.#jobs = jobs;
  }

  onRound({ ready }: SimulatedRound): void {
    for (const effect of ready.effects) {
      if (effect.kind === "launchGang" && isJob(effect))
        this.#running.set(effect.attemptId, { job: Number(effect.spec.name.slice(1)), startedAtMs: -1 });
    }
    for (const event of ready.events) {
      if (event.kind !== "attemptStarted" && event.kind !== "attemptEnded") continue;
      const run = this.#running.get(event.attemptId);
      const job = run === undefined ? undefined : this.#jobs[run.job];
      if (run === undefined || job === undefined) continue;
      if (event.kind === "attemptStarted") {
        run.startedAtMs = event.atMs;
        this.started += 1;
        this.waitMs += event.atMs - job.submittedAtMs;
        continue;
      }
      this.#running.delete(event.attemptId);
      if (run.startedAtMs >= 0) this.acceleratorMs += job.accelerators * (event.atMs - run.startedAtMs);
      if (event.outcome === "succeeded") this.ended += 1;
    }
  }

  /** Accelerator time of the jobs that still run at `nowMs`. */
  runningMs(nowMs: number): number {
    let sum = 0;
    for (const { job, startedAtMs } of this.#running.values())
      if (startedAtMs >= 0) sum += (this.#jobs[job]?.accelerators ?? 0) * (nowMs - startedAtMs);
    return sum;
  }

  fork(): this {
    throw new RangeError("this simulation is not forked");
  }
}

const isJob = ({ spec }: LaunchGang): boolean => spec.kind === "train";

export class SharedFleetSimulation {
  readonly #options: SharedFleetOptions;
  readonly #jobs: JobCounts;
  readonly #simulation: Simulation<JobCounts>;
  readonly #endpoints: readonly EndpointRun[];
  readonly #endMs: number;
  #nowMs = 0;

  constructor(options: SharedFleetOptions) {
    this.#options = options;
    this.#jobs = new JobCounts(options.jobs);
    const team = (name: TeamName): Team => ({ name, parent: null, limit: {} });
    this.#simulation = createSimulation({
      startAtMs: 0,
      fleet: options.fleet,
      teams: [team(servingTeam), team(trainingTeam)],
      policy: options.policy,
      script: {
        length: options.jobs.length,
        atMs: (index) => options.jobs[index]?.submittedAtMs ?? 0,
        input: (index) => ({
          ...common,
          kind: "submitWorkload",
          commandId: commandId(`job-${index}`),
          spec: jobSpec(options.jobs, index),
        }),
      },
      executor: {
        startupMs: 0,
        stopMs: 0,
        plan: (launch) => ({
          durationMs: isJob(launch) ? (options.jobs[Number(launch.spec.name.slice(1))]?.durationMs ?? 0) : FOREVER_MS,
          exitCode: 0,
        }),
      },
      nodeFaults: null,
      observer: this.#jobs,
    });
    this.#endpoints = options.endpoints.map((each) => new EndpointRun(each, this.#simulation));
    this.#endMs = Math.max(...options.endpoints.map(({ traffic }) => traffic.arrivals.length * TICK_MS), 0);
  }

  /** Share of the time that was simulated. */
  get progress(): number {
    return this.#endMs === 0 ? 1 : this.#nowMs / this.#endMs;
  }

  /** Simulates so many steps; true: the end was reached. */
  advance(steps: number): boolean {
    for (let step = 0; step < steps && this.#nowMs < this.#endMs; step += 1) {
      this.#nowMs += STEP_MS;
      while (!this.#simulation.advance({ untilMs: this.#nowMs, maxRounds: 100_000 }));
      for (const endpoint of this.#endpoints) endpoint.step(this.#nowMs);
    }
    return this.#nowMs >= this.#endMs;
  }

  result(): SharedFleetResult {
    const endpoints = this.#endpoints.map((each) => each.result());
    const sum = (of: (each: SharedEndpointResult) => number): number =>
      endpoints.reduce((all, each) => all + of(each), 0);
    const requests = sum((each) => each.requests);
    const accelerators = this.#options.fleet.nodes.reduce((all, { acceleratorCount }) => all + acceleratorCount, 0);
    const servingHours = sum((each) => each.accelerator_hours);
    const trainingHours = (this.#jobs.acceleratorMs + this.#jobs.runningMs(this.#nowMs)) / 3_600_000;
    return {
      endpoints,
      attainment_pct: requests === 0 ? 100 : sum((each) => each.requests * each.attainment_pct) / requests,
      serving_accelerator_hours: servingHours,
      jobs: this.#options.jobs.length,
      jobs_started: this.#jobs.started,
      jobs_ended: this.#jobs.ended,
      mean_wait_s: this.#jobs.waitMs / 1000 / Math.max(1, this.#jobs.started),
      training_accelerator_hours: trainingHours,
      utilization_pct:
        (100 * (servingHours + trainingHours)) / Math.max(1e-9, (accelerators * this.#nowMs) / 3_600_000),
    };
  }
}

/** One endpoint: its replicas in the engine, its queue of work, and its rule. */
class EndpointRun {
  readonly #endpoint: SharedEndpoint;
  readonly #simulation: Simulation<JobCounts>;
  readonly #scaler: PredictiveScaler;
  readonly #workS: Float64Array;
  readonly #toleranceS: number;
  readonly #promptTokenMs: number;
  readonly #workloadId: WorkloadId;
  #tick = 0;
  #backlogS = 0;
  #requests = 0;
  #late = 0;
  #heldMs = 0;
  #missingMs = 0;
  #replicasMax = 0;
  #serial = 0;

  constructor(endpoint: SharedEndpoint, simulation: Simulation<JobCounts>) {
    const { costs, limits } = endpoint.group;
    const capacity = new ReplicaCapacity(costs, limits, endpoint.slo);
    this.#endpoint = endpoint;
    this.#simulation = simulation;
    this.#toleranceS = (endpoint.slo.ttftMs * WAITED_SHARE) / 1000;
    this.#workS = workByTick(endpoint.traffic, new LoadMeter(capacity, this.#toleranceS), WORK_FACTOR);
    this.#promptTokenMs = capacity.promptTokenMs(1000);
    this.#scaler = new PredictiveScaler(capacity, endpoint.slo);
    const reply = simulation.command({
      ...common,
      kind: "submitWorkload",
      commandId: commandId(`endpoint-${endpoint.name}`),
      spec: endpointSpec(endpoint),
    });
    if (reply?.kind !== "accepted" || reply.result.kind !== "workloadSubmitted")
      throw new RangeError(`endpoint ${endpoint.name} was refused: ${JSON.stringify(reply)}`);
    this.#workloadId = reply.result.workloadId;
  }

  step(nowMs: number): void {
    const { coldStartMs, traffic } = this.#endpoint;
    const active = this.#becomeReady(nowMs);
    const ready = active.filter((each) => each.ready !== undefined && each.stop === null).length;
    this.#heldMs += STEP_MS * active.length;
    this.#replicasMax = Math.max(this.#replicasMax, active.length);
    const counts = { arrivals: 0, arrivedPromptTokens: 0, ended: 0, endedOutputTokens: 0, missed: 0 };
    const until = Math.min(traffic.arrivals.length, nowMs / TICK_MS);
    for (; this.#tick < until; this.#tick += 1) {
      const arrived = traffic.arrivals[this.#tick] ?? 0;
      const served = lateInTick({
        backlogS: this.#backlogS,
        workS: this.#workS[this.#tick] ?? 0,
        replicas: ready,
        toleranceS: this.#toleranceS,
      });
      this.#backlogS = served.backlogS;
      counts.arrivals += arrived;
      counts.ended += arrived;
      counts.arrivedPromptTokens += traffic.promptTokens[this.#tick] ?? 0;
      counts.endedOutputTokens += traffic.outputTokens[this.#tick] ?? 0;
      counts.missed += served.lateShare * arrived;
    }
    this.#requests += counts.arrivals;
    this.#late += counts.missed;
    const waitingPromptTokens = (this.#backlogS * 1000) / this.#promptTokenMs;
    const { replicas } = this.#scaler.decide({
      nowMs,
      tickMs: STEP_MS,
      ready,
      starting: active.length - ready,
      ...counts,
      met: counts.arrivals - counts.missed,
      inFlight: counts.arrivals,
      waiting: counts.missed,
      waitingPromptTokens,
      ttftMs: Number.NaN,
      coldStartMs,
    });
    this.#scale(bounded(replicas, this.#endpoint.bounds), active.length);
  }

  result(): SharedEndpointResult {
    const accelerators = this.#endpoint.group.acceleratorsPerReplica;
    return {
      endpoint: this.#endpoint.name,
      requests: this.#requests,
      attainment_pct: this.#requests === 0 ? 100 : 100 * (1 - this.#late / this.#requests),
      accelerator_hours: (this.#heldMs * accelerators) / 3_600_000,
      replicas_max: this.#replicasMax,
      missing_accelerator_hours: (this.#missingMs * accelerators) / 3_600_000,
    };
  }

  #active(): readonly Attempt[] {
    const { workloads, attempts } = this.#simulation.engine.state;
    return (workloads.get(this.#workloadId)?.activeAttempts ?? []).flatMap((id) => attempts.get(id) ?? []);
  }

  #becomeReady(nowMs: number): readonly Attempt[] {
    const due = this.#active().filter(
      ({ ready, stop, phase, startedAtMs }) =>
        ready === undefined &&
        stop === null &&
        phase === "running" &&
        startedAtMs !== null &&
        nowMs >= startedAtMs + this.#endpoint.coldStartMs,
    );
    if (due.length > 0)
      this.#simulation.receive(
        due.map(({ id, task }) => ({
          kind: "replicaReady",
          attemptId: id,
          address: `replica.simulated:${8000 + task}`,
        })),
      );
    return this.#active();
  }

  #scale(wanted: number, active: number): void {
    const from = this.#simulation.engine.state.workloads.get(this.#workloadId)?.scale?.replicas ?? active;
    this.#missingMs += STEP_MS * Math.max(0, from - active);
    if (wanted === from) return;
    this.#serial += 1;
    this.#simulation.command({
      ...common,
      kind: "scaleEndpoint",
      commandId: commandId(`scale-${this.#endpoint.name}-${this.#serial}`),
      workloadId: this.#workloadId,
      from,
      replicas: wanted,
      ground: {
        kind: "load",
        cause: "ttft",
        measuredMilli: 0,
        targetMilli: Math.round(1000 * this.#endpoint.slo.ttftMs),
        neededMilli: 1000 * wanted,
        aheadMs: this.#endpoint.coldStartMs,
      },
      stopFirst: [],
    });
  }
}

const noRetries = { max: 0, backoffMs: 0, backoffMaxMs: 0 } as const;

function jobSpec(jobs: Trace["jobs"], index: number): WorkloadSpec {
  const job = jobs[index];
  if (job === undefined) throw new RangeError("no such job");
  const workers = job.workers ?? 1;
  return {
    kind: "train",
    name: `j${index}`,
    team: trainingTeam,
    run: "",
    dir: null,
    env: {},
    gang: { workers, accelerators: job.accelerators / workers, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    priority: 0,
    walltimeMs: job.durationMs,
    retries: { max: 10, backoffMs: 0, backoffMaxMs: 0 },
    graceTimeoutMs: 0,
    checkpointDir: null,
  };
}

function endpointSpec({ name, group, bounds, slo, priority }: SharedEndpoint): WorkloadSpec {
  return {
    kind: "serve",
    name,
    team: servingTeam,
    run: "",
    dir: null,
    env: {},
    gang: { workers: 1, accelerators: group.acceleratorsPerReplica, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    priority,
    walltimeMs: null,
    retries: { ...noRetries, max: 1000 },
    graceTimeoutMs: 0,
    checkpointDir: null,
    replicas: bounds,
    ready: { path: "/health", timeoutMs: FOREVER_MS },
    scale: { ttft: { p99Ms: slo.ttftMs }, downAfterMs: 60_000 },
  };
}
