/**
 * One course of the next hours, played on a fork: attempts end as they are imagined to, everything else is decided by the
 * engine itself, and what is held and what waits is read off at even steps.
 */
import { forkEngine, invariant, stoppedByMs, takesWork, teamHolds, waitingSummary } from "@headroom/engine";
import type { AttemptId, Effect, Engine, Input, WorkerExit, Workload, WorkloadId } from "@headroom/engine";
import { EventQueue, ranks } from "../clock/event-queue.ts";
import { artifactsOf } from "../executor/artifacts-made.ts";

export interface CourseSample {
  readonly atMs: number;
  readonly heldAccelerators: number;
  /** On nodes that take work. */
  readonly usableAccelerators: number;
  readonly waitingWorkloads: number;
  readonly waitingAccelerators: number;
  /** Of the work that waited at the beginning, what has started until then. */
  readonly startedWorkloads: number;
  /** Accelerators by team, each with everything below it. */
  readonly heldByTeam: Readonly<Record<string, number>>;
}

export interface Course {
  readonly samples: readonly CourseSample[];
  /** First start of work that waited at the beginning, ms; what is not in it does not start within the horizon. */
  readonly starts: ReadonlyMap<WorkloadId, number>;
  /** Attempts that were asked to leave, or to shrink, for others. */
  readonly evictions: number;
  /** Inputs that the engine refused, in its words. */
  readonly refusals: readonly string[];
}

export interface CourseOptions {
  /** Only forked. */
  readonly engine: Engine;
  readonly nowMs: number;
  readonly horizonMs: number;
  readonly stepMs: number;
  /** What happens at once. */
  readonly inputs: readonly Input[];
  /** How long a task runs from its start, given that it has run for so long; work of this course that began after the fork as well. */
  durationMs(workload: Workload, task: number, elapsedMs: number): number;
}

const clean: WorkerExit = { kind: "exited", worker: 0, code: 0 };
const EVICTIONS: ReadonlySet<string> = new Set(["preempted", "reclaimed", "moved", "incomplete"]);

type Due = { readonly kind: "end" | "left"; readonly attemptId: AttemptId };

class CoursePlay {
  readonly #options: CourseOptions;
  readonly #engine: Engine;
  readonly #waiting: ReadonlySet<WorkloadId>;
  readonly #queue = new EventQueue();
  readonly #due: Due[] = [];
  readonly #starts = new Map<WorkloadId, number>();
  readonly #samples: CourseSample[] = [];
  readonly #refusals: string[] = [];
  #evictions = 0;

  constructor(options: CourseOptions) {
    this.#options = options;
    this.#engine = forkEngine(options.engine);
    const pending = [...this.#engine.state.workloads.values()].filter(({ phase }) => phase === "pending");
    this.#waiting = new Set(pending.map(({ id }) => id));
  }

  play(): Course {
    const { nowMs, horizonMs, stepMs, inputs } = this.#options;
    const endMs = nowMs + horizonMs;
    this.#round([{ kind: "tick" }, ...this.#adopt(), ...inputs], nowMs);
    let sampleMs = nowMs;
    for (;;) {
      const wakesAtMs = this.#engine.nextWakeAtMs() ?? Number.POSITIVE_INFINITY;
      const atMs = Math.max(nowMs, Math.min(this.#queue.nextAtMs, wakesAtMs));
      for (; sampleMs <= endMs && sampleMs < atMs; sampleMs += stepMs) this.#samples.push(this.#sample(sampleMs));
      if (atMs > endMs) break;
      this.#round(this.#dueAt(atMs), atMs);
    }
    return { samples: this.#samples, starts: this.#starts, evictions: this.#evictions, refusals: this.#refusals };
  }

  /** What runs at the beginning goes on; what is being stopped uses up its grace period. Answers the reports that are due. */
  #adopt(): readonly Input[] {
    const { nowMs } = this.#options;
    const launched: Input[] = [];
    for (const attempt of this.#engine.state.attempts.values()) {
      const { id, workloadId, task, stop, leaving } = attempt;
      const graceMs = this.#engine.state.workloads.get(workloadId)?.spec.graceTimeoutMs ?? 0;
      if (leaving !== undefined) this.#at(nowMs + graceMs, { kind: "left", attemptId: id });
      if (attempt.startedAtMs === null && stop === null) launched.push({ kind: "attemptRunning", attemptId: id });
      const startedAtMs = attempt.startedAtMs ?? nowMs;
      const endMs =
        stop === null
          ? startedAtMs + this.#durationMs(workloadId, task, nowMs - startedAtMs)
          : stoppedByMs(stop, graceMs);
      this.#at(Math.max(nowMs, endMs), { kind: "end", attemptId: id });
    }
    return launched;
  }

  #durationMs(workloadId: WorkloadId, task: number, elapsedMs: number): number {
    const workload = this.#engine.state.workloads.get(workloadId);
    invariant(workload !== undefined, `${workloadId} runs and is not there`);
    return this.#options.durationMs(workload, task, elapsedMs);
  }

  #at(atMs: number, due: Due): void {
    this.#queue.push(atMs, ranks.observation, this.#due.length);
    this.#due.push(due);
  }

  #dueAt(atMs: number): readonly Input[] {
    const inputs: Input[] = [];
    while (this.#queue.nextAtMs <= atMs) {
      const { kind, attemptId } = this.#due[this.#queue.nextPayload] as Due;
      this.#queue.drop();
      // An attempt that was stopped has two entries; the engine takes the later one for old news.
      inputs.push(
        kind === "end"
          ? { kind: "attemptExited", attemptId, exits: [clean], ...artifactsOf(this.#engine.state, attemptId) }
          : { kind: "workersLeft", attemptId },
      );
    }
    return inputs.length === 0 ? [{ kind: "tick" }] : inputs;
  }

  /** A round; then, at the same instant, others in which what was launched reports running. */
  #round(first: readonly Input[], atMs: number): void {
    for (let due = first; due.length > 0;) {
      const { effects, replies } = this.#engine.receive(due, atMs);
      this.#engine.advance();
      for (const reply of replies) if (reply.kind === "rejected") this.#refusals.push(reply.rejection.code);
      due = effects.flatMap((effect) => this.#perform(effect, atMs));
    }
  }

  #perform(effect: Effect, atMs: number): readonly Input[] {
    const { attemptId } = effect;
    if (effect.kind === "launchGang") {
      const { workloadId, task } = effect;
      if (this.#waiting.has(workloadId) && !this.#starts.has(workloadId)) this.#starts.set(workloadId, atMs);
      this.#at(atMs + this.#durationMs(workloadId, task, 0), { kind: "end", attemptId });
      return [{ kind: "attemptRunning", attemptId }];
    }
    // A checkpoint is taken to need all of its time: the engine asks for the stop itself when that is over.
    if (effect.kind === "growGang" || effect.kind === "checkpointGang") return [];
    if (effect.kind === "replaceWorkers") return [{ kind: "workersJoined", attemptId }];
    if (effect.kind === "shrinkGang" || EVICTIONS.has(effect.reason)) this.#evictions++;
    this.#at(atMs + effect.graceTimeoutMs, { kind: effect.kind === "stopGang" ? "end" : "left", attemptId });
    return [];
  }

  #sample(atMs: number): CourseSample {
    const { state } = this.#engine;
    const waiting = waitingSummary(this.#engine);
    let usable = 0;
    for (const node of state.nodes.values())
      if (takesWork(node) && node.spare !== true) usable += node.acceleratorCount;
    const heldByTeam: Record<string, number> = {};
    let held = 0;
    for (const { name, parent } of state.teams.values()) {
      let sum = 0;
      for (const count of teamHolds(this.#engine, name).values()) sum += count;
      heldByTeam[name] = sum;
      if (parent === null) held += sum;
    }
    return {
      atMs,
      heldAccelerators: held,
      usableAccelerators: usable,
      waitingWorkloads: waiting.workloads,
      waitingAccelerators: waiting.accelerators,
      startedWorkloads: this.#starts.size,
      heldByTeam,
    };
  }
}

export const playCourse = (options: CourseOptions): Course => new CoursePlay(options).play();
