/**
 * One timeline of the next hours on a fork: attempts end after their typical duration, the engine decides everything
 * else, and usage and queue are sampled at even steps.
 */
import { forkEngine, invariant, stoppedByMs } from "@headroom/engine";
import type { Attempt, AttemptId, Effect, Engine, Input, WorkerExit, Workload, WorkloadId } from "@headroom/engine";
import { EventQueue, ranks } from "../clock/event-queue.ts";
import { artifactsOf } from "../executor/artifacts-made.ts";
import { heldSample } from "./timeline-sample.ts";
import type { HeldSample } from "./timeline-sample.ts";
import { Interruptions } from "./interruptions.ts";
import type { Interruption } from "./interruptions.ts";
import { WaitingWork } from "./waiting-starts.ts";
import type { WaitingStarts } from "./waiting-starts.ts";

export interface TimelineSample extends HeldSample {
  /** Work that waited at the beginning and has started until then, in whole or in part. */
  readonly startedWorkloads: number;
  readonly startedTasks: number;
}

export interface Timeline {
  readonly samples: readonly TimelineSample[];
  /** Work that waited at the beginning, in the order of submission. */
  readonly starts: ReadonlyMap<WorkloadId, WaitingStarts>;
  /** Work that ran at the beginning. */
  readonly interruptions: ReadonlyMap<WorkloadId, Interruption>;
  /** Attempts that were evicted, or shrunk, for others. */
  readonly evictions: number;
  /** Inputs that the engine refused, in its words. */
  readonly refusals: readonly string[];
}

export interface TimelineOptions {
  /** Used only for forking. */
  readonly engine: Engine;
  readonly nowMs: number;
  readonly horizonMs: number;
  readonly stepMs: number;
  /** The change, applied at once. */
  readonly inputs: readonly Input[];
  /** Run time of a task from its start, given its elapsed time; also for work that starts after the fork. */
  durationMs(workload: Workload, task: number, elapsedMs: number, running: Attempt | null): number;
}

const clean: WorkerExit = { kind: "exited", worker: 0, code: 0 };
const EVICTIONS: ReadonlySet<string> = new Set(["preempted", "reclaimed", "moved", "incomplete"]);

type Due = { readonly kind: "end" | "left"; readonly attemptId: AttemptId };

class TimelinePlay {
  readonly #options: TimelineOptions;
  readonly #engine: Engine;
  readonly #waiting: WaitingWork;
  readonly #interruptions: Interruptions;
  readonly #queue = new EventQueue();
  readonly #due: Due[] = [];
  readonly #samples: TimelineSample[] = [];
  readonly #refusals: string[] = [];
  #evictions = 0;

  constructor(options: TimelineOptions) {
    this.#options = options;
    this.#engine = forkEngine(options.engine);
    this.#waiting = new WaitingWork(this.#engine.state);
    this.#interruptions = new Interruptions(this.#engine.state, options.nowMs);
  }

  play(): Timeline {
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
    return {
      samples: this.#samples,
      starts: this.#waiting.starts,
      interruptions: this.#interruptions.byWorkload,
      evictions: this.#evictions,
      refusals: this.#refusals,
    };
  }

  /** Running work continues; terminating work uses its whole grace period. Returns the reports that are due. */
  #adopt(): readonly Input[] {
    const { nowMs } = this.#options;
    const launched: Input[] = [];
    for (const attempt of this.#engine.state.attempts.values()) {
      const { id, workloadId, stop, terminating } = attempt;
      const graceMs = this.#engine.state.workloads.get(workloadId)?.spec.graceTimeoutMs ?? 0;
      if (terminating !== undefined) this.#at(nowMs + graceMs, { kind: "left", attemptId: id });
      if (attempt.startedAtMs === null && stop === null) launched.push({ kind: "attemptRunning", attemptId: id });
      const startedAtMs = attempt.startedAtMs ?? nowMs;
      const endMs =
        stop === null
          ? startedAtMs + this.#durationMs(attempt, nowMs - startedAtMs, attempt)
          : stoppedByMs(stop, graceMs);
      this.#at(Math.max(nowMs, endMs), { kind: "end", attemptId: id });
    }
    return launched;
  }

  #durationMs(
    { workloadId, task }: Pick<Attempt, "workloadId" | "task">,
    elapsedMs: number,
    running: Attempt | null,
  ): number {
    const workload = this.#engine.state.workloads.get(workloadId);
    invariant(workload !== undefined, `${workloadId} runs and is not there`);
    return this.#options.durationMs(workload, task, elapsedMs, running);
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
      // A stopped attempt has two entries; the engine ignores the later one.
      inputs.push(
        kind === "end"
          ? { kind: "attemptExited", attemptId, exits: [clean], ...artifactsOf(this.#engine.state, attemptId) }
          : { kind: "workersLeft", attemptId },
      );
    }
    return inputs.length === 0 ? [{ kind: "tick" }] : inputs;
  }

  /** A round; then, at the same instant, rounds in which launched work reports running. */
  #round(first: readonly Input[], atMs: number): void {
    for (let due = first; due.length > 0;) {
      const { events, effects, replies } = this.#engine.receive(due, atMs);
      this.#engine.advance();
      for (const event of events) this.#interruptions.take(event);
      for (const reply of replies) if (reply.kind === "rejected") this.#refusals.push(reply.rejection.code);
      due = effects.flatMap((effect) => this.#perform(effect, atMs));
    }
  }

  #perform(effect: Effect, atMs: number): readonly Input[] {
    const { attemptId } = effect;
    if (effect.kind === "launchGang") {
      const { workloadId, task } = effect;
      this.#waiting.launched(workloadId, task, atMs);
      const savedMs = this.#interruptions.launched(workloadId, task, atMs);
      this.#at(atMs + Math.max(1, this.#durationMs(effect, 0, null) - savedMs), { kind: "end", attemptId });
      return [{ kind: "attemptRunning", attemptId }];
    }
    // A checkpoint is assumed to take all of its time: the engine stops the work itself when that is over.
    if (effect.kind === "growGang" || effect.kind === "checkpointGang") return [];
    if (effect.kind === "replaceWorkers") return [{ kind: "workersJoined", attemptId }];
    if (effect.kind === "shrinkGang" || EVICTIONS.has(effect.reason)) this.#evictions++;
    this.#at(atMs + effect.graceTimeoutMs, { kind: effect.kind === "stopGang" ? "end" : "left", attemptId });
    return [];
  }

  #sample(atMs: number): TimelineSample {
    const { startedWorkloads, startedTasks } = this.#waiting;
    return { ...heldSample(this.#engine, atMs), startedWorkloads, startedTasks };
  }
}

export const playTimeline = (options: TimelineOptions): Timeline => new TimelinePlay(options).play();
