/**
 * One scenario on a fork of a live engine. The scenario decides when attempts end and work arrives; the engine decides
 * everything else. The fork is driven as the live driver drives the engine, batch by batch, until the last target has
 * started or the steps are used up.
 */
import { commandId } from "@headroom/model";
import type { Attempt, CommandId, Input, Reply, WorkloadId, WorkloadSpec } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { EventQueue } from "../clock/event-queue.ts";
import { DrawnExecutor } from "../playout/drawn-executor.ts";
import { Playout, type PlayoutArrivals } from "../playout/playout.ts";

export interface ForwardScenario {
  /**
   * Total run time in ms of an attempt of this workload that has already run for the elapsed time. `running`: the
   * attempt that ran at the fork; `null`: the attempt starts now.
   */
  durationMs(workloadId: WorkloadId, elapsedMs: number, running: Attempt | null): number;
  /** Uniform number in [0, 1) for the transfer of the inputs of an attempt. Absent: transfers take their median time. */
  readonly transferUniform?: (placedSequence: number) => number;
  /** Future submissions, in order of time. */
  readonly arrivals: Iterator<ForwardArrival>;
}

export interface ForwardArrival {
  readonly atMs: number;
  /** The user who submits the work: limits, fair order and predictions depend on users. */
  readonly actor: string;
  readonly spec: WorkloadSpec;
  /** The past workload whose run times also apply to the arrival. */
  readonly like: WorkloadId;
}

export interface ForwardStart {
  readonly atMs: number;
  /** Number of attempts that have ended since the present, and of workloads or tasks that have started since. */
  readonly endsBefore: number;
  readonly startsBefore: number;
}

export interface ForwardOptions {
  /** A fork, which the run modifies. */
  readonly engine: Engine;
  readonly nowMs: number;
  readonly horizonMs: number;
  readonly targets: ReadonlySet<WorkloadId>;
  readonly scenario: ForwardScenario;
  /**
   * Events within this share of the time since the present form one batch: for a start that is hours away, seconds do
   * not matter. The number of rounds then grows with the logarithm of the horizon and not with the length of the queue.
   * 0: every instant has its own batch.
   */
  readonly grain: number;
  /**
   * Maximum number of steps: rounds, and starts of workloads or tasks. Work that runs at the fork must be adopted and
   * end, so it also counts, but for at most half of the steps.
   */
  readonly stepsMax: number;
}

export interface ForwardStarts {
  /** Starts of the targets, as far as they lie within the horizon and the steps. */
  readonly starts: ReadonlyMap<WorkloadId, ForwardStart>;
  /**
   * Instant up to which targets without a start are known not to start; `Infinity`: they do not start within the
   * horizon.
   */
  readonly playedUntilMs: number;
  readonly stepCount: number;
}

class ForwardRun implements PlayoutArrivals {
  readonly #options: ForwardOptions;
  readonly #executor: DrawnExecutor;
  readonly #playout: Playout;
  readonly #likeOfCommand = new Map<CommandId, WorkloadId>();
  readonly #likeOf = new Map<WorkloadId, WorkloadId>();
  readonly #starts = new Map<WorkloadId, ForwardStart>();
  #arrival: ForwardArrival | null;
  #arrivalCount = 0;
  #startCount = 0;
  #adoptedCount = 0;

  constructor(options: ForwardOptions) {
    const { engine, nowMs: startAtMs, grain, scenario } = options;
    this.#options = options;
    this.#arrival = next(scenario.arrivals);
    const queue = new EventQueue();
    this.#executor = new DrawnExecutor({
      engine,
      queue,
      runningMs: (attempt, elapsedMs) => scenario.durationMs(attempt.workloadId, elapsedMs, attempt),
      launchedMs: ({ workloadId }, nowMs) => this.#launchedMs(workloadId, nowMs),
      ...(scenario.transferUniform === undefined ? {} : { transferUniform: scenario.transferUniform }),
    });
    this.#playout = new Playout({
      engine,
      queue,
      startAtMs,
      world: this.#executor,
      arrivals: this,
      onRound: ({ ready }) => ready.replies.forEach((reply) => this.#note(reply)),
      grain,
      ticksWhenStale: true,
    });
  }

  run(): ForwardStarts {
    const { engine, nowMs, horizonMs, targets, stepsMax } = this.#options;
    this.#adoptedCount = Math.min(engine.state.attempts.size, Math.floor(stepsMax / 2));
    const launching = this.#executor.adopt(nowMs);
    if (launching.length > 0) this.#playout.receive(launching);
    const endMs = nowMs + horizonMs;
    let playedUntilMs = nowMs;
    while (this.#starts.size < targets.size && this.#stepCount < stepsMax) {
      if (this.#playout.advance({ untilMs: endMs, maxRounds: 1 })) {
        playedUntilMs = Number.POSITIVE_INFINITY;
        break;
      }
      playedUntilMs = this.#playout.nowMs;
    }
    return { starts: this.#starts, playedUntilMs, stepCount: this.#stepCount };
  }

  get #stepCount(): number {
    return this.#adoptedCount + this.#startCount + this.#playout.roundCount;
  }

  get nextAtMs(): number {
    return this.#arrival?.atMs ?? Number.POSITIVE_INFINITY;
  }

  take(): Input {
    const { actor, spec, like } = this.#arrival!;
    this.#arrival = next(this.#options.scenario.arrivals);
    const id = commandId(`arrival-${this.#arrivalCount++}`);
    this.#likeOfCommand.set(id, like);
    return { kind: "submitWorkload", commandId: id, actor, idempotencyKey: null, spec };
  }

  /** The run ignores an arrival that the engine refuses. */
  #note(reply: Reply): void {
    const like = this.#likeOfCommand.get(reply.commandId);
    this.#likeOfCommand.delete(reply.commandId);
    if (like === undefined || reply.kind === "rejected" || reply.result.kind !== "workloadSubmitted") return;
    this.#likeOf.set(reply.result.workloadId, like);
  }

  #launchedMs(workloadId: WorkloadId, atMs: number): number {
    const { targets, scenario } = this.#options;
    if (targets.has(workloadId) && !this.#starts.has(workloadId))
      this.#starts.set(workloadId, {
        atMs,
        endsBefore: this.#executor.endCount,
        startsBefore: this.#startCount,
      });
    this.#startCount++;
    return scenario.durationMs(this.#likeOf.get(workloadId) ?? workloadId, 0, null);
  }
}

function next(arrivals: Iterator<ForwardArrival>): ForwardArrival | null {
  const result = arrivals.next();
  return result.done === true ? null : result.value;
}

/** Start of each target in this scenario. */
export function forwardStarts(options: ForwardOptions): ForwardStarts {
  return new ForwardRun(options).run();
}
