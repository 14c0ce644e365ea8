/**
 * The simulator's driver. It works like the live driver, but with a virtual clock and the simulated executor. Both
 * drivers pass batches of inputs to the engine, perform its effects, and decide nothing themselves. A round covers one
 * instant: all reports of executor and fleet, then the due inputs of the script, in one batch. The batch has a tick
 * only if the passing of time is due to change the state.
 */
import { commandId } from "@headroom/model";
import type { AttemptId, Command, Input, NodeId, Policy, Reply, Team, WorkerAllocation } from "@headroom/model";
import { createEngine, restoreEngine } from "@headroom/engine";
import type { Engine, Ready } from "@headroom/engine";
import { EventQueue } from "../clock/event-queue.ts";
import {
  type AdoptedAttempt,
  SimulatedExecutor,
  type SimulatedExecutorOptions,
} from "../executor/simulated-executor.ts";
import type { TransferCounts } from "../executor/simulated-caches.ts";
import type { DomainFaults } from "../faults/domain-faults.ts";
import type { NodeFaults } from "../faults/fault-plan.ts";
import { Playout, type PlayoutArrivals, type PlayoutLimit } from "../playout/playout.ts";
import type { FleetSpec } from "./fleet-spec.ts";
import { SimulatedFleet } from "./simulated-fleet.ts";

/**
 * Inputs from outside, ordered by time: the workloads of a trace, and operators' commands. A script is immutable, so
 * forks share it.
 */
export interface Script {
  readonly length: number;
  /** Time of the input with this index. Times never decrease with the index. */
  atMs(index: number): number;
  input(index: number): Input;
}

export interface SimulatedRound {
  readonly inputs: readonly Input[];
  /**
   * The inputs from `inputs[firstScripted]` on belong to the script. The first of them has the index `scriptIndex` in
   * the script.
   */
  readonly firstScripted: number;
  readonly scriptIndex: number;
  readonly ready: Ready;
  readonly engine: Engine;
}

/** Observer of a run. It sees every round and is forked with the run. */
export interface SimulationObserver {
  onRound(round: SimulatedRound): void;
  fork(): this;
}

export interface SimulationOptions<Observer extends SimulationObserver> {
  readonly startAtMs: number;
  readonly fleet: FleetSpec;
  readonly teams: readonly Team[];
  readonly policy: Policy;
  readonly script: Script;
  readonly executor: SimulatedExecutorOptions;
  /** `null`: no node is ever lost. */
  readonly nodeFaults: NodeFaults | null;
  /** Nodes that are lost together; absent: none. */
  readonly domainFaults?: readonly DomainFaults[];
  readonly observer: Observer;
  /** Constructor of engines; absent: the real engine. Tests of the checkers pass engines with planted bugs. */
  readonly engines?: EngineSource;
}

export interface EngineSource {
  create(): Engine;
  restore(snapshot: Uint8Array): Engine;
}

const realEngines: EngineSource = { create: createEngine, restore: restoreEngine };

/** The script from this position on. It can contain observations of nodes; the simulated machines then follow them. */
class ScriptArrivals implements PlayoutArrivals {
  readonly #script: Script;
  readonly #executor: SimulatedExecutor;
  index: number;

  constructor(script: Script, executor: SimulatedExecutor, index: number) {
    this.#script = script;
    this.#executor = executor;
    this.index = index;
  }

  get nextAtMs(): number {
    return this.index < this.#script.length ? this.#script.atMs(this.index) : Number.POSITIVE_INFINITY;
  }

  take(nowMs: number): Input {
    const input = this.#script.input(this.index++);
    if (input.kind === "nodeUnreachable") this.#executor.loseNode(input.nodeId, nowMs);
    else if (input.kind === "nodeSeen") this.#executor.returnNode(input.node.id, nowMs);
    return input;
  }
}

/** The parts of a simulation other than its options. A fork gets copies of them. */
interface Parts {
  readonly engine: Engine;
  readonly queue: EventQueue;
  readonly fleet: SimulatedFleet;
  readonly startAtMs: number;
  readonly scriptIndex: number;
}

export class Simulation<Observer extends SimulationObserver> {
  readonly #options: SimulationOptions<Observer>;
  readonly #queue: EventQueue;
  readonly #fleet: SimulatedFleet;
  readonly #arrivals: ScriptArrivals;
  readonly #playout: Playout;
  readonly engine: Engine;
  readonly observer: Observer;

  /** Do not call this constructor: `createSimulation` creates a simulation, `fork` copies one. */
  constructor(options: SimulationOptions<Observer>, parts: Parts, observer: Observer) {
    const { engine, queue, fleet, startAtMs, scriptIndex } = parts;
    const arrivals = new ScriptArrivals(options.script, fleet.executor, scriptIndex);
    this.#options = options;
    this.engine = engine;
    this.#queue = queue;
    this.#fleet = fleet;
    this.#arrivals = arrivals;
    this.observer = observer;
    this.#playout = new Playout({
      engine,
      queue,
      startAtMs,
      world: fleet,
      arrivals,
      onRound: ({ inputs, firstArrival: firstScripted, ready }) =>
        observer.onRound({
          inputs,
          firstScripted,
          scriptIndex: arrivals.index - (inputs.length - firstScripted),
          ready,
          engine,
        }),
      grain: 0,
      ticksWhenStale: false,
    });
  }

  get nowMs(): number {
    return this.#playout.nowMs;
  }

  /** Number of inputs of the script passed to the engine so far, out of `Script.length`. */
  get scriptedCount(): number {
    return this.#arrivals.index;
  }

  /**
   * Time of the next round in ms. `Infinity`: the simulation is at rest, that is, no input is left, no attempt runs,
   * and waiting work can never start. Losses of idle nodes are ignored when no input is left.
   */
  get nextAtMs(): number {
    return this.#playout.nextAtMs;
  }

  /** Runs the next round. Returns false when the simulation is at rest. */
  step(): boolean {
    return this.#playout.step();
  }

  /** Runs up to `maxRounds` rounds that are due at or before `untilMs`. Returns true when no more rounds are due. */
  advance(limit: PlayoutLimit): boolean {
    const isOver = this.#playout.advance(limit);
    if (isOver && limit.untilMs < Number.POSITIVE_INFINITY) this.#playout.passTo(limit.untilMs);
    return isOver;
  }

  /** Submits a command now, outside the script, and returns the engine's reply. */
  command(command: Command): Reply | undefined {
    return this.receive([command]).replies.find((reply) => reply.commandId === command.commandId);
  }

  /**
   * Submits inputs now, outside the script. Observations about nodes do not change the machines; `loseMachine` does.
   */
  receive(inputs: readonly Input[]): Ready {
    return this.#playout.receive(inputs);
  }

  /**
   * The workers of an attempt that really run, independent of the engine's state. The list is empty if the attempt has
   * ended or is lost.
   */
  workersOf(id: AttemptId): readonly WorkerAllocation[] {
    return this.#fleet.executor.workersOf(id);
  }

  /** Counts of the transfers so far; `null`: inputs are not transferred. */
  get transfers(): TransferCounts | null {
    return this.#fleet.executor.transfers;
  }

  /** Fails a machine with all its work, without a report to the engine. */
  loseMachine(nodeId: NodeId): void {
    this.#fleet.executor.loseNode(nodeId, this.nowMs);
  }

  /** Returns a machine without its work, and without a report to the engine. */
  returnMachine(nodeId: NodeId): void {
    this.#fleet.executor.returnNode(nodeId, this.nowMs);
  }

  /**
   * Simulates a control plane that died after its journal was synced and before it performed its effects. Returns the
   * simulation with a restored engine, after the recovery of a live driver. The old simulation must not be used any
   * more.
   */
  crashAfter(inputs: readonly Input[]): Simulation<Observer> {
    const ready = this.engine.receive(inputs, this.nowMs);
    this.engine.advance();
    this.observer.onRound({
      inputs,
      firstScripted: inputs.length,
      scriptIndex: this.scriptedCount,
      ready,
      engine: this.engine,
    });
    const recovered = this.fork();
    recovered.#fleet.executor.perform(recovered.engine.outstandingEffects(), this.nowMs);
    return recovered;
  }

  /** An independent copy that continues exactly as this simulation would. */
  fork(): Simulation<Observer> {
    const queue = this.#queue.fork();
    const engine = restored(this.#options, this.engine);
    const parts = {
      engine,
      queue,
      fleet: this.#fleet.fork(queue),
      startAtMs: this.nowMs,
      scriptIndex: this.scriptedCount,
    };
    return new Simulation(this.#options, parts, this.observer.fork());
  }

  /** Creates the fleet, its teams and its policy, before the script starts. */
  setUp(): void {
    const { fleet, teams, policy } = this.#options;
    const common = { actor: "simulator", idempotencyKey: null };
    this.receive([
      {
        ...common,
        kind: "apply",
        commandId: commandId("set-up-fleet"),
        sites: fleet.sites,
        pools: fleet.pools,
        teams,
        workloads: [],
      },
      { ...common, kind: "setPolicy", commandId: commandId("set-up-policy"), policy },
    ]);
    this.receive(fleet.nodes.map((node) => ({ kind: "nodeSeen", node })));
    this.#fleet.scheduleLosses(this.nowMs);
  }
}

function restored({ engines }: { readonly engines?: EngineSource }, engine: Engine): Engine {
  return (engines ?? realEngines).restore(engine.snapshot());
}

function partsOf<Observer extends SimulationObserver>(options: SimulationOptions<Observer>, engine: Engine): Parts {
  const { fleet, nodeFaults, domainFaults = [], executor, startAtMs } = options;
  const queue = new EventQueue();
  const simulated = new SimulatedFleet(
    { nodes: fleet.nodes, nodeFaults, domainFaults },
    queue,
    new SimulatedExecutor(executor, queue),
  );
  return { engine, queue, fleet: simulated, startAtMs, scriptIndex: 0 };
}

/** A simulation that continues from an engine with running work. The engine belongs to the simulation from then on. */
export function resumeSimulation<Observer extends SimulationObserver>(
  options: SimulationOptions<Observer>,
  engine: Engine,
  adopted: readonly AdoptedAttempt[],
): Simulation<Observer> {
  const parts = partsOf(options, engine);
  const { executor } = parts.fleet;
  for (const { id, health } of engine.state.nodes.values())
    if (health === "lost") executor.loseNode(id, options.startAtMs);
  for (const each of adopted) executor.adopt(each, options.startAtMs);
  return new Simulation(options, parts, options.observer);
}

/** A simulation whose fleet exists and whose script has not begun. */
export function createSimulation<Observer extends SimulationObserver>(
  options: SimulationOptions<Observer>,
): Simulation<Observer> {
  const engine = (options.engines ?? realEngines).create();
  const simulation = new Simulation(options, partsOf(options, engine), options.observer);
  simulation.setUp();
  return simulation;
}
