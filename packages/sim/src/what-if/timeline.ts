/**
 * One timeline of the next hours, simulated on a fork. Attempts end after their typical run time, the engine decides
 * everything else, and usage and queue are sampled at equal intervals.
 */
import { forkEngine } from "@headroom/engine";
import type { Engine, Ready } from "@headroom/engine";
import { invariant, isEviction } from "@headroom/model";
import type { Attempt, Input, LaunchGang, Reply, Workload, WorkloadId } from "@headroom/model";
import { EventQueue } from "../clock/event-queue.ts";
import { DrawnExecutor } from "../playout/drawn-executor.ts";
import { Playout } from "../playout/playout.ts";
import { ArrivingWork } from "./arriving-work.ts";
import type { ArrivedWork } from "./arriving-work.ts";
import type { RecurringSubmission } from "./recurring-arrivals.ts";
import { heldSample } from "./timeline-sample.ts";
import type { HeldSample } from "./timeline-sample.ts";
import { Interruptions, runningAttempts } from "./interruptions.ts";
import type { Interruption } from "./interruptions.ts";
import { WaitingWork } from "./waiting-starts.ts";
import type { WaitingStarts } from "./waiting-starts.ts";

export interface TimelineSample extends HeldSample {
  /**
   * Number of workloads that waited at the beginning and have started by this sample, with all or some of their tasks.
   */
  readonly startedWorkloads: number;
  readonly startedTasks: number;
}

export interface Timeline {
  readonly samples: readonly TimelineSample[];
  /** Starts of work that waited at the beginning, in the order of submission. */
  readonly starts: ReadonlyMap<WorkloadId, WaitingStarts>;
  /** Interruptions of work that ran at the beginning. */
  readonly interruptions: ReadonlyMap<WorkloadId, Interruption>;
  /** Work that was submitted during the timeline. */
  readonly arrived: ArrivedWork;
  /** Number of attempts that were evicted, or lost workers, in favour of other work. */
  readonly evictions: number;
  /** The engine's reasons for the inputs that it refused. */
  readonly refusals: readonly string[];
}

export interface TimelineOptions {
  /** The engine, which is only forked and not changed. */
  readonly engine: Engine;
  readonly nowMs: number;
  readonly horizonMs: number;
  readonly stepMs: number;
  /** The inputs of the change, which take effect at the start. */
  readonly inputs: readonly Input[];
  /** Inputs at a later time, such as the return of lost nodes; absent: none. */
  readonly later?: { readonly afterMs: number; readonly inputs: readonly Input[] };
  /** Submissions during the timeline, in the order of time. */
  readonly arrivals: readonly RecurringSubmission[];
  /** Total run time of a task from its start, given its elapsed time. Also used for work that starts after the fork. */
  durationMs(workload: Workload, task: number, elapsedMs: number, running: Attempt | null): number;
}

class TimelinePlay {
  readonly #options: TimelineOptions;
  readonly #engine: Engine;
  readonly #waiting: WaitingWork;
  readonly #arriving: ArrivingWork;
  readonly #interruptions: Interruptions;
  readonly #executor: DrawnExecutor;
  readonly #playout: Playout;
  readonly #samples: TimelineSample[] = [];
  readonly #refusals: string[] = [];
  #evictions = 0;

  constructor(options: TimelineOptions) {
    const engine = forkEngine(options.engine);
    const queue = new EventQueue();
    this.#options = options;
    this.#engine = engine;
    this.#waiting = new WaitingWork(engine.state);
    this.#arriving = new ArrivingWork(options.arrivals);
    this.#interruptions = new Interruptions(runningAttempts(engine.state, options.nowMs), options.nowMs);
    this.#executor = new DrawnExecutor({
      engine,
      queue,
      runningMs: (attempt, elapsedMs) => this.#durationMs(attempt, elapsedMs, attempt),
      launchedMs: (launch, nowMs) => this.#launchedMs(launch, nowMs),
    });
    this.#playout = new Playout({
      engine,
      queue,
      startAtMs: options.nowMs,
      world: this.#executor,
      arrivals: this.#arriving,
      onRound: ({ ready }) => this.#take(ready),
      grain: 0,
      ticksWhenStale: true,
    });
  }

  play(): Timeline {
    const { nowMs, horizonMs, inputs, later } = this.#options;
    const endMs = nowMs + horizonMs;
    this.#playout.receive([{ kind: "tick" }, ...this.#executor.adopt(nowMs), ...inputs]);
    if (later !== undefined && nowMs + later.afterMs < endMs) {
      const laterMs = nowMs + later.afterMs;
      this.#playUntil(laterMs);
      this.#playout.passTo(laterMs);
      this.#playout.receive(later.inputs);
    }
    this.#playUntil(endMs);
    return {
      samples: this.#samples,
      starts: this.#waiting.starts,
      interruptions: this.#interruptions.byWorkload,
      arrived: this.#arriving.figures(endMs),
      evictions: this.#evictions,
      refusals: this.#refusals,
    };
  }

  #playUntil(untilMs: number): void {
    const { nowMs, stepMs } = this.#options;
    const isDue = (): boolean => {
      const sampleMs = nowMs + this.#samples.length * stepMs;
      return sampleMs <= untilMs && sampleMs < this.#playout.nextAtMs;
    };
    for (let isOver = false; !isOver; isOver = this.#playout.advance({ untilMs, maxRounds: 1 }))
      while (isDue()) this.#samples.push(this.#sample(nowMs + this.#samples.length * stepMs));
  }

  #durationMs(
    { workloadId, task }: Pick<Attempt, "workloadId" | "task">,
    elapsedMs: number,
    running: Attempt | null,
  ): number {
    // A recurring submission runs as long as the recorded one.
    const workload = this.#arriving.originalOf(workloadId) ?? this.#engine.state.workloads.get(workloadId);
    invariant(workload !== undefined, `workload ${workloadId} runs and is not in the state`);
    return this.#options.durationMs(workload, task, elapsedMs, running);
  }

  #launchedMs(launch: LaunchGang, atMs: number): number {
    const { workloadId, task, workers } = launch;
    this.#waiting.launched(workloadId, task, atMs);
    this.#arriving.launched(workloadId, atMs);
    const savedMs = this.#interruptions.launched(
      workloadId,
      task,
      atMs,
      workers.map(({ node }) => node),
    );
    return Math.max(1, this.#durationMs(launch, 0, null) - savedMs);
  }

  #take({ events, replies, effects }: Ready): void {
    for (const event of events) this.#interruptions.take(event);
    for (const reply of replies) this.#answered(reply);
    for (const effect of effects)
      if (effect.kind === "shrinkGang" || (effect.kind === "stopGang" && isEviction(effect.reason))) this.#evictions++;
  }

  #answered(reply: Reply): void {
    const isOfArrival = this.#arriving.answered(reply);
    if (reply.kind === "rejected" && !isOfArrival) this.#refusals.push(reply.rejection.code);
  }

  #sample(atMs: number): TimelineSample {
    const { startedWorkloads, startedTasks } = this.#waiting;
    return { ...heldSample(this.#engine, atMs), startedWorkloads, startedTasks };
  }
}

export const playTimeline = (options: TimelineOptions): Timeline => new TimelinePlay(options).play();
