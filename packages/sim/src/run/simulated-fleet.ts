/**
 * The machines of a simulated fleet, with the simulated executor on them. The fault plan announces the losses of nodes,
 * loses nodes and failure domains, and returns them. A node is down while any of its causes lasts.
 */
import type { Effect, Input, NodeSpec, Observation } from "@headroom/model";
import { type EventQueue, ranks } from "../clock/event-queue.ts";
import { ENTRY_BITS, ENTRY_MASK, type SimulatedExecutor } from "../executor/simulated-executor.ts";
import type { DomainFaults } from "../faults/domain-faults.ts";
import type { NodeFaults } from "../faults/fault-plan.ts";
import type { PlayoutWorld } from "../playout/playout.ts";

/**
 * Payloads of queue entries about nodes and failure domains. `attemptEntry` makes the payloads of the executor. An entry makes at
 * most one input, so the loss of a domain is one entry for each of its nodes (`cutOff`), and so is its return (`reconnected`).
 */
const nodeEntry = {
  fails: 3,
  returns: 4,
  notice: 8,
  domainFails: 9,
  domainReturns: 10,
  cutOff: 11,
  reconnected: 12,
} as const;

export interface SimulatedFleetOptions {
  readonly nodes: readonly NodeSpec[];
  /** `null`: no node is ever lost. */
  readonly nodeFaults: NodeFaults | null;
  /** Nodes that are lost together. */
  readonly domainFaults: readonly DomainFaults[];
}

const NO_REPORTS: readonly Input[] = [];

export class SimulatedFleet implements PlayoutWorld {
  readonly #options: SimulatedFleetOptions;
  readonly #queue: EventQueue;
  readonly #lossCounts: Int32Array;
  /** Number of present causes for which each node is down: a fault of its own, and lost domains. */
  readonly #causeCounts: Int32Array;
  readonly #domainLossCounts: Int32Array;
  #downCount = 0;
  readonly executor: SimulatedExecutor;

  constructor(options: SimulatedFleetOptions, queue: EventQueue, executor: SimulatedExecutor) {
    this.#options = options;
    this.#queue = queue;
    this.#lossCounts = new Int32Array(options.nodes.length);
    this.#causeCounts = new Int32Array(options.nodes.length);
    this.#domainLossCounts = new Int32Array(options.domainFaults.length);
    this.executor = executor;
  }

  /** An idle fleet at the end does not lose nodes. So the fleet is at rest when no attempt runs and no node is lost. */
  get isAtRest(): boolean {
    return this.executor.liveCount === 0 && this.#downCount === 0;
  }

  observeNext(nowMs: number): Input | null {
    const payload = this.#queue.nextPayload;
    const index = payload >> ENTRY_BITS;
    switch (payload & ENTRY_MASK) {
      case nodeEntry.fails:
        return this.#loseNode(index, nowMs);
      case nodeEntry.returns:
        return this.#returnNode(index, nowMs);
      case nodeEntry.notice:
        return this.#notice(index, nowMs);
      case nodeEntry.domainFails:
        return this.#loseDomain(index, nowMs);
      case nodeEntry.domainReturns:
        return this.#returnDomain(index, nowMs);
      case nodeEntry.cutOff:
        return this.#down(index, nowMs);
      case nodeEntry.reconnected:
        return this.#up(index, nowMs);
      default:
        return this.executor.observeNext();
    }
  }

  /** Performs effects. It returns no reports, because launched attempts report through the queue. */
  perform(effects: readonly Effect[], nowMs: number): readonly Input[] {
    this.executor.perform(effects, nowMs);
    return NO_REPORTS;
  }

  /** Draws the times of the first loss of each node and of each failure domain. */
  scheduleLosses(nowMs: number): void {
    for (let node = 0; node < this.#options.nodes.length; node++) this.#scheduleLoss(node, nowMs);
    for (let domain = 0; domain < this.#options.domainFaults.length; domain++) this.#scheduleDomainLoss(domain, nowMs);
  }

  fork(queue: EventQueue): SimulatedFleet {
    const copy = new SimulatedFleet(this.#options, queue, this.executor.fork(queue));
    copy.#lossCounts.set(this.#lossCounts);
    copy.#causeCounts.set(this.#causeCounts);
    copy.#domainLossCounts.set(this.#domainLossCounts);
    copy.#downCount = this.#downCount;
    return copy;
  }

  #loseNode(index: number, nowMs: number): Observation | null {
    const downMs = this.#options.nodeFaults!.downMs(index, this.#lossCounts[index]!);
    this.#queue.push(nowMs + downMs, ranks.observation, (index << ENTRY_BITS) | nodeEntry.returns);
    return this.#down(index, nowMs);
  }

  #returnNode(index: number, nowMs: number): Observation | null {
    this.#lossCounts[index]!++;
    this.#scheduleLoss(index, nowMs);
    return this.#up(index, nowMs);
  }

  /** One more cause takes the node down; `null`: it was down before. */
  #down(index: number, nowMs: number): Observation | null {
    if (this.#causeCounts[index]!++ > 0) return null;
    const { id } = this.#options.nodes[index]!;
    this.#downCount++;
    this.executor.loseNode(id, nowMs);
    return { kind: "nodeUnreachable", nodeId: id, detail: "simulated loss" };
  }

  /** One cause is over; `null`: another one lasts. */
  #up(index: number, nowMs: number): Observation | null {
    if (--this.#causeCounts[index]! > 0) return null;
    const node = this.#options.nodes[index]!;
    this.#downCount--;
    this.executor.returnNode(node.id, nowMs);
    return { kind: "nodeSeen", node };
  }

  #loseDomain(domain: number, nowMs: number): null {
    const { nodes, downMs } = this.#options.domainFaults[domain]!;
    for (const node of nodes) this.#queue.push(nowMs, ranks.observation, (node << ENTRY_BITS) | nodeEntry.cutOff);
    const returnsAtMs = nowMs + downMs(this.#domainLossCounts[domain]!);
    this.#queue.push(returnsAtMs, ranks.observation, (domain << ENTRY_BITS) | nodeEntry.domainReturns);
    return null;
  }

  #returnDomain(domain: number, nowMs: number): null {
    this.#domainLossCounts[domain]!++;
    for (const node of this.#options.domainFaults[domain]!.nodes)
      this.#queue.push(nowMs, ranks.observation, (node << ENTRY_BITS) | nodeEntry.reconnected);
    this.#scheduleDomainLoss(domain, nowMs);
    return null;
  }

  #scheduleDomainLoss(domain: number, nowMs: number): void {
    const upMs = this.#options.domainFaults[domain]!.upMs(this.#domainLossCounts[domain]!);
    if (upMs === null) return;
    this.#queue.push(nowMs + upMs, ranks.observation, (domain << ENTRY_BITS) | nodeEntry.domainFails);
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
