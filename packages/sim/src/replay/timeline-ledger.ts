/**
 * The ledger of one timeline: waits, usage and evictions of every workload. The same code reads the events of the
 * record and of a replay, so that their figures can be compared. Ids differ between timelines, so workloads are matched
 * by a key: the id if the workload existed when the window began, else team, name and the number of earlier workloads
 * with that name.
 */
import { isEviction, milliIn, partsOf } from "@headroom/model";
import type {
  AttemptId,
  EndReason,
  Event,
  GangSpec,
  NodeId,
  WorkerAllocation,
  Workload,
  WorkloadId,
  WorkloadSpec,
} from "@headroom/model";
import type { Engine } from "@headroom/engine";

export interface BookedWorkload {
  readonly key: string;
  readonly id: WorkloadId;
  readonly team: string;
  readonly user: string;
  readonly gang: GangSpec;
  readonly submittedAtMs: number;
  /** True: the workload waited to start when the window began, or was submitted in the window. */
  readonly awaitsStart: boolean;
  startedAtMs: number | null;
  endedAtMs: number | null;
  endReason: EndReason["kind"] | null;
  /** Thousandths of accelerators times ms held within the window. */
  heldMilliMs: number;
  /** The part of this usage that evictions lost: the time since the last checkpoint, or since the placement. */
  lostMilliMs: number;
  evictions: number;
}

export interface LedgerSample {
  readonly atMs: number;
  readonly heldAccelerators: number;
  /** Number of accelerators on nodes that are up. */
  readonly usableAccelerators: number;
  readonly waitingWorkloads: number;
}

export interface LedgerOptions {
  readonly fromMs: number;
  readonly toMs: number;
  readonly stepMs: number;
}

interface HeldAttempt {
  readonly workload: BookedWorkload;
  /** Workers in the order of their ranks. The last `leaving` workers are terminating. */
  workers: readonly WorkerAllocation[];
  terminating: number;
  sinceMs: number;
  safeSinceMs: number;
  evicted: boolean;
}

export class TimelineLedger {
  readonly #options: LedgerOptions;
  readonly #byId = new Map<WorkloadId, BookedWorkload>();
  readonly #byKey = new Map<string, BookedWorkload>();
  readonly #named = new Map<string, number>();
  readonly #attempts = new Map<AttemptId, HeldAttempt>();
  readonly #nodes = new Map<NodeId, { count: number; up: boolean }>();
  readonly #samples: LedgerSample[] = [];
  #nowMs: number;
  #heldMilli = 0;
  #usable = 0;
  #waiting = 0;
  #heldMilliMs = 0;
  #usableMs = 0;

  /** `start` is the engine at the start of the window. The ledger only reads it. */
  constructor({ state }: Engine, options: LedgerOptions) {
    this.#options = options;
    this.#nowMs = options.fromMs;
    for (const { id, acceleratorCount, health } of state.nodes.values())
      this.#node(id, acceleratorCount, health === "up");
    for (const workload of state.workloads.values()) if (workload.endedAtMs === null) this.#open(workload);
    for (const { id, workloadId, workers, terminating, placedAtMs } of state.attempts.values()) {
      const checkpoint = state.workloads.get(workloadId)?.checkpoint;
      const safeSinceMs = checkpoint?.attemptId === id ? checkpoint.atMs : placedAtMs;
      const terminatingCount = terminating?.length ?? 0;
      this.#hold(id, workloadId, {
        workers: [...workers, ...(terminating ?? [])],
        terminating: terminatingCount,
        sinceMs: options.fromMs,
        safeSinceMs,
      });
    }
  }

  get workloads(): ReadonlyMap<string, BookedWorkload> {
    return this.#byKey;
  }

  /** The workload with this id in this timeline, also after its end. */
  byId(id: WorkloadId): BookedWorkload | undefined {
    return this.#byId.get(id);
  }

  get samples(): readonly LedgerSample[] {
    return this.#samples;
  }

  /**
   * Accelerator time until now: used, in thousandths of accelerators times ms, and available, in accelerators times ms.
   */
  get totals(): { readonly heldMilliMs: number; readonly usableMs: number } {
    return { heldMilliMs: this.#heldMilliMs, usableMs: this.#usableMs };
  }

  take(event: Event): void {
    this.#advance(event.atMs);
    switch (event.kind) {
      case "workloadSubmitted":
        return this.#submit(event);
      case "workloadEnded":
        return this.#end(event.workloadId, event.atMs, event.reason.kind);
      case "gangPlaced": {
        const { attemptId, workloadId, workers, atMs } = event;
        const times = { sinceMs: atMs, safeSinceMs: atMs };
        return this.#hold(attemptId, workloadId, { workers, terminating: 0, ...times });
      }
      case "attemptStarted":
        return this.#start(event.attemptId, event.atMs);
      case "nodeJoined":
      case "nodeChanged":
        return this.#node(event.node.id, event.node.acceleratorCount, true);
      case "nodeLost":
        return this.#node(event.nodeId, this.#nodes.get(event.nodeId)?.count ?? 0, false);
      case "nodeRemoved":
        this.#node(event.nodeId, 0, false);
        this.#nodes.delete(event.nodeId);
        return;
      case "nodeReturned":
        return this.#node(event.nodeId, this.#nodes.get(event.nodeId)?.count ?? 0, true);
      default:
        this.#takeOfAttempt(event);
    }
  }

  #takeOfAttempt(event: Event): void {
    if (!("attemptId" in event)) return;
    const attempt = this.#attempts.get(event.attemptId);
    if (attempt === undefined) return;
    const { atMs } = event;
    switch (event.kind) {
      case "attemptStopRequested":
        if (!isEviction(event.reason)) return;
        attempt.evicted = true;
        attempt.workload.evictions++;
        return;
      case "attemptEnded": {
        if (attempt.evicted)
          attempt.workload.lostMilliMs +=
            (atMs - Math.max(attempt.safeSinceMs, this.#options.fromMs)) * milliOf(attempt);
        this.#settle(attempt, atMs);
        this.#heldMilli -= milliOf(attempt);
        this.#attempts.delete(event.attemptId);
        return;
      }
      case "gangShrinkRequested":
        attempt.terminating = attempt.workers.length - event.workers;
        attempt.workload.evictions++;
        return;
      case "workersLeft":
        return this.#resize(attempt, attempt.workers.slice(0, attempt.workers.length - attempt.terminating), atMs);
      case "joinFailed": {
        const { workers, terminating } = attempt;
        const staying = workers.slice(0, Math.min(event.workers, workers.length - terminating));
        return this.#resize(attempt, [...staying, ...workers.slice(workers.length - terminating)], atMs);
      }
      case "gangGrown":
        return this.#resize(attempt, [...attempt.workers, ...event.workers], atMs);
      case "checkpointRecorded":
        attempt.safeSinceMs = atMs;
        return;
      default:
    }
  }

  /** Closes the ledger at the end of the window. No event may follow. */
  close(): void {
    this.#advance(this.#options.toMs);
    for (const attempt of this.#attempts.values()) this.#settle(attempt, this.#options.toMs);
    while (this.#nextSampleMs() <= this.#options.toMs) this.#sample();
  }

  #nextSampleMs(): number {
    return this.#options.fromMs + this.#samples.length * this.#options.stepMs;
  }

  #sample(): void {
    this.#samples.push({
      atMs: this.#nextSampleMs(),
      heldAccelerators: this.#heldMilli / 1000,
      usableAccelerators: this.#usable,
      waitingWorkloads: this.#waiting,
    });
  }

  #advance(toMs: number): void {
    const atMs = Math.min(toMs, this.#options.toMs);
    if (atMs <= this.#nowMs) return;
    while (this.#nextSampleMs() < atMs) this.#sample();
    this.#heldMilliMs += this.#heldMilli * (atMs - this.#nowMs);
    this.#usableMs += this.#usable * (atMs - this.#nowMs);
    this.#nowMs = atMs;
  }

  #node(id: NodeId, count: number, up: boolean): void {
    const known = this.#nodes.get(id);
    this.#usable += (up ? count : 0) - (known?.up === true ? known.count : 0);
    this.#nodes.set(id, { count, up });
  }

  #open({ id, spec, actor, submittedAtMs, firstStartedAtMs }: Workload): void {
    const awaitsStart = firstStartedAtMs === null;
    if (awaitsStart) this.#waiting++;
    this.#add({ key: id, id, spec, user: actor, submittedAtMs, startedAtMs: firstStartedAtMs });
  }

  #submit({ workloadId: id, spec, actor, atMs }: Event & { readonly kind: "workloadSubmitted" }): void {
    const name = `${spec.team}/${spec.name}`;
    const place = (this.#named.get(name) ?? 0) + 1;
    this.#named.set(name, place);
    this.#waiting++;
    this.#add({ key: `${name}#${place}`, id, spec, user: actor, submittedAtMs: atMs, startedAtMs: null });
  }

  #add(
    given: Pick<BookedWorkload, "key" | "id" | "user" | "submittedAtMs" | "startedAtMs"> & {
      readonly spec: WorkloadSpec;
    },
  ): void {
    const { spec, ...rest } = given;
    const booked: BookedWorkload = {
      ...rest,
      team: spec.team,
      gang: spec.gang,
      awaitsStart: rest.startedAtMs === null,
      endedAtMs: null,
      endReason: null,
      heldMilliMs: 0,
      lostMilliMs: 0,
      evictions: 0,
    };
    this.#byId.set(rest.id, booked);
    this.#byKey.set(rest.key, booked);
  }

  #hold(
    id: AttemptId,
    of: WorkloadId,
    given: Pick<HeldAttempt, "workers" | "terminating" | "sinceMs" | "safeSinceMs">,
  ): void {
    const workload = this.#byId.get(of);
    if (workload === undefined) return;
    const attempt = { workload, evicted: false, ...given };
    this.#attempts.set(id, attempt);
    this.#heldMilli += milliOf(attempt);
  }

  #start(id: AttemptId, atMs: number): void {
    const workload = this.#attempts.get(id)?.workload;
    if (workload === undefined || workload.startedAtMs !== null) return;
    workload.startedAtMs = atMs;
    this.#waiting--;
  }

  #end(id: WorkloadId, atMs: number, reason: EndReason["kind"]): void {
    const workload = this.#byId.get(id);
    if (workload === undefined) return;
    if (workload.startedAtMs === null) this.#waiting--;
    workload.endedAtMs = atMs;
    workload.endReason = reason;
  }

  #resize(attempt: HeldAttempt, workers: HeldAttempt["workers"], atMs: number): void {
    this.#settle(attempt, atMs);
    this.#heldMilli -= milliOf(attempt);
    attempt.workers = workers;
    this.#heldMilli += milliOf(attempt);
    attempt.terminating = 0;
  }

  #settle(attempt: HeldAttempt, atMs: number): void {
    const untilMs = Math.min(atMs, this.#options.toMs);
    attempt.workload.heldMilliMs += Math.max(0, untilMs - attempt.sinceMs) * milliOf(attempt);
    attempt.sinceMs = untilMs;
  }
}

const milliOf = ({ workers, workload: { gang } }: HeldAttempt): number => milliIn(partsOf(gang, workers));
