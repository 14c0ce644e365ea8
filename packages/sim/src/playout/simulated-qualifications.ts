/**
 * Suites on nodes that have to qualify, in simulated time: each run takes as long as the driver expected it to, or else
 * the limit of the pool's rule, and passes. As many nodes of a pool run it at a time as the rule allows.
 */
import type { Input, NodeId } from "@headroom/model";
import { mayRunSuite, type Engine } from "@headroom/engine";
import { nodeUse } from "@headroom/explain";

interface Run {
  readonly nodeId: NodeId;
  readonly id: number;
  readonly run: number;
  readonly endsAtMs: number;
}

const NONE: readonly Input[] = [];

export class SimulatedQualifications {
  readonly #engine: Engine;
  /** Runs in progress. */
  #runs: readonly Run[] = [];
  /** Runs that begin with the next batch. */
  #beginning: readonly Input[] = NONE;
  /** Whether a node may wait for a run. */
  #mayWait: boolean;
  #fleetEpoch: number;
  #nowMs: number;

  constructor(engine: Engine, nowMs: number) {
    this.#engine = engine;
    this.#nowMs = nowMs;
    this.#mayWait = false;
    this.#fleetEpoch = engine.fleetEpoch;
    for (const { id: nodeId, qualification } of engine.state.nodes.values()) {
      if (qualification === undefined) continue;
      this.#mayWait = true;
      const { id, run, startedAtMs, expectedMs } = qualification;
      if (startedAtMs === undefined || expectedMs === undefined) continue;
      this.#runs = [...this.#runs, { nodeId, id, run, endsAtMs: Math.max(nowMs, startedAtMs + expectedMs) }];
    }
    if (this.#mayWait) this.#begin(nowMs);
  }

  /** The instant of the next input in ms; `Infinity`: there is none. */
  get nextAtMs(): number {
    if (this.#beginning.length > 0) return this.#nowMs;
    let nextAtMs = Number.POSITIVE_INFINITY;
    for (const { endsAtMs } of this.#runs) nextAtMs = Math.min(nextAtMs, endsAtMs);
    return nextAtMs;
  }

  /** Follows a batch of the engine. Without a change of the fleet and nodes that have to qualify, it compares two numbers. */
  heed(nowMs: number): void {
    this.#nowMs = nowMs;
    const { fleetEpoch } = this.#engine;
    const hasChanged = fleetEpoch !== this.#fleetEpoch;
    this.#fleetEpoch = fleetEpoch;
    if (hasChanged || this.#mayWait) this.#follow(nowMs);
  }

  #follow(nowMs: number): void {
    if (this.#runs.length > 0) this.#runs = this.#runs.filter((run) => this.#isCurrent(run));
    this.#begin(nowMs);
  }

  /** Inputs that are due, and removes them. */
  take(nowMs: number): readonly Input[] {
    return this.#runs.length === 0 && this.#beginning.length === 0 ? NONE : this.#takeDue(nowMs);
  }

  #takeDue(nowMs: number): readonly Input[] {
    const due = this.#runs.filter(({ endsAtMs }) => endsAtMs <= nowMs);
    const begun = this.#beginning;
    if (due.length + begun.length === 0) return NONE;
    this.#beginning = NONE;
    this.#runs = this.#runs.filter(({ endsAtMs }) => endsAtMs > nowMs);
    const ended = due.map(({ nodeId, id, run, endsAtMs }): Input => {
      const startedAtMs = this.#engine.state.nodes.get(nodeId)?.qualification?.startedAtMs ?? endsAtMs;
      const durationMs = Math.max(0, endsAtMs - startedAtMs);
      return { kind: "qualificationEnded", nodeId, id, run, isPassed: true, detail: "", durationMs };
    });
    return [...ended, ...begun];
  }

  /** Whether the node still runs this run of its suite: it may have left the fleet, or has to begin again. */
  #isCurrent({ nodeId, id, run }: Run): boolean {
    const qualification = this.#engine.state.nodes.get(nodeId)?.qualification;
    return qualification?.id === id && qualification.run === run && qualification.phase === "running";
  }

  /** Chooses the nodes on which the suite begins next, in the order in which they joined. */
  #begin(nowMs: number): void {
    const { nodes, pools } = this.#engine.state;
    this.#mayWait = false;
    if (![...pools.values()].some(({ qualification }) => qualification !== undefined)) return;
    const running = new Map<string, number>();
    const known = new Set(this.#runs.map(({ nodeId, id, run }) => `${nodeId} ${id} ${run}`));
    let isWaiting = false;
    for (const { pool, qualification } of nodes.values())
      if (qualification?.phase === "running") running.set(pool, (running.get(pool) ?? 0) + 1);
    const beginning: Input[] = [];
    for (const node of nodes.values()) {
      const { id: nodeId, pool, qualification } = node;
      if (qualification === undefined || qualification.phase === "failed") continue;
      isWaiting = true;
      const { id, run, phase } = qualification;
      const rule = pools.get(pool)?.qualification;
      if (rule === undefined) continue;
      if (phase === "running") {
        if (!known.has(`${nodeId} ${id} ${run}`))
          this.#runs = [...this.#runs, { nodeId, id, run, endsAtMs: nowMs + (qualification.expectedMs ?? 0) }];
        continue;
      }
      const count = running.get(pool) ?? 0;
      if (count >= rule.atOnce || !mayRunSuite(node) || nodeUse(this.#engine, nodeId).attempts.length > 0) continue;
      running.set(pool, count + 1);
      beginning.push({ kind: "qualificationStarted", nodeId, id, run: run + 1, expectedMs: rule.limitMs });
    }
    this.#beginning = beginning;
    this.#mayWait = isWaiting;
  }
}
