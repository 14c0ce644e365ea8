/**
 * The executor of simulated pools. It performs the engine's effects on attempts that exist only here, and answers with
 * the observations that a real executor would make. It must not know the engine's state: what it is told through effects
 * and what happens to its nodes is all it has, as with a real one.
 */
import type {
  Attempt,
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
} from "@headroom/engine";
import { ranks, type EventQueue } from "../clock/event-queue.ts";
import { artifactsMade } from "./artifacts-made.ts";
import type { PlannedCheckpoint, RunPlan } from "./run-plan.ts";

/** An attempt that was there before the simulation: as the engine has it, and how it goes on. */
export interface AdoptedAttempt {
  readonly attempt: Attempt;
  /** From the moment it runs, which may lie behind. */
  readonly plan: RunPlan;
  readonly graceTimeoutMs: number;
}

export interface SimulatedExecutorOptions {
  /** From the launch to the observation that it runs. */
  readonly startupMs: number;
  /** How long a worker takes to obey SIGTERM; one that would take longer than its grace period is killed at its end. */
  readonly stopMs: number;
  /** A pure function of the launch: forks of a simulation share it. */
  readonly plan: (launch: LaunchGang) => RunPlan;
}

/** What a queue entry stands for: stored in the low bits of its payload, for attempts here and for nodes by the driver. */
export const attemptEntry = { starts: 0, exits: 1, leaves: 2, saves: 5, checkpoint: 6, joins: 7 } as const;
/** The low bits of a payload, and how far what it is about lies above them. */
export const ENTRY_BITS = 4;
export const ENTRY_MASK = 15;

interface CheckpointTimeline {
  readonly all: readonly PlannedCheckpoint[];
  next: number;
  awaits: number;
  /** At this instant it was so far on its plan, of which so much time passes in each ms since. */
  sinceMs: number;
  plannedMs: number;
  pace: number;
}

/** Of the launch only what is needed later: attempts in flight are what a long run keeps in memory. */
interface SimulatedAttempt {
  /** What it has produced when it ends well. */
  produces: WorkloadSpec["produces"];
  readonly attemptId: AttemptId;
  workers: LaunchGang["workers"];
  readonly curve: GangSpec["throughputMilli"];
  durationMs: number;
  readonly exitCode: number;
  readonly checkpointMs: number | null;
  phase: "starting" | "running" | "stopping" | "broken";
  /** The queue entry that this attempt waits for; others that still name it are stale. 0: none. */
  awaits: number;
  /** The queue entry at which workers that were asked to leave have left; 0: none. */
  awaitsTerminating: number;
  /** The queue entry at which the checkpoint that was asked for is written; 0: none. */
  awaitsCheckpoint: number;
  /** The queue entry at which workers in new places have joined the others; 0: none. */
  awaitsJoining: number;
  /** When it lost a node, while it is broken. */
  brokenAtMs: number;
  /** Meaningful while the attempt runs. */
  startedAtMs: number;
  /** When the entry is due; meaningful while the attempt runs. `Infinity`: it has not run yet. */
  endsAtMs: number;
  exit: "planned" | "terminated" | "killed" | "lost";
  /** What it is still to report, if it reports any, and the queue entry of the next. */
  checkpoints: CheckpointTimeline | null;
}

/** What an attempt runs with, how, and how its pace goes with its workers. */
interface Launched extends Pick<SimulatedAttempt, "workers" | "curve"> {
  readonly plan: RunPlan;
}

export class SimulatedExecutor {
  readonly #options: SimulatedExecutorOptions;
  readonly #queue: EventQueue;
  readonly #slots: (SimulatedAttempt | null)[] = [];
  readonly #freeSlots: number[] = [];
  readonly #slotByAttempt = new Map<AttemptId, number>();
  readonly #downNodes = new Set<NodeId>();

  constructor(options: SimulatedExecutorOptions, queue: EventQueue) {
    this.#options = options;
    this.#queue = queue;
  }

  /** Attempts that were launched and have not ended. */
  get liveCount(): number {
    return this.#slotByAttempt.size;
  }

  /** Workers of an attempt that were not asked to leave; none if it is not known, or is about to be reported lost with a machine. */
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

  /** What the queue's first entry, one of this executor's, stands for now that it is due; `null`: it is stale. */
  observeNext(): Observation | Signal | null {
    const payload = this.#queue.nextPayload;
    const slot = payload >> ENTRY_BITS;
    const attempt = this.#slots[slot];
    if (attempt == null) return null;
    const { attemptId } = attempt;
    if ((payload & ENTRY_MASK) === attemptEntry.leaves) {
      if (attempt.awaitsTerminating !== this.#queue.nextSequence) return null;
      attempt.awaitsTerminating = 0;
      return { kind: "workersLeft", attemptId };
    }
    if ((payload & ENTRY_MASK) === attemptEntry.joins) {
      if (attempt.awaitsJoining !== this.#queue.nextSequence) return null;
      attempt.awaitsJoining = 0;
      return { kind: "workersJoined", attemptId };
    }
    if ((payload & ENTRY_MASK) === attemptEntry.saves) {
      if (attempt.awaitsCheckpoint !== this.#queue.nextSequence) return null;
      attempt.awaitsCheckpoint = 0;
      const step = this.#queue.nextAtMs - attempt.startedAtMs;
      return { kind: "checkpointReported", attemptId, step, path: `step-${step}` };
    }
    if ((payload & ENTRY_MASK) === attemptEntry.checkpoint) return this.#reportCheckpoint(slot, attempt);
    if (attempt.awaits !== this.#queue.nextSequence) return null;
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

  /** The machine dies, with everything on it. Nobody reports exits from there. */
  loseNode(nodeId: NodeId, nowMs: number): void {
    this.#downNodes.add(nodeId);
    for (const slot of this.#slotByAttempt.values()) {
      const attempt = this.#slots[slot]!;
      if (!holdsNode(attempt, nodeId) || attempt.exit === "lost") continue;
      attempt.exit = "lost";
      attempt.awaitsCheckpoint = 0;
      attempt.awaitsJoining = 0;
      attempt.brokenAtMs = nowMs;
      // A stop in progress still ends when it would have; a run that nobody stops waits for the stop or the node.
      if (attempt.phase !== "stopping") {
        attempt.phase = "broken";
        attempt.awaits = 0;
      }
    }
  }

  /** The machine is back and empty: what ran there is reported lost. One that never was away is as it was. */
  returnNode(nodeId: NodeId, nowMs: number): void {
    if (!this.#downNodes.delete(nodeId)) return;
    for (const slot of this.#slotByAttempt.values()) {
      const attempt = this.#slots[slot]!;
      if (attempt.phase !== "broken" || !holdsNode(attempt, nodeId)) continue;
      attempt.phase = "stopping";
      attempt.awaits = this.#pushExit(slot, nowMs);
    }
  }

  /** An independent executor with the same attempts, on a fork of the same queue. */
  fork(queue: EventQueue): SimulatedExecutor {
    const copy = new SimulatedExecutor(this.#options, queue);
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
      attempt.awaits = this.#pushStart(slot, nowMs);
    }
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

  /** What was running, starting or stopping when the simulation began goes on from there. */
  adopt(
    { attempt: { id, workers, startedAtMs, stop, terminating, joining }, plan, graceTimeoutMs }: AdoptedAttempt,
    nowMs: number,
  ): void {
    const { slot, attempt } = this.#add(id, { workers, plan, curve: plan.throughputMilli });
    const leavesAfterMs = Math.min(this.#options.stopMs, graceTimeoutMs);
    if (terminating !== undefined)
      attempt.awaitsTerminating = this.#queue.push(
        nowMs + leavesAfterMs,
        ranks.observation,
        (slot << ENTRY_BITS) | attemptEntry.leaves,
      );
    // What was only asked for a checkpoint so far still runs.
    if (stop !== null && stop.checkpointUntilMs === undefined) {
      attempt.phase = "stopping";
      attempt.exit = "terminated";
      attempt.awaits = this.#pushExit(slot, Math.max(nowMs, stop.atMs + leavesAfterMs));
      return;
    }
    // When those in new places were asked to start is not known: as long as they may take, the others wait for them.
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
      // What it reported before is known.
      const knownMs = nowMs - startedAtMs;
      while ((checkpoints.all[checkpoints.next]?.afterMs ?? knownMs) < knownMs) checkpoints.next++;
      this.#pushCheckpoint(slot, attempt);
    }
  }

  #pushCheckpoint(slot: number, { checkpoints }: SimulatedAttempt): void {
    const planned = checkpoints?.all[checkpoints.next];
    if (checkpoints === null || planned === undefined) return;
    const payload = (slot << ENTRY_BITS) | attemptEntry.checkpoint;
    const { sinceMs, plannedMs, pace } = checkpoints;
    const atMs = sinceMs + Math.ceil((planned.afterMs - plannedMs) / pace);
    checkpoints.awaits = this.#queue.push(atMs, ranks.observation, payload);
  }

  #reportCheckpoint(slot: number, attempt: SimulatedAttempt): Signal | null {
    const { attemptId, phase, checkpoints } = attempt;
    if (checkpoints === null || checkpoints.awaits !== this.#queue.nextSequence || phase !== "running") return null;
    const { step, path } = checkpoints.all[checkpoints.next++]!;
    this.#pushCheckpoint(slot, attempt);
    return { kind: "checkpointReported", attemptId, step, path };
  }

  #stop(stop: StopGang, nowMs: number): void {
    const slot = this.#slotByAttempt.get(stop.attemptId);
    if (slot === undefined) return;
    const attempt = this.#slots[slot]!;
    if (attempt.phase === "stopping") return;
    const obeys = this.#options.stopMs <= stop.graceTimeoutMs;
    const stopsAtMs = nowMs + (obeys ? this.#options.stopMs : stop.graceTimeoutMs);
    attempt.phase = "stopping";
    attempt.awaitsCheckpoint = 0;
    attempt.awaitsJoining = 0;
    // What ends by itself before the stop takes hold has ended by itself.
    if (attempt.exit === "planned" && attempt.endsAtMs <= stopsAtMs) return;
    if (attempt.exit === "planned") attempt.exit = obeys ? "terminated" : "killed";
    attempt.awaits = this.#pushExit(slot, stopsAtMs);
  }

  /** It goes on while it writes; asked again, it is writing already. */
  #checkpoint({ attemptId }: CheckpointGang, nowMs: number): void {
    const slot = this.#slotByAttempt.get(attemptId);
    if (slot !== undefined) this.#askForCheckpoint(slot, this.#slots[slot]!, nowMs);
  }

  #askForCheckpoint(slot: number, attempt: SimulatedAttempt, nowMs: number): void {
    if (attempt.phase !== "running" || attempt.checkpointMs === null || attempt.awaitsCheckpoint !== 0) return;
    const payload = (slot << ENTRY_BITS) | attemptEntry.saves;
    attempt.awaitsCheckpoint = this.#queue.push(nowMs + attempt.checkpointMs, ranks.observation, payload);
  }

  /** With more workers what is left to do takes less time, by the gang's curve; without one in proportion, an elastic run of perfect scaling. */
  #grow({ attemptId, firstRank, workers }: GrowGang, nowMs: number): void {
    const slot = this.#slotByAttempt.get(attemptId);
    if (slot === undefined) return;
    const known = this.#slots[slot]!.workers;
    const lacking = workers.slice(Math.max(0, known.length - firstRank));
    if (lacking.length > 0) this.#resize(slot, [...known, ...lacking], nowMs);
  }

  /**
   * The others wait until the workers in new places have started, and all go on from where they were: from the beginning if none of
   * them had started yet, whatever anybody was told. A gang of which other machines are down, too, stays broken until it is told of them.
   */
  #replace({ attemptId, workers }: ReplaceWorkers, nowMs: number): void {
    const slot = this.#slotByAttempt.get(attemptId);
    if (slot === undefined) return;
    const attempt = this.#slots[slot]!;
    if (attempt.phase === "stopping") return;
    // Asked again after a crash, they may be on their way.
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
    // Asked again, they are leaving already.
    if (attempt.awaitsTerminating !== 0 && attempt.workers.length <= workers) return;
    this.#resize(slot, attempt.workers.slice(0, workers), nowMs);
    const leavesAtMs = nowMs + Math.min(this.#options.stopMs, graceTimeoutMs);
    attempt.awaitsTerminating = this.#queue.push(
      leavesAtMs,
      ranks.observation,
      (slot << ENTRY_BITS) | attemptEntry.leaves,
    );
  }

  #resize(slot: number, workers: LaunchGang["workers"], nowMs: number): void {
    const attempt = this.#slots[slot]!;
    const before = paceOf(attempt, attempt.workers.length);
    const after = paceOf(attempt, workers.length);
    attempt.workers = workers;
    // Where nothing gets done at a size, nothing can be said of the time at another.
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
    return this.#queue.push(
      nowMs + this.#options.startupMs,
      ranks.observation,
      (slot << ENTRY_BITS) | attemptEntry.starts,
    );
  }

  #pushJoin(slot: number, atMs: number): number {
    return this.#queue.push(atMs, ranks.observation, (slot << ENTRY_BITS) | attemptEntry.joins);
  }

  #pushExit(slot: number, atMs: number): number {
    return this.#queue.push(atMs, ranks.observation, (slot << ENTRY_BITS) | attemptEntry.exits);
  }
}

const paceOf = ({ curve }: SimulatedAttempt, workers: number): number =>
  curve === undefined ? workers : (curve[workers - 1] ?? 0);

const isSame = (left: WorkerAllocation | undefined, right: WorkerAllocation): boolean =>
  left?.node === right.node && left.accelerators === right.accelerators;

function holdsNode({ workers }: SimulatedAttempt, nodeId: NodeId): boolean {
  return workers.some(({ node }) => node === nodeId);
}

/** Nearly every attempt of a trace is one worker that ends well; one shared list spares an allocation for each. */
const oneWorkerSucceeded: readonly WorkerExit[] = [{ kind: "exited", worker: 0, code: 0 }];

function exitsOf(attempt: SimulatedAttempt): readonly WorkerExit[] {
  const { exitCode, exit, workers } = attempt;
  if (exit === "planned" && exitCode === 0 && workers.length === 1) return oneWorkerSucceeded;
  return workers.map((_, worker) => {
    if (exit === "planned") return { kind: "exited", worker, code: worker === 0 ? exitCode : 0 };
    return { kind: "signalled", worker, signal: exit === "terminated" ? "SIGTERM" : "SIGKILL" };
  });
}
