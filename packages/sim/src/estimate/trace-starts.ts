/** Runs a trace on a fleet, gives the engine no run times, and records the starts. */
import { commandId, InvariantError, teamName } from "@headroom/model";
import type { Policy, WorkloadId, WorkloadSpec } from "@headroom/model";
import type { FleetSpec } from "../run/fleet-spec.ts";
import {
  createSimulation,
  type Script,
  type Simulation,
  type SimulatedRound,
  type SimulationObserver,
} from "../run/simulation.ts";
import type { TraceJob } from "../trace/trace.ts";

export interface TraceStartsOptions {
  /** In the order of submission. */
  readonly jobs: readonly TraceJob[];
  readonly fleet: FleetSpec;
  readonly policy: Policy;
}

export class StartLedger implements SimulationObserver {
  readonly jobs: readonly TraceJob[];
  readonly idOf: (WorkloadId | null)[];
  readonly startedAtMs: Float64Array;
  /** Jobs submitted and started in the newest rounds; the reader empties the lists. */
  submitted: number[] = [];
  started: number[] = [];

  constructor(jobs: readonly TraceJob[]) {
    this.jobs = jobs;
    this.idOf = jobs.map(() => null);
    this.startedAtMs = new Float64Array(jobs.length).fill(-1);
  }

  onRound({ ready, inputs, firstScripted, scriptIndex }: SimulatedRound): void {
    if (firstScripted < inputs.length) {
      for (const [offset, reply] of ready.replies.entries()) {
        if (reply.kind !== "accepted" || reply.result.kind !== "workloadSubmitted") continue;
        this.idOf[scriptIndex + offset] = reply.result.workloadId;
        this.submitted.push(scriptIndex + offset);
      }
    }
    for (const effect of ready.effects) {
      if (effect.kind !== "launchGang") continue;
      this.startedAtMs[jobOf(effect)] = ready.atMs;
      this.started.push(jobOf(effect));
    }
  }

  fork(): this {
    throw new InvariantError("the observer of a validation cannot be forked");
  }
}

const team = teamName("trace");

/** Index of the job in the trace. */
export function jobOf({ spec }: { readonly spec: WorkloadSpec }): number {
  return Number(spec.name.slice(1));
}

export function traceStarts({ jobs, fleet, policy }: TraceStartsOptions): Simulation<StartLedger> {
  return createSimulation({
    startAtMs: jobs[0]?.submittedAtMs ?? 0,
    fleet,
    teams: [{ name: team, parent: null, limit: {} }],
    policy,
    script: submissions(jobs),
    executor: {
      startupMs: 0,
      stopMs: 0,
      plan: (launch) => ({ durationMs: jobs[jobOf(launch)]!.durationMs, exitCode: 0 }),
    },
    nodeFaults: null,
    observer: new StartLedger(jobs),
  });
}

function submissions(jobs: readonly TraceJob[]): Script {
  return {
    length: jobs.length,
    atMs: (index) => jobs[index]!.submittedAtMs,
    input: (index) => ({
      kind: "submitWorkload",
      commandId: commandId(String(index)),
      actor: "trace",
      idempotencyKey: null,
      spec: specOf(jobs[index]!, index),
    }),
  };
}

/** Workloads get no walltime, because the trace has only the true run time. */
export function specOf({ accelerators }: TraceJob, index: number): WorkloadSpec {
  return {
    kind: "train",
    name: `j${index}`,
    team,
    run: "",
    dir: null,
    env: {},
    gang: { workers: 1, accelerators, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    priority: 0,
    walltimeMs: null,
    retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
    graceTimeoutMs: 0,
    checkpointDir: null,
  };
}
