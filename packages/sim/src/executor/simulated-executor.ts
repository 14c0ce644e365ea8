/**
 * The executor of simulated pools. It performs the engine's effects on simulated attempts and answers with the
 * observations of a real executor. It must not read the engine's state, because a real executor knows only effects and
 * its nodes.
 */
import { IdMap } from "@headroom/model";
import type {
  AttemptId,
  CheckpointGang,
  Effect,
  GangSpec,
  WorkloadSpec,
  GrowGang,
  LaunchGang,
  NodeId,
  Observation,
  ReplaceWorkers,
  ShrinkGang,
  Signal,
  StopGang,
  WorkerAllocation,
  WorkerExit,
} from "@headroom/model";
import { ranks, type EventQueue } from "../clock/event-queue.ts";
import { artifactsMade } from "./artifacts-made.ts";
import type { AdoptedAttempt, SimulatedExecutorOptions } from "./executor-options.ts";
import type { PlannedCheckpoint, RunPlan } from "./run-plan.ts";
import { SimulatedCaches, type TransferCounts } from "./simulated-caches.ts";

export type { AdoptedAttempt, SimulatedExecutorOptions } from "./executor-options.ts";

/** Kinds of queue entries of attempts, stored in the low bits of the payload. The driver has the kinds of nodes. */
export const attemptEntry = { starts: 0, exits: 1, leaves: 2, saves: 5, checkpoint: 6, joins: 7, caches: 13 } as const;
/** Number of low bits of a payload that hold the kind; the value is shifted by this number. */
export const ENTRY_BITS = 4;
export const ENTRY_MASK = 15;

interface CheckpointTimeline {
  readonly all: readonly PlannedCheckpoint[];
  next: number;
  awaits: number;
  /** Time of the plan that is done at this instant, and time of the plan that is done in each ms from then on. */
  sinceMs: number;
  plannedMs: number;
  pace: number;
}

/** Only the fields of the launch that are needed, because running attempts use most of the memory of a long run. */
interface SimulatedAttempt {
  /** Artifacts of the attempt if it succeeds. */
  produces: WorkloadSpec["produces"];
  readonly attemptId: AttemptId;
  workers: LaunchGang["workers"];
  readonly curve: GangSpec["throughputMilli"];
  durationMs: number;
  readonly exitCode: number;
  readonly checkpointMs: number | null;
  phase: "starting" | "running" | "stopping" | "broken";
  /** Sequence of the attempt's queue entry; other entries of the attempt are stale. 0: none. */
  awaits: number;
  /** Sequence of the queue entry for the end of stopped workers; 0: none. */
  awaitsTerminating: number;
  /** Sequence of the queue entry for the requested checkpoint; 0: none. */
  awaitsCheckpoint: number;
  /** Sequence of the queue entry for joining replacement workers; 0: none. */
  awaitsJoining: number;
  /** Time at which the attempt lost a node; set while the gang lacks a worker. */
  brokenAtMs: number;
  /** Start of the run; valid while the attempt runs. */
  startedAtMs: number;
  /** Time of the attempt's queue entry; valid while the attempt runs or stops. `Infinity`: the attempt does not run yet. */
  endsAtMs: number;
  exit: "planned" | "terminated" | "killed" | "lost";
  /** Checkpoint reports that are still to come, and the queue entry of the next one; `null`: none. */
  checkpoints: CheckpointTimeline | null;
}

/** The workers, plan and throughput curve of an attempt. */
interface Launched extends Pick<SimulatedAttempt, "workers" | "curve"> {
  readonly plan: RunPlan;
}

export class SimulatedExecutor {
  readonly #options: SimulatedExecutorOptions;
  readonly #queue: EventQueue;
  readonly #slots: (SimulatedAttempt | null)[] = [];
  readonly #freeSlots: number[] = [];
  readonly #slotByAttempt = new IdMap<AttemptId, number>();
  readonly #downNodes = new Set<NodeId>();
  readonly #caches: SimulatedCaches | null;

  constructor(options: SimulatedExecutorOptions, queue: EventQueue, caches?: SimulatedCaches | null) {
    this.#options = options;
    this.#queue = queue;
    this.#caches = caches ?? (options.staging === undefined ? null : new SimulatedCaches(options.staging));
  }

  /** Number of launched attempts that have not ended. */
  get liveCount(): number {
    return this.#slotByAttempt.size;
  }

  /** `null`: inputs are not transferred. */
  get transfers(): TransferCounts | null {
    return this.#caches?.counts ?? null;
  }

  /**
   * Workers of an attempt that are not terminating. The list is empty if the attempt is unknown, or if its loss with
   * its machine will be reported.
   */
  workersOf(attemptId: AttemptId): LaunchGang["workers"] {
    const slot = this.#slotByAttempt.get(attemptId);
    if (slot === undefined) return [];
    const { phase, exit, workers } = this.#slots[slot]!;
    return phase === "stopping" && exit === "lost" ? [] : workers;
  }

  perform(effects: readonly Effect[], nowMs: number): void {
    for (const effect of effects) {
      switch (effect.kind) {
        case "launchGang":
          this.#launch(effect, nowMs);
          break;
        case "stopGang":
          this.#stop(effect, nowMs);
          break;
        case "checkpointGang":
          this.#checkpoint(effect, nowMs);
          break;
        case "replaceWorkers":
          this.#replace(effect, nowMs);
          break;
        case "growGang":
          this.#grow(effect, nowMs);
          break;
        case "shrinkGang":
          this.#shrink(effect, nowMs);
      }
    }
  }

  /**
   * The observation of the queue's first entry, which is due and belongs to this executor; `null`: the entry is stale.
   */
  observeNext(): Observation | Signal | null {
    const payload = this.#queue.nextPayload;
    const slot = payload >> ENTRY_BITS;
    if ((payload & ENTRY_MASK) === attemptEntry.caches) return this.#caches?.report(slot) ?? null;
    const attempt = this.#slots[slot];
    if (attempt == null) return null;
    const { attemptId } = attempt;
    if ((payload & ENTRY_MASK) === attemptEntry.leaves) {
      if (attempt.awaitsTerminating !== this.#queue.nextKey) return null;
      attempt.awaitsTerminating = 0;
      return { kind: "workersLeft", attemptId };
    }
    if ((payload & ENTRY_MASK) === attemptEntry.joins) {
      if (attempt.awaitsJoining !== this.#queue.nextKey) return null;
      attempt.awaitsJoining = 0;
      return { kind: "workersJoined", attemptId };
    }
    if ((payload & ENTRY_MASK) === attemptEntry.saves) {
      if (attempt.awaitsCheckpoint !== this.#queue.nextKey) return null;
      attempt.awaitsCheckpoint = 0;
      const step = this.#queue.nextAtMs - attempt.startedAtMs;
      return { kind: "checkpointReported", attemptId, step, path: `step-${step}` };
    }
    if ((payload & ENTRY_MASK) === attemptEntry.checkpoint) return this.#reportCheckpoint(slot, attempt);
    if (attempt.awaits !== this.#queue.nextKey) return null;
    if ((payload & ENTRY_MASK) === attemptEntry.starts) {
      attempt.phase = "running";
      attempt.startedAtMs = this.#queue.nextAtMs;
      attempt.endsAtMs = this.#queue.nextAtMs + attempt.durationMs;
      attempt.awaits = this.#pushExit(slot, attempt.endsAtMs);
      if (attempt.checkpoints !== null) attempt.checkpoints.sinceMs = attempt.startedAtMs;
      this.#pushCheckpoint(slot, attempt);
      return { kind: "attemptRunning", attemptId };
    }
    this.#slots[slot] = null;
    this.#freeSlots.push(slot);
    this.#slotByAttempt.delete(attemptId);
    if (attempt.exit === "lost") return { kind: "attemptLost", attemptId, detail: "a node of the gang was lost" };
    const isWell = attempt.exit === "planned" && attempt.exitCode === 0;
    const exited: Observation = { kind: "attemptExited", attemptId, exits: exitsOf(attempt) };
    return isWell && attempt.produces !== undefined ? { ...exited, ...artifactsMade(attempt) } : exited;
  }

  /** Fails the machine with all work on it. Exits of that work are never reported. */
  loseNode(nodeId: NodeId, nowMs: number): void {
    this.#downNodes.add(nodeId);
    for (const slot of this.#slotByAttempt.values()) {
      const attempt = this.#slots[slot]!;
      if (!holdsNode(attempt, nodeId) || attempt.exit === "lost") continue;
      attempt.exit = "lost";
      attempt.awaitsCheckpoint = 0;
      attempt.awaitsJoining = 0;
      attempt.brokenAtMs = nowMs;
      // A stop in progress ends as planned; other attempts wait until they are stopped or the node returns.
      if (attempt.phase !== "stopping") {
        attempt.phase = "broken";
        attempt.awaits = 0;
      }
    }
  }

  /**
   * Returns the machine without any work, and reports its former work as lost. A machine that is up stays unchanged.
   */
  returnNode(nodeId: NodeId, nowMs: number): void {
    if (!this.#downNodes.delete(nodeId)) return;
    for (const slot of this.#slotByAttempt.values()) {
      const attempt = this.#slots[slot]!;
      if (attempt.phase !== "broken" || !holdsNode(attempt, nodeId)) continue;
      attempt.phase = "stopping";
      attempt.awaits = this.#pushExit(slot, nowMs);
    }
  }

  /** An independent copy with the same attempts, on a fork of the queue. */
  fork(queue: EventQueue): SimulatedExecutor {
    const copy = new SimulatedExecutor(this.#options, queue, this.#caches?.fork());
    for (const attempt of this.#slots)
      copy.#slots.push(
        attempt === null ? null : { ...attempt, checkpoints: attempt.checkpoints && { ...attempt.checkpoints } },
      );
    copy.#freeSlots.push(...this.#freeSlots);
    for (const [attemptId, slot] of this.#slotByAttempt) copy.#slotByAttempt.set(attemptId, slot);
    for (const nodeId of this.#downNodes) copy.#downNodes.add(nodeId);
    return copy;
  }

  #launch(launch: LaunchGang, nowMs: number): void {
    if (this.#slotByAttempt.has(launch.attemptId)) return;
    const plan = this.#options.plan(launch);
    const curve = plan.throughputMilli ?? launch.spec.gang.throughputMilli;
    const { slot, attempt } = this.#add(launch.attemptId, { workers: launch.workers, plan, curve });
    attempt.produces = launch.spec.produces;
    if (this.#downNodes.size > 0 && launch.workers.some(({ node }) => this.#downNodes.has(node))) {
      attempt.exit = "lost";
      attempt.phase = "stopping";
      attempt.awaits = this.#pushExit(slot, nowMs);
    } else {
      attempt.awaits = this.#pushStart(slot, nowMs + this.#stage(launch, nowMs));
    }
  }

  /** Time in ms of the transfers before the start. A node reports its cache when it has read everything. */
  #stage(launch: LaunchGang, nowMs: number): number {
    if (this.#caches === null) return 0;
    const { delayMs, changed } = this.#caches.stage(launch);
    for (const index of changed)
      this.#queue.push(nowMs + delayMs, ranks.observation, (index << ENTRY_BITS) | attemptEntry.caches);
    return delayMs;
  }

  #add(
    attemptId: AttemptId,
    { workers, plan: { durationMs, exitCode, checkpointMs, checkpoints }, curve }: Launched,
  ): { readonly slot: number; readonly attempt: SimulatedAttempt } {
    const slot = this.#freeSlots.pop() ?? this.#slots.length;
    const attempt: SimulatedAttempt = {
      attemptId,
      produces: undefined,
      workers,
      curve,
      durationMs,
      exitCode,
      checkpointMs: checkpointMs ?? null,
      phase: "starting",
      awaits: 0,
      awaitsTerminating: 0,
      awaitsCheckpoint: 0,
      awaitsJoining: 0,
      brokenAtMs: 0,
      startedAtMs: 0,
      endsAtMs: Number.POSITIVE_INFINITY,
      exit: "planned",
      checkpoints:
        checkpoints === undefined ? null : { all: checkpoints, next: 0, awaits: 0, sinceMs: 0, plannedMs: 0, pace: 1 },
    };
    this.#slots[slot] = attempt;
    this.#slotByAttempt.set(attemptId, slot);
    return { slot, attempt };
  }

  /** Adopts attempts that were running, starting or stopping when the simulation began; they continue. */
  adopt(
    { attempt: { id, workers, startedAtMs, stop, terminating, joining }, plan, graceTimeoutMs }: AdoptedAttempt,
    nowMs: number,
  ): void {
    const { slot, attempt } = this.#add(id, { workers, plan, curve: plan.throughputMilli });
    const leavesAfterMs = Math.min(this.#options.stopMs, graceTimeoutMs);
    if (terminating !== undefined)
      attempt.awaitsTerminating = this.#push(slot, attemptEntry.leaves, nowMs + leavesAfterMs);
    // An attempt that was asked for a checkpoint, but not stopped, still runs.
    if (stop !== null && stop.checkpointUntilMs === undefined) {
      attempt.phase = "stopping";
      attempt.exit = "terminated";
      attempt.endsAtMs = Math.max(nowMs, stop.atMs + leavesAfterMs);
      attempt.awaits = this.#pushExit(slot, attempt.endsAtMs);
      return;
    }
    // The time at which the replacement was requested is unknown, so the gang waits for the full start-up time of its
    // replacements.
    if (joining !== undefined) attempt.awaitsJoining = this.#pushJoin(slot, nowMs + this.#options.startupMs);
    if (startedAtMs === null) {
      attempt.awaits = this.#pushStart(slot, nowMs);
    } else {
      attempt.phase = "running";
      attempt.startedAtMs = startedAtMs;
      const waitsMs = joining === undefined ? 0 : this.#options.startupMs;
      attempt.endsAtMs = Math.max(nowMs, startedAtMs + plan.durationMs) + waitsMs;
      attempt.awaits = this.#pushExit(slot, attempt.endsAtMs);
      if (stop !== null) this.#askForCheckpoint(slot, attempt, nowMs);
      const { checkpoints } = attempt;
      if (checkpoints === null) return;
      checkpoints.sinceMs = startedAtMs;
      // Checkpoints before this point have been reported already.
      const knownMs = nowMs - startedAtMs;
      while ((checkpoints.all[checkpoints.next]?.afterMs ?? knownMs) < knownMs) checkpoints.next++;
      this.#pushCheckpoint(slot, attempt);
    }
  }

  #pushCheckpoint(slot: number, { checkpoints }: SimulatedAttempt): void {
    const planned = checkpoints?.all[checkpoints.next];
    if (checkpoints === null || planned === undefined) return;
    const { sinceMs, plannedMs, pace } = checkpoints;
    const atMs = sinceMs + Math.ceil((planned.afterMs - plannedMs) / pace);
    checkpoints.awaits = this.#push(slot, attemptEntry.checkpoint, atMs);
  }

  #reportCheckpoint(slot: number, attempt: SimulatedAttempt): Signal | null {
    const { attemptId, phase, checkpoints } = attempt;
    if (checkpoints === null || checkpoints.awaits !== this.#queue.nextKey || phase !== "running") return null;
    const { step, path } = checkpoints.all[checkpoints.next++]!;
    this.#pushCheckpoint(slot, attempt);
    return { kind: "checkpointReported", attemptId, step, path };
  }

  #stop(stop: StopGang, nowMs: number): void {
    const slot = this.#slotByAttempt.get(stop.attemptId);
    if (slot === undefined) return;
    const attempt = this.#slots[slot]!;
    const obeys = this.#options.stopMs <= stop.graceTimeoutMs;
    const stopsAtMs = nowMs + (obeys ? this.#options.stopMs : stop.graceTimeoutMs);
    // The earlier end of the grace holds where there are two stops.
    if (attempt.phase === "stopping" && (attempt.exit === "lost" || attempt.endsAtMs <= stopsAtMs)) return;
    attempt.phase = "stopping";
    attempt.awaitsCheckpoint = 0;
    attempt.awaitsJoining = 0;
    // An attempt that ends before the stop takes effect ended by itself.
    if (attempt.exit === "planned" && attempt.endsAtMs <= stopsAtMs) return;
    if (attempt.exit !== "lost") attempt.exit = obeys ? "terminated" : "killed";
    attempt.endsAtMs = stopsAtMs;
    attempt.awaits = this.#pushExit(slot, stopsAtMs);
  }

  /** The attempt continues while it writes the checkpoint; a repeated request has no effect. */
  #checkpoint({ attemptId }: CheckpointGang, nowMs: number): void {
    const slot = this.#slotByAttempt.get(attemptId);
    if (slot !== undefined) this.#askForCheckpoint(slot, this.#slots[slot]!, nowMs);
  }

  #askForCheckpoint(slot: number, attempt: SimulatedAttempt, nowMs: number): void {
    if (attempt.phase !== "running" || attempt.checkpointMs === null || attempt.awaitsCheckpoint !== 0) return;
    attempt.awaitsCheckpoint = this.#push(slot, attemptEntry.saves, nowMs + attempt.checkpointMs);
  }

  /** Additional workers shorten the remaining time by the gang's throughput curve, or without a curve in proportion. */
  #grow({ attemptId, firstRank, workers }: GrowGang, nowMs: number): void {
    const slot = this.#slotByAttempt.get(attemptId);
    if (slot === undefined) return;
    const known = this.#slots[slot]!.workers;
    const lacking = workers.slice(Math.max(0, known.length - firstRank));
    if (lacking.length > 0) this.#resize(slot, [...known, ...lacking], nowMs);
  }

  /**
   * The gang pauses until the replacement workers have started. Then all workers continue with the progress so far, if
   * there is any. A gang that has lost further machines stays incomplete until their loss is reported to it.
   */
  #replace({ attemptId, workers }: ReplaceWorkers, nowMs: number): void {
    const slot = this.#slotByAttempt.get(attemptId);
    if (slot === undefined) return;
    const attempt = this.#slots[slot]!;
    if (attempt.phase === "stopping") return;
    // After a crash, the request can be repeated while the replacement workers start.
    const isKnown = workers.every(({ rank, worker }) => isSame(attempt.workers[rank], worker));
    if (isKnown && attempt.awaitsJoining !== 0) return;
    const placed = attempt.workers.slice();
    for (const { rank, worker } of workers) placed[rank] = worker;
    attempt.workers = placed;
    if (attempt.workers.some(({ node }) => this.#downNodes.has(node))) return;
    const startupMs = isKnown && attempt.phase === "running" ? 0 : this.#options.startupMs;
    attempt.awaitsJoining = this.#pushJoin(slot, nowMs + startupMs);
    attempt.exit = "planned";
    if (attempt.endsAtMs === Number.POSITIVE_INFINITY) {
      attempt.phase = "starting";
      attempt.awaits = this.#pushStart(slot, nowMs);
      return;
    }
    attempt.endsAtMs += startupMs + (attempt.phase === "broken" ? nowMs - attempt.brokenAtMs : 0);
    attempt.phase = "running";
    attempt.awaits = this.#pushExit(slot, attempt.endsAtMs);
    if (attempt.checkpoints !== null) this.#pushCheckpoint(slot, attempt);
  }

  #shrink({ attemptId, workers, graceTimeoutMs }: ShrinkGang, nowMs: number): void {
    const slot = this.#slotByAttempt.get(attemptId);
    if (slot === undefined) return;
    const attempt = this.#slots[slot]!;
    // A repeated stop request: the workers are already terminating.
    if (attempt.awaitsTerminating !== 0 && attempt.workers.length <= workers) return;
    this.#resize(slot, attempt.workers.slice(0, workers), nowMs);
    const leavesAtMs = nowMs + Math.min(this.#options.stopMs, graceTimeoutMs);
    attempt.awaitsTerminating = this.#push(slot, attemptEntry.leaves, leavesAtMs);
  }

  #resize(slot: number, workers: LaunchGang["workers"], nowMs: number): void {
    const attempt = this.#slots[slot]!;
    const before = paceOf(attempt, attempt.workers.length);
    const after = paceOf(attempt, workers.length);
    attempt.workers = workers;
    // If the gang makes no progress at one of the sizes, the remaining time cannot be converted.
    if (before === 0 || after === 0) return;
    if (attempt.checkpoints !== null && (attempt.phase === "starting" || attempt.phase === "running"))
      this.#repace(slot, attempt, { factor: after / before, nowMs });
    if (attempt.phase === "starting") {
      attempt.durationMs = Math.ceil((attempt.durationMs * before) / after);
    } else if (attempt.phase === "running") {
      attempt.endsAtMs = nowMs + Math.ceil(((attempt.endsAtMs - nowMs) * before) / after);
      attempt.awaits = this.#pushExit(slot, attempt.endsAtMs);
    }
  }

  #repace(
    slot: number,
    attempt: SimulatedAttempt,
    { factor, nowMs }: { readonly factor: number; readonly nowMs: number },
  ): void {
    const { checkpoints, phase } = attempt;
    if (checkpoints === null) return;
    if (phase === "running") {
      checkpoints.plannedMs += (nowMs - checkpoints.sinceMs) * checkpoints.pace;
      checkpoints.sinceMs = nowMs;
    }
    checkpoints.pace *= factor;
    if (phase === "running") this.#pushCheckpoint(slot, attempt);
  }

  #pushStart(slot: number, nowMs: number): number {
    return this.#push(slot, attemptEntry.starts, nowMs + this.#options.startupMs);
  }

  #pushJoin(slot: number, atMs: number): number {
    return this.#push(slot, attemptEntry.joins, atMs);
  }

  #pushExit(slot: number, atMs: number): number {
    return this.#push(slot, attemptEntry.exits, atMs);
  }

  #push(slot: number, entry: number, atMs: number): number {
    return this.#queue.push(atMs, ranks.observation, (slot << ENTRY_BITS) | entry);
  }
}

const paceOf = ({ curve }: SimulatedAttempt, workers: number): number =>
  curve === undefined ? workers : (curve[workers - 1] ?? 0);

const isSame = (left: WorkerAllocation | undefined, right: WorkerAllocation): boolean =>
  left?.node === right.node && left.accelerators === right.accelerators;

function holdsNode({ workers }: SimulatedAttempt, nodeId: NodeId): boolean {
  return workers.some(({ node }) => node === nodeId);
}

/**
 * Exits of an attempt whose one worker succeeds. Nearly every attempt of a trace ends this way; sharing the list saves
 * an allocation for each attempt.
 */
const oneWorkerSucceeded: readonly WorkerExit[] = [{ kind: "exited", worker: 0, code: 0 }];

function exitsOf(attempt: SimulatedAttempt): readonly WorkerExit[] {
  const { exitCode, exit, workers } = attempt;
  if (exit === "planned" && exitCode === 0 && workers.length === 1) return oneWorkerSucceeded;
  return workers.map((_, worker) => {
    if (exit === "planned") return { kind: "exited", worker, code: worker === 0 ? exitCode : 0 };
    return { kind: "signalled", worker, signal: exit === "terminated" ? "SIGTERM" : "SIGKILL" };
  });
}
