/**
 * The demo's control plane: the product's engine and simulator with an invented fleet. It has no clock of its own: the
 * worker tells it how far to advance.
 */
import { commandId, defaultPolicy } from "@headroom/model";
import type { Command, CommandResult, LaunchGang } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { ProblemError } from "@headroom/protocol";
import type { NodeTelemetry, NodeTelemetryQuery } from "@headroom/protocol";
import { createSimulation, faultyPlan, seededNodeFaults } from "@headroom/sim";
import type { FaultOptions, RunPlan, SimulatedRound, Simulation, SimulationObserver } from "@headroom/sim";
import { CapacityRecorder, eventEnvelope, IncidentFold, rejectionProblem, SubjectRecorder } from "@headroom/views";
import type { AcceleratorReadings } from "@headroom/views";
import { chatEndpoint } from "./endpoints/chat-endpoint.ts";
import { DemoEndpoints } from "./endpoints/demo-endpoints.ts";
import { demoArtifacts } from "./demo-artifacts.ts";
import { demoFleet, demoTeams } from "./demo-fleet.ts";
import { demoProposals } from "./demo-proposals.ts";
import { demoPipelines } from "./demo-pipelines.ts";
import { demoOrders } from "./demo-orders.ts";
import { DemoCosts } from "./demo-costs.ts";
import { demoCalendar, demoRepair, demoSchedules } from "./demo-plans.ts";
import { DemoProgress } from "./demo-progress.ts";
import { DemoReadings } from "./demo-readings.ts";
import { DemoTelemetry } from "./demo-telemetry.ts";
import { demoStream } from "./demo-stream.ts";
import { EventLog } from "./event-log.ts";

export interface DemoOptions {
  readonly seed: number;
  readonly startAtMs: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
/** Load just below the fleet's capacity, so that the day's queue drains at night. */
const LOAD_PERCENT = 95;

/** Each node is lost once a month and repaired within hours; 2% of attempts fail without a loss. */
const faultsOf = (seed: number): FaultOptions => ({
  seed,
  nodeMeanUpMs: 30 * DAY_MS,
  nodeMeanDownMs: 240 * MINUTE_MS,
  attemptFailuresPer10000: 200,
});

/** The user of the demo. */
export const YOU = "you";

type WithoutId<T> = T extends unknown ? Omit<T, "commandId" | "idempotencyKey" | "actor"> : never;
export type DemoCommand = WithoutId<Command>;

class Recorder implements SimulationObserver {
  readonly log = new EventLog();
  readonly #onEvents: (round: SimulatedRound) => void;

  constructor(onEvents: (round: SimulatedRound) => void) {
    this.#onEvents = onEvents;
  }

  onRound(round: SimulatedRound): void {
    const { events, group } = round.ready;
    if (group === null) return;
    events.forEach((event, index) => this.log.append(eventEnvelope(group.firstSequence + index, event)));
    this.#onEvents(round);
  }

  fork(): this {
    throw new Error("the demo's run is watched by one page and is not forked");
  }
}

export class DemoWorld {
  readonly #simulation: Simulation<Recorder>;
  readonly #progress: DemoProgress;
  readonly capacity = new CapacityRecorder();
  readonly subjects = new SubjectRecorder();
  readonly incidents = new IncidentFold();
  readonly costs = new DemoCosts();
  readonly telemetry = new DemoTelemetry();
  readonly endpoints: DemoEndpoints;
  readonly #readings = new DemoReadings();
  #commandCount = 0;

  constructor({ seed, startAtMs }: DemoOptions) {
    this.#progress = new DemoProgress(seed);
    const faults = faultsOf(seed);
    const accelerators = demoFleet.nodes.reduce((sum, { acceleratorCount }) => sum + acceleratorCount, 0);
    const plan = (launch: LaunchGang): RunPlan =>
      faultyPlan(faults, launch, { durationMs: this.#progress.remainingMs(launch), exitCode: 0 });
    const recorder = new Recorder(({ ready }) => {
      const { events, group } = ready;
      for (const [index, event] of events.entries()) this.incidents.apply((group?.firstSequence ?? 0) + index, event);
      this.costs.follow(events);
      if (this.#isBuilt()) this.#progress.follow(ready.events, this.engine.state);
    });
    this.#simulation = createSimulation({
      startAtMs,
      fleet: demoFleet,
      teams: demoTeams,
      policy: defaultPolicy,
      script: demoStream({ seed, startAtMs, accelerators, loadPercent: LOAD_PERCENT }),
      executor: { startupMs: 20_000, stopMs: 12_000, plan },
      nodeFaults: seededNodeFaults(faults),
      observer: recorder,
    });
    this.endpoints = new DemoEndpoints({
      engine: () => this.engine,
      seed,
      command: (command, actor) => this.command(command, actor),
      observe: (observations) => this.#simulation.receive(observations),
    });
    this.#plan({ calendar: demoCalendar(startAtMs), schedules: demoSchedules, pipelines: demoPipelines });
  }

  get engine(): Engine {
    return this.#simulation.engine;
  }

  get nowMs(): number {
    return this.#simulation.nowMs;
  }

  get log(): EventLog {
    return this.#simulation.observer.log;
  }

  /** Advances to `untilMs`, or until `isOutOfTime` says that the thread is needed elsewhere. */
  advance(untilMs: number, isOutOfTime: () => boolean): void {
    while (this.nowMs < untilMs && !isOutOfTime()) {
      const stopAtMs = Math.min(untilMs, this.#progress.nextAtMs, this.endpoints.nextAtMs);
      // Time advances round by round, because work that starts in one round can report before the next.
      const isThere = this.#simulation.advance({ untilMs: stopAtMs, maxRounds: 1 });
      this.capacity.sampleIfDue(this.engine, this.nowMs);
      this.#readings.sampleIfDue(this.engine, this.telemetry.newest);
      this.subjects.sampleIfDue(this.engine, () => this.readings(), this.nowMs);
      if (isThere && this.endpoints.nextAtMs <= this.nowMs) this.endpoints.look(this.nowMs);
      if (!isThere || this.#progress.nextAtMs > this.nowMs) continue;
      const signals = this.#progress.takeDue(this.nowMs, this.engine.state);
      this.telemetry.record(signals, this.engine.state, this.nowMs);
      if (signals.length > 0) this.#simulation.receive(signals);
    }
  }

  /** The newest readings of all accelerators. */
  readings(): AcceleratorReadings {
    return this.#readings.now(this.engine, this.telemetry.newest);
  }

  nodeTelemetry(node: string, query: NodeTelemetryQuery): NodeTelemetry {
    return { readings: this.readings().of(node), history: this.#readings.history(node, query) };
  }

  /** Deploys an endpoint that follows traffic. */
  deployEndpoint(): void {
    this.command({ kind: "submitWorkload", spec: chatEndpoint }, "ana");
    this.endpoints.begin(this.nowMs);
  }

  /** Declares maintenance windows that begin soon. */
  planRepair(): void {
    this.#plan({ calendar: [demoRepair(this.nowMs)] });
  }

  /** Records capacity orders: one is on its way, and one is late with a part of its nodes. */
  planGrowth(): void {
    for (const { reason, phase, ...order } of demoOrders(this.nowMs))
      this.command({ kind: "createCapacityOrder", order, phase, reason });
  }

  /** Other users propose a larger quota and a drain. */
  propose(): void {
    const { nodes, teams } = this.engine.state;
    const team = [...teams.keys()].find((name) => name !== "default") ?? "default";
    const node = [...nodes.keys()].at(-1) ?? "";
    for (const { actor, ...proposal } of demoProposals(team, node))
      this.command({ kind: "createProposal", ...proposal }, actor);
  }

  /** Registers artifacts: a text, a model in two versions, and its evaluation. */
  registerArtifacts(): void {
    for (const body of demoArtifacts) this.command(body);
  }

  #plan(documents: Pick<Command & { readonly kind: "apply" }, "calendar" | "schedules" | "pipelines">): void {
    this.command({ kind: "apply", sites: [], pools: [], teams: [], workloads: [], ...documents });
  }

  /** Runs a command at the current instant of the simulation. Throws if the engine refuses it. */
  command(command: DemoCommand, actor: string = YOU): CommandResult {
    const id = commandId(`demo-${++this.#commandCount}`);
    const reply = this.#simulation.command({
      ...command,
      commandId: id,
      actor,
      idempotencyKey: null,
    });
    if (reply === undefined) throw new Error(`the engine did not answer ${command.kind}`);
    if (reply.kind === "rejected") throw new ProblemError(rejectionProblem(reply.rejection));
    return reply.result;
  }

  /** Whether the simulation exists. During set-up it does not exist, and no running work reports progress. */
  #isBuilt(): boolean {
    return this.#simulation !== undefined;
  }
}
