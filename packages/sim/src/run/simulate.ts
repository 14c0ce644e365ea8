/** Runs a trace under a policy, from the first submission to the last end, and computes its metrics. */
import { commandId, teamName } from "@headroom/model";
import type {
  Command,
  DataSpec,
  GangSpec,
  LaunchGang,
  Policy,
  RetrySpec,
  Team,
  TeamName,
  WorkloadSpec,
} from "@headroom/model";
import { domainFaults } from "../faults/domain-faults.ts";
import { faultyPlan, seededNodeFaults, type FaultOptions } from "../faults/fault-plan.ts";
import { TraceMetrics } from "../metrics/trace-metrics.ts";
import { summarise, type SimulationResult } from "../metrics/result.ts";
import type { Trace, TraceJob } from "../trace/trace.ts";
import type { FleetSpec } from "./fleet-spec.ts";
import { dataByPopularity, stagingOf, type TraceInputs } from "./trace-inputs.ts";
import { teamsByAccount } from "./declared-fleet.ts";
import { createSimulation, type Script, type Simulation } from "./simulation.ts";

export interface TraceSimulationOptions {
  readonly trace: Trace;
  readonly fleet: FleetSpec;
  readonly policy: Policy;
  /** `null`: no faults. */
  readonly faults: FaultOptions | null;
  /** Time in ms from the launch of an attempt until it runs. */
  readonly startupMs: number;
  /** Walltimes of the jobs; absent: `actual`. */
  readonly walltimes?: TraceWalltimes;
  /**
   * Declared teams. A job belongs to the team of its account (`teamsByAccount`), else to a team `trace`. Absent: all
   * jobs belong to one team.
   */
  readonly teams?: readonly Team[];
  /** Inputs of the jobs, which nodes read before a start; absent: jobs read nothing. */
  readonly inputs?: TraceInputs;
}

/**
 * Walltimes of the jobs. `actual`: the real run time. `stated`: the trace's walltime, or none. `times`: a multiple of
 * the real run time. A walltime is never below the real run time, so no job is stopped early.
 */
export type TraceWalltimes =
  | { readonly kind: "actual" | "stated" }
  | { readonly kind: "times"; readonly factor: number };

/** Traces contain the run time of a job but no stop delay, so stops take no time. */
const stopMs = 0;

const noRetries: RetrySpec = { max: 0, backoffMs: 0, backoffMaxMs: 0 };
/** Settings for retries that a typical user of an unreliable batch system chooses. */
const retriesUnderFaults: RetrySpec = { max: 3, backoffMs: 60_000, backoffMaxMs: 3_600_000 };

const traceTeam = teamName("trace");

/**
 * Time in ms after the last submission at which the simulation stops: ten years. Work that has not ended by then never
 * will, for example a job that exceeds its team's budget.
 */
const GIVEN_UP_AFTER_MS = 10 * 366 * 24 * 3_600_000;

/** One simulation of a trace: step it, fork it, or run it to its end with `simulate`. */
export class TraceSimulation {
  readonly #options: TraceSimulationOptions;
  readonly simulation: Simulation<TraceMetrics>;

  constructor(options: TraceSimulationOptions, forkOf?: TraceSimulation) {
    this.#options = options;
    this.simulation = forkOf === undefined ? begin(options) : forkOf.simulation.fork();
  }

  /** Share of the trace's jobs that have been submitted, 0 to 1. */
  get progress(): number {
    return this.simulation.scriptedCount / this.#options.trace.jobs.length;
  }

  /** Runs up to `maxRounds` rounds. Returns true when the trace is finished. */
  advance(maxRounds: number): boolean {
    for (let round = 0; round < maxRounds; round++) if (this.#isFinished || !this.simulation.step()) return true;
    return false;
  }

  /**
   * Whether all work has ended, or is known never to end. Timers alone do not count, because monthly budgets renew
   * without end.
   */
  get #isFinished(): boolean {
    const { jobs } = this.#options.trace;
    const { scriptedCount, engine, nowMs } = this.simulation;
    if (scriptedCount < jobs.length) return false;
    const { submittedCount, endedCount } = engine.state;
    return submittedCount === endedCount || nowMs > (jobs.at(-1)?.submittedAtMs ?? 0) + GIVEN_UP_AFTER_MS;
  }

  fork(): TraceSimulation {
    return new TraceSimulation(this.#options, this);
  }

  /** The result so far. */
  result(): SimulationResult {
    const { trace, fleet, policy, teams } = this.#options;
    const { observer, engine, transfers } = this.simulation;
    const teamOf = teams === undefined ? null : teamOfJob(teams);
    return summarise({ trace, fleet, policyName: policy.name, metrics: observer, engine, teamOf, transfers });
  }
}

/** The team of each job, by its account. */
export const teamNameOf = (teams: readonly Team[]): ((job: TraceJob) => string) => teamOfJob(teams);

/** Runs a trace to its end. */
export function simulate(options: TraceSimulationOptions): SimulationResult {
  const run = new TraceSimulation(options);
  while (!run.advance(1_000_000));
  return run.result();
}

function begin(options: TraceSimulationOptions): Simulation<TraceMetrics> {
  const { trace, fleet, policy, faults, startupMs, teams = [] } = options;
  const { jobs } = trace;
  const startAtMs = jobs[0]?.submittedAtMs ?? 0;
  return createSimulation({
    startAtMs,
    fleet,
    teams: teams.some(({ name }) => name === traceTeam)
      ? teams
      : [...teams, { name: traceTeam, parent: null, limit: {} }],
    // A job that no node could hold is rejected at once, as in the simulations of the published schedulers. With
    // simulated faults the job waits, because nodes return.
    policy: { ...policy, exceedsFleet: faults === null ? "reject" : "hold" },
    script: submissions(jobs, {
      retries: faults === null ? noRetries : retriesUnderFaults,
      walltimes: options.walltimes ?? { kind: "actual" },
      gangOf: sharedGangs(),
      teamOf: teamOfJob(teams),
      dataOf: options.inputs === undefined ? noData : dataByPopularity(options.inputs),
    }),
    executor: {
      ...(options.inputs === undefined ? {} : { staging: stagingOf(options.inputs) }),
      startupMs,
      stopMs,
      plan: (launch) => {
        const undisturbed = { durationMs: jobs[jobOf(launch)]!.durationMs, exitCode: 0 };
        return faults === null ? undisturbed : faultyPlan(faults, launch, undisturbed);
      },
    },
    nodeFaults: faults === null ? null : seededNodeFaults(faults),
    domainFaults: faults === null ? [] : domainFaults(faults, fleet),
    observer: new TraceMetrics({ jobs, startAtMs, jobOf }),
  });
}

/** Traces can repeat ids. The index in submission order is unique, and short in the journal. */
function workloadName(index: number): string {
  return `j${index}`;
}

/** The number is parsed digit by digit: a substring for every launch would cost more than the number. */
function jobOf({ spec: { name } }: LaunchGang): number {
  let job = 0;
  for (let at = 1; at < name.length; at++) job = job * 10 + name.charCodeAt(at) - DIGIT_ZERO;
  return job;
}

const DIGIT_ZERO = 48;

function teamOfJob(teams: readonly Team[]): (job: TraceJob) => TeamName {
  const meant = teamsByAccount(teams);
  return ({ account }) => (account === undefined ? traceTeam : (meant(account)?.name ?? traceTeam));
}

function submissions(jobs: readonly TraceJob[], shared: SharedParts): Script {
  const submittedAtMs = new Float64Array(jobs.length);
  for (let index = 0; index < jobs.length; index++) submittedAtMs[index] = jobs[index]!.submittedAtMs;
  return {
    length: jobs.length,
    atMs: (index) => submittedAtMs[index]!,
    input: (index) => submission(jobs[index]!, index, shared),
  };
}

/** Gang specs shared by jobs of the same shape: a trace has few shapes and many jobs. */
function sharedGangs(): (job: TraceJob) => GangSpec {
  const byShape = new Map<number, GangSpec>();
  return ({ accelerators, shareMilli, coresMilli, memoryMib, workers }) => {
    if (workers !== undefined) {
      const each = (amount: number): number => Math.ceil(amount / workers);
      return {
        workers,
        accelerators: accelerators / workers,
        coresMilli: each(coresMilli),
        memoryMib: each(memoryMib),
      };
    }
    if (shareMilli !== undefined) return { workers: 1, accelerators, shareMilli, coresMilli, memoryMib };
    if (coresMilli !== 0 || memoryMib !== 0) return { workers: 1, accelerators, coresMilli, memoryMib };
    let gang = byShape.get(accelerators);
    if (gang === undefined)
      byShape.set(accelerators, (gang = { workers: 1, accelerators, coresMilli: 0, memoryMib: 0 }));
    return gang;
  };
}

interface SharedParts {
  readonly retries: RetrySpec;
  readonly gangOf: (job: TraceJob) => GangSpec;
  readonly walltimes: TraceWalltimes;
  readonly teamOf: (job: TraceJob) => TeamName;
  readonly dataOf: (index: number) => DataSpec | undefined;
}

const noData = (): undefined => undefined;

function walltimeOf({ durationMs, walltimeMs }: TraceJob, walltimes: TraceWalltimes): number | null {
  switch (walltimes.kind) {
    case "actual":
      return durationMs;
    case "stated":
      return walltimeMs === undefined ? null : Math.max(durationMs, walltimeMs);
    case "times":
      return Math.max(durationMs, Math.round(durationMs * walltimes.factor));
  }
}

const noEnv: Readonly<Record<string, string>> = {};

function submission(
  job: TraceJob,
  index: number,
  { retries, gangOf, walltimes, teamOf, dataOf }: SharedParts,
): Command {
  const data = dataOf(index);
  const spec: WorkloadSpec = {
    kind: "train",
    name: workloadName(index),
    team: teamOf(job),
    run: "",
    dir: null,
    env: noEnv,
    gang: gangOf(job),
    acceleratorTypes: job.acceleratorTypes,
    priority: 0,
    walltimeMs: walltimeOf(job, walltimes),
    retries,
    graceTimeoutMs: 0,
    checkpointDir: null,
  };
  return {
    kind: "submitWorkload",
    commandId: commandId(String(index)),
    actor: job.user ?? "trace",
    idempotencyKey: null,
    // Most traces name no inputs. A literal without a spread is built several times as fast.
    spec: data === undefined ? spec : { ...spec, data },
  };
}
