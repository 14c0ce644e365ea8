/**
 * One simulated burst: gangs arrive at a small fleet, the engine orders nodes, a provisioner starts and stops them, and
 * the gangs run. The provisioner repeats itself, and in a world with faults it also fails, stays silent and loses nodes.
 */
import { checkBatch, checkInvariants } from "@headroom/engine-oracle";
import { createEngine, restoreEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import {
  attemptId,
  commandId,
  draw,
  isOrderOver,
  isOutstanding,
  nodeId,
  poolName,
  siteName,
  teamName,
} from "@headroom/model";
import type { AttemptId, BurstRule, CapacityOrder, Event, Input, NodeSpec, Pool, WorkloadSpec } from "@headroom/model";

const SECOND = 1_000;
export const ORDER_AFTER_MS = 30 * SECOND;
/** Time after which a burst with faults must have released everything: retries, back-offs and give-ups included. */
const END_MS = 14 * 24 * 3_600 * SECOND;
const BATCHES_MAX = 20_000;

const by = { commandId: commandId("c"), actor: "ann", idempotencyKey: null };

interface BurstResult {
  readonly problems: readonly string[];
  readonly orders: number;
  readonly gangs: number;
  /** Longest time from the submission of a gang until it was placed, beyond the lead time. */
  readonly waitedBeyondLeadMs: number;
}

interface Due {
  readonly atMs: number;
  readonly run: () => readonly Input[];
}

export class SimulatedBurst {
  readonly #seed: number;
  readonly #hasFaults: boolean;
  readonly #bend: (events: readonly Event[]) => readonly Event[];
  #engine: Engine = createEngine();
  #nowMs = 0;
  #drawn = 0;
  #due: Due[] = [];
  readonly #known = new Map<string, { nodes: readonly string[] }>();
  readonly #releasing = new Set<string>();
  readonly #placedAtMs = new Map<string, number>();
  readonly #problems: string[] = [];
  #gangs = 0;
  #orders = 0;

  /** `bend`: changes the events that are checked, to plant a bug of the engine that the checks must find. */
  constructor(seed: number, hasFaults: boolean, bend: (events: readonly Event[]) => readonly Event[] = (same) => same) {
    this.#seed = seed;
    this.#hasFaults = hasFaults;
    this.#bend = bend;
  }

  run(): BurstResult {
    const leadMs = this.#between(30, 300) * SECOND;
    this.#receive([this.#fleet(leadMs), ...this.#nodes(this.#between(0, 2))]);
    this.#submitAll();
    for (let batch = 0; batch < BATCHES_MAX && this.#step(); batch++) if (this.#problems.length > 0) break;
    return this.#result(leadMs);
  }

  #result(leadMs: number): BurstResult {
    const { state } = this.#engine;
    const open = [...state.capacityOrders.values()].filter((order) => !isOrderOver(order)).map(({ name }) => name);
    if (open.length > 0) this.#problems.push(`at the end the orders ${open.join(", ")} are open`);
    const extra = [...state.nodes.values()].filter(({ id }) => id.startsWith("extra"));
    if (extra.length > 0) this.#problems.push(`at the end ${extra.length} extra nodes are left`);
    let waitedBeyondLeadMs = 0;
    for (const { id, submittedAtMs } of state.workloads.values()) {
      const placedAtMs = this.#placedAtMs.get(id);
      if (placedAtMs === undefined) this.#problems.push(`${id} never started`);
      else {
        waitedBeyondLeadMs = Math.max(waitedBeyondLeadMs, placedAtMs - submittedAtMs - leadMs);
      }
    }
    return { problems: this.#problems, orders: this.#orders, gangs: this.#gangs, waitedBeyondLeadMs };
  }

  #between(low: number, high: number): number {
    return low + (draw(this.#seed, this.#drawn++, "burst") % (high - low + 1));
  }

  #chance(percent: number): boolean {
    return this.#between(0, 99) < percent;
  }

  #fleet(leadMs: number): Input {
    const pool = (name: string, priceMicroUsdPerHour: number, nodesMax: number): Pool => {
      const burst: BurstRule = {
        provisioner: "simulated",
        nodesMax,
        acceleratorCount: 8,
        coresMilli: 64_000,
        memoryMib: 1_024,
        leadTimeMs: leadMs,
        leadTimeP95Ms: leadMs,
        orderAfterMs: ORDER_AFTER_MS - SECOND,
        releaseAfterMs: this.#between(0, 600) * SECOND,
      };
      const plain = { name: poolName(name), site: siteName("dc"), executor: "simulated", acceleratorType: "H100" };
      return { ...plain, priceMicroUsdPerHour, ...(nodesMax > 0 ? { burst } : {}) };
    };
    const pools = [pool("own", 0, 0), pool("spot", 2_000_000, 40), pool("other", this.#between(1, 4) * 1_000_000, 40)];
    const sites = [{ name: siteName("dc"), fabricLevels: [] }];
    return { kind: "apply", sites, pools, teams: [], workloads: [], ...by };
  }

  #nodes(count: number): readonly Input[] {
    return Array.from({ length: count }, (_, index) => ({ kind: "nodeSeen", node: nodeOf(`own-${index}`, "own") }));
  }

  #submitAll(): void {
    this.#gangs = this.#between(1, 6);
    for (let index = 0; index < this.#gangs; index++) {
      const spec = gangOf(`g${index}`, this.#between(1, 4), [1, 2, 4, 8][this.#between(0, 3)] ?? 8);
      const atMs = this.#chance(50) ? 0 : this.#between(0, 900) * SECOND;
      this.#at(atMs, () => [{ kind: "submitWorkload", spec, ...by }]);
    }
  }

  #at(atMs: number, run: Due["run"]): void {
    this.#due.push({ atMs, run });
    this.#due.sort((left, right) => left.atMs - right.atMs);
  }

  /** False: nothing will happen any more. */
  #step(): boolean {
    const wakeAtMs = this.#engine.nextWakeAtMs() ?? Number.POSITIVE_INFINITY;
    const next = this.#due[0];
    const atMs = Math.min(wakeAtMs, next?.atMs ?? Number.POSITIVE_INFINITY);
    if (atMs > END_MS) return false;
    this.#nowMs = Math.max(this.#nowMs, atMs);
    if (next === undefined || next.atMs > atMs) this.#receive([{ kind: "tick" }]);
    else {
      this.#due.shift();
      this.#receive(next.run());
    }
    // A restored engine goes on like one that never stopped.
    if (this.#chance(3)) this.#engine = restoreEngine(this.#engine.snapshot());
    return true;
  }

  #receive(inputs: readonly Input[]): void {
    const nominated = new Set(this.#engine.state.nominations.keys());
    const ready = this.#engine.receive(inputs, this.#nowMs);
    this.#engine.advance();
    const findings = [
      ...checkInvariants(this.#engine),
      ...checkBatch(this.#engine.state, { ...ready, events: this.#bend(ready.events) }, nominated),
    ];
    this.#problems.push(...findings.map((each) => `at ${this.#nowMs} ms: ${each}`));
    for (const event of ready.events) {
      if (event.kind === "gangPlaced") this.#start(event.attemptId, event.workloadId);
      if (event.kind === "capacityOrderDecided") this.#orders++;
    }
    for (const order of this.#engine.state.capacityOrders.values()) this.#provision(order);
  }

  #start(id: AttemptId, workloadId: string): void {
    if (!this.#placedAtMs.has(workloadId)) this.#placedAtMs.set(workloadId, this.#nowMs);
    this.#at(this.#nowMs, () => [{ kind: "attemptRunning", attemptId: attemptId(id) }]);
    const runMs = this.#between(1, 1_800) * SECOND;
    this.#at(this.#nowMs + runMs, () => [
      { kind: "attemptExited", attemptId: attemptId(id), exits: [{ kind: "exited", worker: 0, code: 0 }] },
    ]);
  }

  /** The machines of an order that was not seen before, and their release. */
  #provision(order: CapacityOrder): void {
    const { name } = order;
    if (isOutstanding(order) && !this.#known.has(name)) this.#create(order);
    const { nodes } = this.#engine.state;
    for (const id of order.automatic?.nodeNames ?? [])
      if (nodes.get(id)?.removal?.awaits === name && !this.#releasing.has(id)) {
        this.#releasing.add(id);
        const says = { kind: "orderReported", name, state: "arriving", detail: "", released: [id] } as const;
        this.#at(this.#nowMs + this.#between(0, 60) * SECOND, () => [says]);
        // The executor reports the machine a last time while it stops.
        this.#at(this.#nowMs + this.#between(0, 90) * SECOND, () => [
          { kind: "nodeSeen", node: nodeOf(id, order.pool) },
        ]);
      }
    if (order.phase === "leaving" && !this.#releasing.has(name)) {
      this.#releasing.add(name);
      this.#at(this.#nowMs + this.#between(1, 60) * SECOND, () => [
        { kind: "orderReported", name, state: "gone", detail: "" },
      ]);
    }
  }

  #create({ name, pool, nodeCount, arrival }: CapacityOrder): void {
    const nodes = Array.from({ length: nodeCount }, (_, index) => `extra-${name}-${index}`);
    this.#known.set(name, { nodes });
    const leadMs = arrival.kind === "leadTime" ? arrival.p50Ms : 0;
    const state = this.#hasFaults && this.#chance(15) ? "failed" : "arriving";
    const report = { kind: "orderReported", name, state, detail: "", nodes: nodes.map(nodeId) } as const;
    const isSilent = this.#hasFaults && this.#chance(10);
    if (!isSilent)
      for (let times = this.#between(1, 3); times > 0; times--)
        this.#at(this.#nowMs + this.#between(0, 20) * SECOND, () => [report]);
    if (state === "failed") return;
    for (const id of nodes) {
      if (this.#hasFaults && this.#chance(10)) continue;
      const joinedAtMs = this.#nowMs + Math.floor((leadMs * this.#between(50, 100)) / 100);
      this.#at(joinedAtMs, () => [{ kind: "nodeSeen", node: nodeOf(id, pool) }]);
      if (this.#hasFaults && this.#chance(10))
        this.#at(joinedAtMs + this.#between(1, 900) * SECOND, () => [
          { kind: "nodeUnreachable", nodeId: nodeId(id), detail: "the instance was taken away" },
        ]);
    }
  }
}

const nodeOf = (id: string, pool: string): NodeSpec => ({
  id: nodeId(id),
  pool: poolName(pool),
  fabric: [],
  acceleratorCount: 8,
  coresMilli: 64_000,
  memoryMib: 1_024,
});

const gangOf = (name: string, workers: number, accelerators: number): WorkloadSpec => ({
  kind: "train",
  name,
  team: teamName("default"),
  run: "true",
  dir: null,
  env: {},
  gang: { workers, accelerators, coresMilli: 0, memoryMib: 0 },
  acceleratorTypes: [],
  priority: 0,
  walltimeMs: null,
  retries: { max: 0, backoffMs: 1_000, backoffMaxMs: 1_000 },
  graceTimeoutMs: 1_000,
  checkpointDir: null,
});
