/**
 * The simulator's driver: like the live driver, but with a virtual clock and the simulated executor. Both pass batches
 * of inputs to the engine, perform its effects, and decide nothing themselves. A round covers one instant: all reports
 * of executor and fleet, then the commands of the script that are due, in one batch; a tick only if time alone is due
 * to change something.
 */
import {
  commandId,
  createEngine,
  restoreEngine,
  type AttemptId,
  type Command,
  type Engine,
  type Input,
  type NodeId,
  type NodeSpec,
  type Observation,
  type Policy,
  type Ready,
  type Reply,
  type Team,
  type WorkerAllocation,
} from "@headroom/engine";
import { EventQueue, ranks } from "../clock/event-queue.ts";
import {
  ENTRY_BITS,
  ENTRY_MASK,
  type AdoptedAttempt,
  SimulatedExecutor,
  type SimulatedExecutorOptions,
} from "../executor/simulated-executor.ts";
import type { NodeFaults } from "../faults/fault-plan.ts";
import type { FleetSpec } from "./fleet-spec.ts";

/** Outside inputs by time: workloads of a trace, operators' commands. Immutable, so forks share it. */
export interface Script {
  readonly length: number;
  /** Never decreases with the index. */
  atMs(index: number): number;
  input(index: number): Input;
}

export interface SimulatedRound {
  readonly inputs: readonly Input[];
  /** The inputs from `inputs[firstScripted]` on belong to the script, from its index `scriptIndex` on. */
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
  readonly observer: Observer;
  /** Constructor of engines; default: the real one. Tests of the checkers pass engines with planted bugs. */
  readonly engines?: EngineSource;
}

export interface EngineSource {
  create(): Engine;
  restore(snapshot: Uint8Array): Engine;
}

const realEngines: EngineSource = { create: createEngine, restore: restoreEngine };

/** Payloads of queue entries about nodes; the executor's are `attemptEntry`. */
const nodeEntry = { fails: 3, returns: 4, notice: 8 } as const;

/** The parts of a simulation besides its options; a fork gets its own. */
interface Parts {
  readonly engine: Engine;
  readonly queue: EventQueue;
  readonly executor: SimulatedExecutor;
}

export class Simulation<Observer extends SimulationObserver> {
  readonly #options: SimulationOptions<Observer>;
  readonly #nodes: readonly NodeSpec[];
  readonly #queue: EventQueue;
  readonly #executor: SimulatedExecutor;
  readonly #lossCounts: Int32Array;
  #downCount = 0;
  #scriptIndex = 0;
  #nowMs: number;
  readonly engine: Engine;
  readonly observer: Observer;

  /** Use `createSimulation` to create one, `fork` to copy it. */
  constructor(options: SimulationOptions<Observer>, parts: Parts, observer: Observer) {
    this.#options = options;
    this.#nodes = options.fleet.nodes;
    this.#lossCounts = new Int32Array(this.#nodes.length);
    this.#nowMs = options.startAtMs;
    this.engine = parts.engine;
    this.#queue = parts.queue;
    this.#executor = parts.executor;
    this.observer = observer;
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Number of scripted inputs passed to the engine so far, of `Script.length`. */
  get scriptedCount(): number {
    return this.#scriptIndex;
  }

  /**
   * When the next round is due; `Infinity` at rest: no input is left, nothing runs, and waiting work can never start.
   * Losses of idle nodes are ignored when no input is left.
   */
  get nextAtMs(): number {
    const { script } = this.#options;
    const arrivesAtMs = this.#scriptIndex < script.length ? script.atMs(this.#scriptIndex) : Number.POSITIVE_INFINITY;
    const wakesAtMs = this.engine.nextWakeAtMs() ?? Number.POSITIVE_INFINITY;
    const isOver =
      arrivesAtMs === Number.POSITIVE_INFINITY &&
      wakesAtMs === Number.POSITIVE_INFINITY &&
      this.#executor.liveCount === 0 &&
      this.#downCount === 0;
    if (isOver) return Number.POSITIVE_INFINITY;
    return Math.max(this.#nowMs, Math.min(this.#queue.nextAtMs, arrivesAtMs, wakesAtMs));
  }

  /** The next round, at whatever time it is due. False: the simulation is at rest. */
  step(): boolean {
    const atMs = this.nextAtMs;
    if (atMs === Number.POSITIVE_INFINITY) return false;
    this.#stepAt(atMs);
    return true;
  }

  /** Up to `maxRounds` rounds that are due at or before `untilMs`. True: there is no more to do before then. */
  advance(limit: { readonly untilMs: number; readonly maxRounds: number }): boolean {
    const { untilMs, maxRounds } = limit;
    for (let round = 0; round < maxRounds; round++) {
      const atMs = this.nextAtMs;
      if (atMs > untilMs || atMs === Number.POSITIVE_INFINITY) {
        if (untilMs < Number.POSITIVE_INFINITY) this.#nowMs = Math.max(this.#nowMs, untilMs);
        return true;
      }
      this.#stepAt(atMs);
    }
    return false;
  }

  #stepAt(atMs: number): void {
    this.#nowMs = atMs;
    let inputs = this.#takeDue();
    const firstScripted = inputs.length;
    const scriptIndex = this.#scriptIndex;
    const { script } = this.#options;
    while (this.#scriptIndex < script.length && script.atMs(this.#scriptIndex) <= atMs) {
      inputs = appended(inputs, this.#scripted(script.input(this.#scriptIndex++)));
    }
    if (inputs.length === 0) {
      // Only stale entries were due, unless the engine has a wakeup.
      const wakeAtMs = this.engine.nextWakeAtMs();
      if (wakeAtMs === null || wakeAtMs > atMs) return;
      inputs = [{ kind: "tick" }];
    }
    this.#round(inputs, firstScripted, scriptIndex);
  }

  /** Submits a command now, outside the script, and returns the engine's reply. */
  command(command: Command): Reply | undefined {
    return this.receive([command]).replies.find((reply) => reply.commandId === command.commandId);
  }

  /** Submits inputs now, outside the script. Observations about nodes do not change the machines: see `loseMachine`. */
  receive(inputs: readonly Input[]): Ready {
    return this.#round(inputs, inputs.length, this.#scriptIndex);
  }

  /** The real workers of an attempt, whatever the engine's state; none: it has ended, or is lost. */
  workersOf(id: AttemptId): readonly WorkerAllocation[] {
    return this.#executor.workersOf(id);
  }

  /** The machine dies with all its work. The engine is not informed. */
  loseMachine(nodeId: NodeId): void {
    this.#executor.loseNode(nodeId, this.#nowMs);
  }

  /** The machine is back, empty. The engine is not informed. */
  returnMachine(nodeId: NodeId): void {
    this.#executor.returnNode(nodeId, this.#nowMs);
  }

  /**
   * A control plane that died after its journal was synced and before it performed its effects: the simulation with a
   * restored engine, after the recovery of a live driver. This one must not be used any more.
   */
  crashAfter(inputs: readonly Input[]): Simulation<Observer> {
    const ready = this.engine.receive(inputs, this.#nowMs);
    this.engine.advance();
    this.observer.onRound({
      inputs,
      firstScripted: inputs.length,
      scriptIndex: this.#scriptIndex,
      ready,
      engine: this.engine,
    });
    const recovered = this.fork();
    recovered.#executor.perform(recovered.engine.outstandingEffects(), this.#nowMs);
    return recovered;
  }

  /** An independent copy that continues exactly as this one would. */
  fork(): Simulation<Observer> {
    const queue = this.#queue.fork();
    const parts = { engine: restored(this.#options, this.engine), queue, executor: this.#executor.fork(queue) };
    const copy = new Simulation(this.#options, parts, this.observer.fork());
    copy.#lossCounts.set(this.#lossCounts);
    copy.#downCount = this.#downCount;
    copy.#scriptIndex = this.#scriptIndex;
    copy.#nowMs = this.#nowMs;
    return copy;
  }

  /** Creates the fleet, its teams and its policy, before the script starts. */
  setUp(): void {
    const { fleet, teams, policy } = this.#options;
    const common = { actor: "simulator", idempotencyKey: null };
    this.#round(
      [
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
      ],
      2,
      0,
    );
    this.#round(
      this.#nodes.map((node) => ({ kind: "nodeSeen", node })),
      this.#nodes.length,
      0,
    );
    for (let node = 0; node < this.#nodes.length; node++) this.#scheduleLoss(node);
  }

  #round(inputs: readonly Input[], firstScripted: number, scriptIndex: number): Ready {
    const ready = this.engine.receive(inputs, this.#nowMs);
    this.engine.advance();
    this.observer.onRound({ inputs, firstScripted, scriptIndex, ready, engine: this.engine });
    this.#executor.perform(ready.effects, this.#nowMs);
    return ready;
  }

  /** A script may also contain node observations; the machines then follow them. */
  #scripted(input: Input): Input {
    if (input.kind === "nodeUnreachable") this.#executor.loseNode(input.nodeId, this.#nowMs);
    else if (input.kind === "nodeSeen") this.#executor.returnNode(input.node.id, this.#nowMs);
    return input;
  }

  #takeDue(): readonly Input[] {
    const queue = this.#queue;
    let due: readonly Input[] = [];
    while (queue.nextAtMs <= this.#nowMs) {
      const payload = queue.nextPayload;
      const kind = payload & ENTRY_MASK;
      const isOfNode = kind === nodeEntry.fails || kind === nodeEntry.returns || kind === nodeEntry.notice;
      const observed = isOfNode ? null : this.#executor.observeNext();
      queue.drop();
      if (observed !== null) due = appended(due, observed);
      else if (kind === nodeEntry.fails) due = appended(due, this.#loseNode(payload >> ENTRY_BITS));
      else if (kind === nodeEntry.returns) due = appended(due, this.#returnNode(payload >> ENTRY_BITS));
      else if (kind === nodeEntry.notice) due = appended(due, this.#notice(payload >> ENTRY_BITS));
    }
    return due;
  }

  #loseNode(index: number): Observation {
    const { id } = this.#nodes[index]!;
    this.#downCount++;
    this.#executor.loseNode(id, this.#nowMs);
    const downMs = this.#options.nodeFaults!.downMs(index, this.#lossCounts[index]!);
    this.#queue.push(this.#nowMs + downMs, ranks.observation, (index << ENTRY_BITS) | nodeEntry.returns);
    return { kind: "nodeUnreachable", nodeId: id, detail: "simulated loss" };
  }

  #returnNode(index: number): Observation {
    const node = this.#nodes[index]!;
    this.#downCount--;
    this.#lossCounts[index]!++;
    this.#executor.returnNode(node.id, this.#nowMs);
    this.#scheduleLoss(index);
    return { kind: "nodeSeen", node };
  }

  #scheduleLoss(index: number): void {
    const upMs = this.#options.nodeFaults?.upMs(index, this.#lossCounts[index]!) ?? null;
    if (upMs === null) return;
    this.#queue.push(this.#nowMs + upMs, ranks.observation, (index << ENTRY_BITS) | nodeEntry.fails);
    const noticeMs = this.#options.nodeFaults?.noticeMs ?? null;
    if (noticeMs === null) return;
    const atMs = this.#nowMs + Math.max(0, upMs - noticeMs);
    this.#queue.push(atMs, ranks.observation, (index << ENTRY_BITS) | nodeEntry.notice);
  }

  /** The node stays up for the notice period, or for the rest of its lifetime if that is shorter. */
  #notice(index: number): Observation {
    const { upMs, noticeMs } = this.#options.nodeFaults!;
    const leftMs = Math.min(noticeMs ?? 0, upMs(index, this.#lossCounts[index]!) ?? 0);
    return { kind: "nodeNotice", nodeId: this.#nodes[index]!.id, goneAtMs: this.#nowMs + leftMs };
  }
}

/**
 * Most rounds have one input. A literal list has capacity for exactly that; pushing to an empty one allocates
 * seventeen.
 */
function appended(inputs: readonly Input[], input: Input): readonly Input[] {
  if (inputs.length === 0) return [input];
  (inputs as Input[]).push(input);
  return inputs;
}

function restored({ engines }: { readonly engines?: EngineSource }, engine: Engine): Engine {
  return (engines ?? realEngines).restore(engine.snapshot());
}

/** A simulation that continues from an engine with running work. The engine belongs to the simulation from then on. */
export function resumeSimulation<Observer extends SimulationObserver>(
  options: SimulationOptions<Observer>,
  engine: Engine,
  adopted: readonly AdoptedAttempt[],
): Simulation<Observer> {
  const queue = new EventQueue();
  const executor = new SimulatedExecutor(options.executor, queue);
  for (const { id, health } of engine.state.nodes.values())
    if (health === "lost") executor.loseNode(id, options.startAtMs);
  for (const each of adopted) executor.adopt(each, options.startAtMs);
  return new Simulation(options, { engine, queue, executor }, options.observer);
}

/** A simulation whose fleet exists and whose script has not begun. */
export function createSimulation<Observer extends SimulationObserver>(
  options: SimulationOptions<Observer>,
): Simulation<Observer> {
  const queue = new EventQueue();
  const parts = {
    engine: (options.engines ?? realEngines).create(),
    queue,
    executor: new SimulatedExecutor(options.executor, queue),
  };
  const simulation = new Simulation(options, parts, options.observer);
  simulation.setUp();
  return simulation;
}
