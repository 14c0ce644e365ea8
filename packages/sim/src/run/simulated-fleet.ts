/**
 * The machines of a simulated fleet, with the simulated executor on them. The fault plan announces the losses of nodes,
 * loses nodes and returns them.
 */
import type { Effect, Input, NodeSpec, Observation } from "@headroom/model";
import { type EventQueue, ranks } from "../clock/event-queue.ts";
import { ENTRY_BITS, ENTRY_MASK, type SimulatedExecutor } from "../executor/simulated-executor.ts";
import type { NodeFaults } from "../faults/fault-plan.ts";
import type { PlayoutWorld } from "../playout/playout.ts";

/** Payloads of queue entries about nodes. `attemptEntry` makes the payloads of the executor. */
const nodeEntry = { fails: 3, returns: 4, notice: 8 } as const;

export interface SimulatedFleetOptions {
  readonly nodes: readonly NodeSpec[];
  /** `null`: no node is ever lost. */
  readonly nodeFaults: NodeFaults | null;
}

const NO_REPORTS: readonly Input[] = [];

export class SimulatedFleet implements PlayoutWorld {
  readonly #options: SimulatedFleetOptions;
  readonly #queue: EventQueue;
  readonly #lossCounts: Int32Array;
  #downCount = 0;
  readonly executor: SimulatedExecutor;

  constructor(options: SimulatedFleetOptions, queue: EventQueue, executor: SimulatedExecutor) {
    this.#options = options;
    this.#queue = queue;
    this.#lossCounts = new Int32Array(options.nodes.length);
    this.executor = executor;
  }

  /** An idle fleet at the end does not lose nodes. So the fleet is at rest when no attempt runs and no node is lost. */
  get isAtRest(): boolean {
    return this.executor.liveCount === 0 && this.#downCount === 0;
  }

  observeNext(nowMs: number): Input | null {
    const payload = this.#queue.nextPayload;
    switch (payload & ENTRY_MASK) {
      case nodeEntry.fails:
        return this.#loseNode(payload >> ENTRY_BITS, nowMs);
      case nodeEntry.returns:
        return this.#returnNode(payload >> ENTRY_BITS, nowMs);
      case nodeEntry.notice:
        return this.#notice(payload >> ENTRY_BITS, nowMs);
      default:
        return this.executor.observeNext();
    }
  }

  /** Performs effects. It returns no reports, because launched attempts report through the queue. */
  perform(effects: readonly Effect[], nowMs: number): readonly Input[] {
    this.executor.perform(effects, nowMs);
    return NO_REPORTS;
  }

  /** Draws the time of each node's first loss. */
  scheduleLosses(nowMs: number): void {
    for (let node = 0; node < this.#options.nodes.length; node++) this.#scheduleLoss(node, nowMs);
  }

  fork(queue: EventQueue): SimulatedFleet {
    const copy = new SimulatedFleet(this.#options, queue, this.executor.fork(queue));
    copy.#lossCounts.set(this.#lossCounts);
    copy.#downCount = this.#downCount;
    return copy;
  }

  #loseNode(index: number, nowMs: number): Observation {
    const { id } = this.#options.nodes[index]!;
    this.#downCount++;
    this.executor.loseNode(id, nowMs);
    const downMs = this.#options.nodeFaults!.downMs(index, this.#lossCounts[index]!);
    this.#queue.push(nowMs + downMs, ranks.observation, (index << ENTRY_BITS) | nodeEntry.returns);
    return { kind: "nodeUnreachable", nodeId: id, detail: "simulated loss" };
  }

  #returnNode(index: number, nowMs: number): Observation {
    const node = this.#options.nodes[index]!;
    this.#downCount--;
    this.#lossCounts[index]!++;
    this.executor.returnNode(node.id, nowMs);
    this.#scheduleLoss(index, nowMs);
    return { kind: "nodeSeen", node };
  }

  #scheduleLoss(index: number, nowMs: number): void {
    const upMs = this.#options.nodeFaults?.upMs(index, this.#lossCounts[index]!) ?? null;
    if (upMs === null) return;
    this.#queue.push(nowMs + upMs, ranks.observation, (index << ENTRY_BITS) | nodeEntry.fails);
    const noticeMs = this.#options.nodeFaults?.noticeMs ?? null;
    if (noticeMs === null) return;
    const atMs = nowMs + Math.max(0, upMs - noticeMs);
    this.#queue.push(atMs, ranks.observation, (index << ENTRY_BITS) | nodeEntry.notice);
  }

  /** Announces a loss. The node stays up for the notice period, or until its loss if that comes earlier. */
  #notice(index: number, nowMs: number): Observation {
    const { upMs, noticeMs } = this.#options.nodeFaults!;
    const leftMs = Math.min(noticeMs ?? 0, upMs(index, this.#lossCounts[index]!) ?? 0);
    return { kind: "nodeNotice", nodeId: this.#options.nodes[index]!.id, goneAtMs: nowMs + leftMs };
  }
}
