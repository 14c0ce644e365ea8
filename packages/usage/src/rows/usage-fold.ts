/**
 * Folds the journal into usage rows, outside the engine. It reads facts only, so the same journal gives the same rows in
 * every build that reads its events.
 *
 * Memory is bounded by the nodes, the workloads and the running attempts: rows leave the fold as soon as their outcome
 * is known, and a calendar month (UTC) is closed when the first event after it arrives. Work that runs over the end of a
 * month is stated as used; if it turns out to be lost, rows with `correctedAtMs` correct it. Start with `#apply`.
 */
import { acceleratorCount, milliOf, nextMonthStartMs, wholeParts } from "@headroom/model";
import type { Event, EventOf, GangSpec, WorkerAllocation } from "@headroom/model";
import {
  heldByNode,
  idleUntil,
  NOBODY,
  RUNNING,
  settle,
  verdictOfEnd,
  verdictsOf,
  type HeldWorker,
  type Holder,
  type Holding,
  type Piece,
  type Verdict,
} from "./holding.ts";
import { foreignMilliOf, freeMilli, freeReason, type NodeAccount } from "./node-account.ts";
import type { UsageRow } from "./row.ts";

/** The facts of a workload that rows show. They are kept after the end of the workload, because a rerun names only the id. */
interface KnownWorkload {
  readonly team: string;
  readonly user: string;
  name: string;
  readonly kind: string;
  /** Thousandths of accelerators of one worker, for each task group. */
  readonly workerMilli: readonly number[];
}

/** Time of accelerators that work used which Headroom does not run. Nobody is billed for it. */
const FOREIGN = { state: "used", cause: "foreignWork" } as const;

interface KnownPool {
  readonly site: string;
  readonly acceleratorType: string;
  /** Declared prices of an accelerator-hour in micro-dollars, each with the instant of its declaration. */
  readonly prices: readonly (readonly [atMs: number, microUsd: number])[];
}

/** The content of `UsageFold.snapshot()`. */
interface FoldState {
  readonly format: 1;
  readonly atMs: number;
  readonly monthEndMs: number;
  readonly pools: readonly (readonly [string, KnownPool])[];
  readonly parents: readonly (readonly [string, string | null])[];
  readonly workloads: readonly (readonly [string, KnownWorkload])[];
  readonly nodes: readonly NodeAccount[];
  readonly holdings: readonly Holding[];
}

export class UsageFold {
  #atMs = 0;
  /** End of the calendar month that is open. */
  #monthEndMs = 0;
  #rows: UsageRow[] = [];
  readonly #pools = new Map<string, KnownPool>();
  readonly #parents = new Map<string, string | null>();
  readonly #workloads = new Map<string, KnownWorkload>();
  readonly #nodes = new Map<string, NodeAccount>();
  readonly #holdings = new Map<string, Holding>();

  /** Continues from the text of a snapshot, or begins with the first event. */
  constructor(snapshot?: string) {
    if (snapshot === undefined) return;
    const state = JSON.parse(snapshot) as FoldState;
    this.#atMs = state.atMs;
    this.#monthEndMs = state.monthEndMs;
    for (const [name, pool] of state.pools) this.#pools.set(name, pool);
    for (const [name, parent] of state.parents) this.#parents.set(name, parent);
    for (const [id, workload] of state.workloads) this.#workloads.set(id, workload);
    for (const node of state.nodes) this.#nodes.set(node.node, node);
    for (const holding of state.holdings) this.#holdings.set(holding.attemptId, holding);
  }

  snapshot(): string {
    const state: FoldState = {
      format: 1,
      atMs: this.#atMs,
      monthEndMs: this.#monthEndMs,
      pools: [...this.#pools],
      parents: [...this.#parents],
      workloads: [...this.#workloads],
      nodes: [...this.#nodes.values()],
      holdings: [...this.#holdings.values()],
    };
    return JSON.stringify(state);
  }

  /** The instant of the newest event. */
  get atMs(): number {
    return this.#atMs;
  }

  /** Each team with its parent, `null` for a root. */
  get parents(): ReadonlyMap<string, string | null> {
    return this.#parents;
  }

  /** Pools as they were declared, with the history of their prices. */
  get pools(): ReadonlyMap<string, KnownPool> {
    return this.#pools;
  }

  /** Folds the next events of the journal, and returns the rows that they close. */
  fold(events: Iterable<Event>): readonly UsageRow[] {
    for (const event of events) {
      this.#advance(event.atMs);
      this.#apply(event);
    }
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }

  /** The rows that are open at an instant, as if they ended there. The fold does not change. */
  openRows(atMs: number): readonly UsageRow[] {
    const until = Math.max(atMs, this.#atMs);
    const copy = new UsageFold(this.snapshot());
    copy.#advance(until);
    copy.#closeAt(until);
    return copy.fold([]);
  }

  #advance(atMs: number): void {
    if (this.#monthEndMs === 0) this.#monthEndMs = nextMonthStartMs(atMs);
    while (atMs >= this.#monthEndMs) {
      this.#closeAt(this.#monthEndMs);
      this.#monthEndMs = nextMonthStartMs(this.#monthEndMs);
    }
    this.#atMs = Math.max(this.#atMs, atMs);
  }

  /** Writes rows for everything up to an instant at which nothing needs to change. */
  #closeAt(atMs: number): void {
    for (const holding of this.#holdings.values()) {
      settle(holding, atMs);
      this.#closePieces(holding, atMs);
    }
    for (const account of this.#nodes.values()) this.#closeFree(account, atMs);
  }

  /** States the unbilled pieces of running work as used, and keeps those that a later loss would correct. */
  #closePieces(holding: Holding, atMs: number): void {
    const holder = this.#holderOf(holding);
    const idle = idleUntil(holding, atMs);
    const kept: Piece[] = [];
    for (const piece of holding.pieces) {
      if (piece.isBilled) kept.push(piece);
      else
        for (const { fromMs, toMs, ...verdict } of verdictsOf(piece, { checkpointMs: null }, idle, RUNNING)) {
          const part = { ...piece, fromMs, toMs };
          this.#emit(part, holder, verdict, null);
          if (verdict.state === "used") kept.push({ ...part, isBilled: true });
        }
    }
    const savedMs = holding.checkpointMs ?? 0;
    holding.pieces = kept.filter(({ toMs }) => toMs > savedMs);
    holding.idle = [];
    if (holding.idleSinceMs !== null) holding.idleSinceMs = Math.max(holding.idleSinceMs, atMs);
  }

  #emit(
    part: Omit<Piece, "isBilled" | "phase">,
    holder: Holder,
    { state, cause }: Verdict,
    correctedAtMs: number | null,
  ): void {
    const { fromMs, toMs, node, milli, accelerators } = part;
    const account = this.#nodes.get(node);
    const { site = "", pool = "", acceleratorType = "" } = account ?? {};
    const place = { site, pool, node, acceleratorType, ...(accelerators === undefined ? {} : { accelerators }) };
    this.#rows.push({ fromMs, toMs, milli, state, cause, ...holder, ...place, correctedAtMs });
  }

  #holderOf({ workloadId, attemptId }: Holding): Holder {
    const known = this.#workloads.get(workloadId);
    const { team = "", user = "", name = "", kind = "" } = known ?? {};
    return { team, user, workloadId, workload: name, workloadKind: kind, attemptId };
  }

  /** Ends the row of what nobody holds on the node, before its amount or its reason changes. */
  #closeFree(account: NodeAccount, atMs: number): void {
    const { sinceMs: fromMs, node } = account;
    if (atMs <= fromMs) return;
    account.sinceMs = atMs;
    const milli = freeMilli(account);
    if (milli > 0) this.#emit({ fromMs, toMs: atMs, node, milli }, NOBODY, freeReason(account), null);
    const foreign = foreignMilliOf(account);
    if (foreign > 0) this.#emit({ fromMs, toMs: atMs, node, milli: foreign }, NOBODY, FOREIGN, null);
  }

  #apply(event: Event): void {
    switch (event.kind) {
      case "poolDefined":
        this.#definePool(event);
        break;
      case "teamDefined":
        this.#parents.set(event.team.name, event.team.parent);
        break;
      case "teamRemoved":
        this.#parents.delete(event.team);
        break;
      case "nodeJoined":
      case "nodeChanged":
        this.#joinNode(event);
        break;
      case "nodeLost":
      case "nodeReturned":
        this.#changeNode(event, { isLost: event.kind === "nodeLost" });
        break;
      case "nodeDrainStarted":
      case "nodeResumed":
        this.#changeNode(event, { isDraining: event.kind === "nodeDrainStarted" });
        break;
      case "nodeRemovalRequested":
      case "nodeRemovalCancelled":
        this.#changeNode(event, { isRemoved: event.kind === "nodeRemovalRequested" });
        break;
      case "nodeRemoved":
        this.#changeNode(event, {});
        this.#nodes.delete(event.nodeId);
        break;
      case "foreignUseChanged":
        this.#changeNode(event, { foreignMilli: 1_000 * acceleratorCount(event.use?.accelerators ?? "") });
        break;
      case "hotSpareReserved":
      case "hotSpareReleased":
        this.#changeNode(event, { isHotSpare: event.kind === "hotSpareReserved" });
        break;
      case "workloadSubmitted":
        this.#submit(event);
        break;
      case "workloadChanged":
        if (event.changes.name !== undefined) this.#rename(event.workloadId, event.changes.name);
        break;
      default:
        this.#applyToAttempt(event);
    }
  }

  #applyToAttempt(event: Event): void {
    switch (event.kind) {
      case "gangPlaced":
        this.#place(event);
        break;
      case "backoffEnded":
        this.#change(event, (holding) => (holding.phase = "starting"));
        break;
      case "attemptStarted":
        this.#change(event, (holding) => (holding.phase = "running"));
        break;
      case "attemptStopRequested":
      case "checkpointWaitEnded":
        this.#note(event.attemptId, { stopReason: event.reason });
        break;
      case "checkpointRecorded":
        this.#note(event.attemptId, { checkpointMs: event.atMs });
        break;
      case "attemptEnded":
        this.#end(event);
        break;
      case "idleChanged":
        for (const [attemptId, sinceMs] of event.changes) this.#setIdle(attemptId, sinceMs, event.atMs);
        break;
      default:
        this.#resize(event);
    }
  }

  #resize(event: Event): void {
    switch (event.kind) {
      case "gangGrown":
        this.#change(event, (holding) => holding.workers.push(...this.#heldBy(holding, event.workers)));
        break;
      case "joinFailed":
        this.#change(event, (holding) => (holding.workers = holding.workers.slice(0, event.workers)));
        break;
      case "gangShrinkRequested":
        this.#change(event, (holding) => {
          holding.terminating = [...holding.workers.slice(event.workers), ...holding.terminating];
          holding.workers = holding.workers.slice(0, event.workers);
        });
        break;
      case "workersLeft":
        this.#change(event, (holding) => (holding.terminating = []));
        break;
      case "gangDegraded":
        this.#change(event, (holding) => degrade(holding, event.lostRanks));
        break;
      case "workersReplaced":
        this.#change(event, (holding) => {
          const replacements = this.#heldBy(holding, event.workers);
          holding.missing.forEach((rank, index) => holding.workers.splice(rank, 0, replacements[index] ?? ["", 0]));
          holding.missing = [];
        });
        break;
      default:
    }
  }

  #definePool({ pool, atMs }: EventOf<"poolDefined">): void {
    const { name, site, acceleratorType, priceMicroUsdPerHour } = pool;
    const before = this.#pools.get(name)?.prices ?? [];
    const isNew = before.at(-1)?.[1] !== priceMicroUsdPerHour;
    const prices = isNew ? [...before, [atMs, priceMicroUsdPerHour] as const].slice(-PRICES_MAX) : before;
    this.#pools.set(name, { site, acceleratorType, prices });
  }

  #joinNode({ node: spec, atMs }: EventOf<"nodeJoined" | "nodeChanged">): void {
    const { site = "", acceleratorType = "" } = this.#pools.get(spec.pool) ?? {};
    const capacityMilli = spec.acceleratorCount * 1_000;
    const account = this.#nodes.get(spec.id);
    // As in the state of the engine: foreign use stays unless the number of accelerators changes.
    const foreignMilli = account?.capacityMilli === capacityMilli ? account.foreignMilli : 0;
    const changed = { site, pool: spec.pool, acceleratorType, capacityMilli, foreignMilli };
    if (account !== undefined) {
      this.#closeFree(account, atMs);
      Object.assign(account, changed);
      return;
    }
    const flags = { isLost: false, isDraining: false, isRemoved: false, isHotSpare: false };
    this.#nodes.set(spec.id, { node: spec.id, ...changed, heldMilli: 0, ...flags, sinceMs: atMs });
  }

  #changeNode(
    { nodeId, atMs }: { readonly nodeId: string; readonly atMs: number },
    change: Partial<NodeAccount>,
  ): void {
    const account = this.#nodes.get(nodeId);
    if (account === undefined) return;
    this.#closeFree(account, atMs);
    Object.assign(account, change);
  }

  #submit({ workloadId, spec, actor }: EventOf<"workloadSubmitted">): void {
    const { team, name, kind, gang } = spec;
    this.#workloads.set(workloadId, { team, user: actor, name, kind, workerMilli: workerMilliOf(gang) });
  }

  #rename(workloadId: string, name: string): void {
    const known = this.#workloads.get(workloadId);
    if (known !== undefined) known.name = name;
  }

  #heldBy({ workloadId }: Pick<Holding, "workloadId">, workers: readonly WorkerAllocation[]): readonly HeldWorker[] {
    const known = this.#workloads.get(workloadId)?.workerMilli ?? [0];
    return workers.map(({ node, shareMilli, taskGroup, accelerators }) => [
      node,
      shareMilli ?? known[taskGroup ?? 0] ?? 0,
      accelerators,
    ]);
  }

  #place({ attemptId, workloadId, workers, launchAtMs, atMs }: EventOf<"gangPlaced">): void {
    const holding: Holding = {
      attemptId,
      workloadId,
      workers: [...this.#heldBy({ workloadId }, workers)],
      terminating: [],
      missing: [],
      phase: launchAtMs === undefined ? "starting" : "waiting",
      sinceMs: atMs,
      pieces: [],
      checkpointMs: null,
      stopReason: null,
      idle: [],
      idleSinceMs: null,
    };
    this.#holdings.set(attemptId, holding);
    for (const [node, milli] of heldByNode(holding)) this.#hold(node, milli, atMs);
  }

  /** Changes what the node's attempts hold together. */
  #hold(node: string, milli: number, atMs: number): void {
    const account = this.#nodes.get(node);
    if (account === undefined) return;
    this.#closeFree(account, atMs);
    account.heldMilli += milli;
  }

  #change(event: { readonly attemptId: string; readonly atMs: number }, change: (holding: Holding) => unknown): void {
    const holding = this.#holdings.get(event.attemptId);
    if (holding === undefined) return;
    settle(holding, event.atMs);
    const before = heldByNode(holding);
    change(holding);
    const after = heldByNode(holding);
    for (const node of new Set([...before.keys(), ...after.keys()])) {
      const difference = (after.get(node) ?? 0) - (before.get(node) ?? 0);
      if (difference !== 0) this.#hold(node, difference, event.atMs);
    }
  }

  /** Records a fact that changes no amount. */
  #note(attemptId: string, facts: Partial<Holding>): void {
    const holding = this.#holdings.get(attemptId);
    if (holding !== undefined) Object.assign(holding, facts);
  }

  #setIdle(attemptId: string, sinceMs: number | null, atMs: number): void {
    const holding = this.#holdings.get(attemptId);
    if (holding === undefined) return;
    if (holding.idleSinceMs !== null && atMs > holding.idleSinceMs) holding.idle.push([holding.idleSinceMs, atMs]);
    // Accelerators that idle since before an idle interval that is known are counted once.
    const knownMs = holding.idle.at(-1)?.[1] ?? 0;
    holding.idleSinceMs = sinceMs === null ? null : Math.max(sinceMs, knownMs);
  }

  #end({ attemptId, outcome, exit, atMs }: EventOf<"attemptEnded">): void {
    const holding = this.#holdings.get(attemptId);
    if (holding === undefined) return;
    settle(holding, atMs);
    const held = heldByNode(holding);
    const hasLostNode = [...held.keys()].some((node) => this.#nodes.get(node)?.isLost === true);
    const end = verdictOfEnd({ outcome, exit, stopReason: holding.stopReason, hasLostNode });
    const holder = this.#holderOf(holding);
    const idle = idleUntil(holding, atMs);
    for (const piece of holding.pieces)
      for (const { fromMs, toMs, ...verdict } of verdictsOf(piece, holding, idle, end)) {
        const part = { ...piece, fromMs, toMs };
        if (!piece.isBilled) this.#emit(part, holder, verdict, null);
        else if (verdict.state !== "used") {
          this.#emit({ ...part, milli: -part.milli }, holder, RUNNING, atMs);
          this.#emit(part, holder, verdict, atMs);
        }
      }
    this.#holdings.delete(attemptId);
    for (const [node, milli] of held) this.#hold(node, -milli, atMs);
  }
}

/** Changes of a pool's price that are remembered, the newest. */
const PRICES_MAX = 10_000;

/** Thousandths of accelerators of one worker, for each task group of the gang, or for the gang. */
const workerMilliOf = (gang: GangSpec): readonly number[] =>
  wholeParts(gang).map(({ shape }) => shape.accelerators * milliOf(shape));

/** Removes the workers of lost ranks. `missing` names the ranks that `workers` already lacks. */
function degrade(holding: Holding, lostRanks: readonly number[]): void {
  const { workers, missing } = holding;
  const count = workers.length + missing.length;
  const known = Array.from({ length: count }, (_, rank) => rank).filter((rank) => !missing.includes(rank));
  holding.workers = workers.filter((_, index) => !lostRanks.includes(known[index] ?? -1));
  holding.missing = [...missing, ...lostRanks].toSorted((left, right) => left - right);
}
