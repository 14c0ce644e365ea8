/**
 * The experiment of FGD (USENIX ATC '23) and later papers on allocation rates with the openb lists. The fleet is empty
 * at the start. Jobs arrive one by one and never end; a job that does not fit on arrival is dropped. The engine decides
 * under the given policy; this code only submits the jobs and counts.
 */
import { commandId, teamName } from "@headroom/model";
import type { Input, Policy } from "@headroom/model";
import { createEngine } from "@headroom/engine";
import type { Engine, Ready } from "@headroom/engine";
import type { FleetSpec } from "../run/fleet-spec.ts";
import { acceleratorMilliOf, type TraceJob } from "../trace/trace.ts";
import { drawDemand } from "./drawn-demand.ts";
import { withTypicalDemand } from "./typical-demand.ts";

export interface SettingOptions {
  /** The jobs to draw from. Only their requests count. */
  readonly population: readonly TraceJob[];
  readonly fleet: FleetSpec;
  readonly policy: Policy;
  /** Total request in thousandths of the fleet's accelerators: 1300 is the usual 130%. */
  readonly demandMilli: number;
  readonly seed: number;
}

/** Demand that has arrived, and accelerators allocated then; both in thousandths of the fleet's accelerators. */
export interface AllocatedAt {
  readonly askedMilli: number;
  readonly allocatedMilli: number;
}

export interface SettingResult {
  readonly submittedCount: number;
  readonly droppedCount: number;
  /**
   * Allocation when demand reaches 50, 90 and 100% of the fleet, and at the whole demand. Levels above the whole demand
   * are absent.
   */
  readonly marks: readonly AllocatedAt[];
}

const team = teamName("trace");
const usualMarksMilli = [500, 900, 1000];

/** One run, stepped job by job. */
export class SettingRun {
  readonly #engine: Engine = createEngine();
  readonly #demand: readonly TraceJob[];
  readonly #capacityMilli: number;
  readonly #pendingMarksMilli: number[];
  readonly #marks: AllocatedAt[] = [];
  #submittedCount = 0;
  #droppedCount = 0;
  #askedMilli = 0;
  #allocatedMilli = 0;
  #nowMs = 0;

  constructor({ population, fleet, policy, demandMilli, seed }: SettingOptions) {
    const count = fleet.nodes.reduce((sum, node) => sum + node.acceleratorCount, 0);
    this.#capacityMilli = count * 1000;
    this.#demand = drawDemand(population, { askedMilli: count * demandMilli, seed });
    this.#pendingMarksMilli = [...usualMarksMilli.filter((mark) => mark < demandMilli), demandMilli];
    this.#round([
      { ...operator("fleet"), kind: "apply", sites: fleet.sites, pools: fleet.pools, teams: [theTeam], workloads: [] },
      {
        ...operator("policy"),
        kind: "setPolicy",
        policy: { ...withTypicalDemand(policy, population), exceedsFleet: "reject" },
      },
    ]);
    this.#round(fleet.nodes.map((node) => ({ kind: "nodeSeen", node })));
  }

  /** Share of the demand that has arrived, 0 to 1. */
  get progress(): number {
    return this.#demand.length === 0 ? 1 : this.#submittedCount / this.#demand.length;
  }

  /** Submits up to `maxJobs` further jobs. Returns true when all jobs have arrived. */
  advance(maxJobs: number): boolean {
    const end = Math.min(this.#demand.length, this.#submittedCount + maxJobs);
    while (this.#submittedCount < end) this.#arrive(this.#demand[this.#submittedCount]!);
    return this.#submittedCount === this.#demand.length;
  }

  result(): SettingResult {
    return { submittedCount: this.#submittedCount, droppedCount: this.#droppedCount, marks: [...this.#marks] };
  }

  #arrive(job: TraceJob): void {
    const index = this.#submittedCount++;
    const ready = this.#round([submission(job, index)]);
    const milli = acceleratorMilliOf(job);
    this.#askedMilli += milli;
    if (ready.events.some(({ kind }) => kind === "gangPlaced")) this.#allocatedMilli += milli;
    else this.#drop(ready);
    while (this.#askedMilli * 1000 >= (this.#pendingMarksMilli[0] ?? Number.POSITIVE_INFINITY) * this.#capacityMilli) {
      const allocatedMilli = (this.#allocatedMilli * 1000) / this.#capacityMilli;
      this.#marks.push({ askedMilli: this.#pendingMarksMilli.shift()!, allocatedMilli });
    }
  }

  #drop(ready: Ready): void {
    this.#droppedCount++;
    const submitted = ready.events.find((event) => event.kind === "workloadSubmitted");
    // The engine has refused at once the jobs that no node could ever hold.
    if (submitted === undefined) return;
    const { workloadId } = submitted;
    this.#round([{ ...operator(`drop ${workloadId}`), kind: "stopWorkload", workloadId }]);
  }

  #round(inputs: readonly Input[]): Ready {
    const ready = this.#engine.receive(inputs, this.#nowMs++);
    this.#engine.advance();
    const refused = ready.replies.find((reply) => reply.kind === "rejected" && reply.rejection.code !== "tooLarge");
    if (refused !== undefined)
      throw new Error(`The engine refused a command of the experiment: ${JSON.stringify(refused)}`);
    return ready;
  }
}

const theTeam = { name: team, parent: null, limit: {} };

const operator = (id: string) => ({ commandId: commandId(id), actor: "setting", idempotencyKey: null }) as const;

function submission(job: TraceJob, index: number): Input {
  const { accelerators, shareMilli, coresMilli, memoryMib, acceleratorTypes } = job;
  return {
    ...operator(`submit ${index}`),
    kind: "submitWorkload",
    spec: {
      kind: "train",
      name: `j${index}`,
      team,
      run: "",
      dir: null,
      env: {},
      gang: { workers: 1, accelerators, coresMilli, memoryMib, ...(shareMilli === undefined ? {} : { shareMilli }) },
      acceleratorTypes,
      priority: 0,
      walltimeMs: null,
      retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
      graceTimeoutMs: 0,
      checkpointDir: null,
    },
  };
}
