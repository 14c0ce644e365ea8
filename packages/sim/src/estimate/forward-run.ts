/**
 * One possible future of a live engine, played on a fork of it: attempts end when the scenario says, work arrives when the
 * scenario says, and everything else is decided by the engine itself. It drives the fork as the live driver drives the
 * engine, batch by batch, and stops when the last workload that was asked about has started, or at its last step.
 */
import {
  commandId,
  stoppedByMs,
  type Attempt,
  type AttemptId,
  type CommandId,
  type Effect,
  type Engine,
  type Input,
  type Reply,
  type WorkerExit,
  type WorkloadId,
  type WorkloadSpec,
} from "@headroom/engine";
import { EventQueue, ranks } from "../clock/event-queue.ts";
import { artifactsOf } from "../executor/artifacts-made.ts";

export interface ForwardScenario {
  /** How long an attempt of this workload takes in all, given that it has run for so long. `running`: at the fork; `null`: it starts now. */
  durationMs(workloadId: WorkloadId, elapsedMs: number, running: Attempt | null): number;
  /** What is submitted meanwhile, in time's order. */
  readonly arrivals: Iterator<ForwardArrival>;
}

export interface ForwardArrival {
  readonly atMs: number;
  /** For whom it is submitted: limits, turns and predictions go by users too. */
  readonly actor: string;
  readonly spec: WorkloadSpec;
  /** The workload of the past that its durations are drawn for. */
  readonly like: WorkloadId;
}

export interface ForwardStart {
  readonly atMs: number;
  /** Attempts that end before, and workloads or tasks that start before, from the present on. */
  readonly endsBefore: number;
  readonly startsBefore: number;
}

export interface ForwardOptions {
  /** A fork; it is used up. */
  readonly engine: Engine;
  readonly nowMs: number;
  readonly horizonMs: number;
  readonly targets: ReadonlySet<WorkloadId>;
  readonly scenario: ForwardScenario;
  /**
   * What happens within this share of the time from the present on is one batch: a future hours away needs no seconds, and
   * the number of rounds then grows with the logarithm of the horizon and not with the length of the queue. 0: exact.
   */
  readonly grain: number;
  /**
   * Rounds and starts, of workloads or their tasks, to play at most. What runs at the fork is counted as well, for it has to
   * be taken over and to end, but for no more than half of them.
   */
  readonly stepsMax: number;
}

export interface ForwardStarts {
  /** Of the targets that start within the horizon, and before the steps are used up. */
  readonly starts: ReadonlyMap<WorkloadId, ForwardStart>;
  /** What has not started does not start up to this instant; `Infinity`: nor within the horizon. */
  readonly playedUntilMs: number;
  readonly stepCount: number;
}

const clean: WorkerExit = { kind: "exited", worker: 0, code: 0 };

class ForwardRun {
  readonly #options: ForwardOptions;
  readonly #queue = new EventQueue();
  readonly #attempts: AttemptId[] = [];
  readonly #live = new Set<AttemptId>();
  readonly #likeOfCommand = new Map<CommandId, WorkloadId>();
  readonly #likeOf = new Map<WorkloadId, WorkloadId>();
  readonly #starts = new Map<WorkloadId, ForwardStart>();
  #arrival: ForwardArrival | null;
  /** Attempts that have been launched and are yet to report that they run. */
  #reports: Input[] = [];
  #arrivalCount = 0;
  #endCount = 0;
  #startCount = 0;
  #roundCount = 0;
  #adoptedCount = 0;

  constructor(options: ForwardOptions) {
    this.#options = options;
    this.#arrival = next(options.scenario.arrivals);
  }

  run(): ForwardStarts {
    const { nowMs, horizonMs, targets, grain, stepsMax } = this.#options;
    this.#adopt();
    const endMs = nowMs + horizonMs;
    let playedUntilMs = nowMs;
    while (this.#starts.size < targets.size && this.#stepCount < stepsMax) {
      const atMs = this.#nextAtMs();
      if (atMs > endMs || atMs === Number.POSITIVE_INFINITY) {
        playedUntilMs = Number.POSITIVE_INFINITY;
        break;
      }
      playedUntilMs = this.#roundUntil(atMs + Math.floor((atMs - nowMs) * grain), atMs);
    }
    return { starts: this.#starts, playedUntilMs, stepCount: this.#stepCount };
  }

  get #stepCount(): number {
    return this.#adoptedCount + this.#startCount + this.#roundCount;
  }

  /** What the engine counts as active at the fork goes on; what is being stopped uses up its grace period. */
  #adopt(): void {
    const { engine, nowMs, scenario, stepsMax } = this.#options;
    const launching: Input[] = [];
    // The longest first: what they tell of their sweep holds for the younger ones.
    const attempts = [...engine.state.attempts.values()].toSorted(byAge);
    this.#adoptedCount = Math.min(attempts.length, Math.floor(stepsMax / 2));
    for (const attempt of attempts) {
      const { id, workloadId, stop } = attempt;
      this.#live.add(id);
      if (stop !== null) {
        const { graceTimeoutMs } = engine.state.workloads.get(workloadId)!.spec;
        this.#endAt(id, Math.max(nowMs, stoppedByMs(stop, graceTimeoutMs)));
        continue;
      }
      const startedAtMs = attempt.startedAtMs ?? nowMs;
      if (attempt.startedAtMs === null) launching.push({ kind: "attemptRunning", attemptId: id });
      const durationMs = scenario.durationMs(workloadId, nowMs - startedAtMs, attempt);
      this.#endAt(id, Math.max(nowMs, startedAtMs + durationMs));
    }
    this.#round(launching, nowMs);
  }

  #endAt(attemptId: AttemptId, atMs: number): void {
    this.#queue.push(atMs, ranks.observation, this.#attempts.length);
    this.#attempts.push(attemptId);
  }

  #nextAtMs(): number {
    const wakesAtMs = this.#options.engine.nextWakeAtMs() ?? Number.POSITIVE_INFINITY;
    const arrivesAtMs = this.#arrival?.atMs ?? Number.POSITIVE_INFINITY;
    return Math.max(this.#options.nowMs, Math.min(this.#queue.nextAtMs, wakesAtMs, arrivesAtMs));
  }

  /** All that is due until then, in one batch at the instant of the last of it, which it answers. */
  #roundUntil(untilMs: number, firstAtMs: number): number {
    const inputs = this.#reports;
    this.#reports = [];
    const reportCount = inputs.length;
    let atMs = firstAtMs;
    while (this.#queue.nextAtMs <= untilMs) {
      const attemptId = this.#attempts[this.#queue.nextPayload]!;
      atMs = Math.max(atMs, this.#queue.nextAtMs);
      this.#queue.drop();
      // An attempt that was stopped has two entries; the later one is stale.
      if (!this.#live.delete(attemptId)) continue;
      inputs.push({
        kind: "attemptExited",
        attemptId,
        exits: [clean],
        ...artifactsOf(this.#options.engine.state, attemptId),
      });
    }
    this.#endCount += inputs.length - reportCount;
    while (this.#arrival !== null && this.#arrival.atMs <= untilMs) {
      atMs = Math.max(atMs, this.#arrival.atMs);
      inputs.push(this.#submission(this.#arrival));
      this.#arrival = next(this.#options.scenario.arrivals);
    }
    if (inputs.length === 0) inputs.push({ kind: "tick" });
    this.#round(inputs, atMs);
    return atMs;
  }

  #submission({ actor, spec, like }: ForwardArrival): Input {
    const id = commandId(`arrival-${this.#arrivalCount++}`);
    this.#likeOfCommand.set(id, like);
    return { kind: "submitWorkload", commandId: id, actor, idempotencyKey: null, spec };
  }

  /**
   * A round; then, at the same instant, another in which what was launched reports running, until nothing is launched.
   * Where the future is coarse, the reports come with the next batch.
   */
  #round(inputs: readonly Input[], atMs: number): void {
    let due = inputs;
    while (due.length > 0) {
      this.#roundCount++;
      const { replies, effects } = this.#options.engine.receive(due, atMs);
      this.#options.engine.advance();
      for (const reply of replies) this.#note(reply);
      due = effects.flatMap((effect) => this.#perform(effect, atMs));
      if (this.#options.grain === 0) continue;
      this.#reports.push(...due);
      return;
    }
  }

  /** An arrival that is refused is one that does not happen. */
  #note(reply: Reply): void {
    const like = this.#likeOfCommand.get(reply.commandId);
    this.#likeOfCommand.delete(reply.commandId);
    if (like === undefined || reply.kind === "rejected" || reply.result.kind !== "workloadSubmitted") return;
    this.#likeOf.set(reply.result.workloadId, like);
  }

  #perform(effect: Effect, atMs: number): readonly Input[] {
    const { attemptId } = effect;
    if (effect.kind === "stopGang") {
      if (this.#live.has(attemptId)) this.#endAt(attemptId, atMs + effect.graceTimeoutMs);
      return [];
    }
    if (effect.kind !== "launchGang") return [];
    const { workloadId } = effect;
    this.#live.add(attemptId);
    const { targets, scenario } = this.#options;
    if (targets.has(workloadId) && !this.#starts.has(workloadId))
      this.#starts.set(workloadId, { atMs, endsBefore: this.#endCount, startsBefore: this.#startCount });
    this.#startCount++;
    this.#endAt(attemptId, atMs + scenario.durationMs(this.#likeOf.get(workloadId) ?? workloadId, 0, null));
    return [{ kind: "attemptRunning", attemptId }];
  }
}

function byAge(left: Attempt, right: Attempt): number {
  const startedMs = ({ startedAtMs }: Attempt): number => startedAtMs ?? Number.MAX_SAFE_INTEGER;
  return startedMs(left) - startedMs(right) || left.placedSequence - right.placedSequence;
}

function next(arrivals: Iterator<ForwardArrival>): ForwardArrival | null {
  const result = arrivals.next();
  return result.done === true ? null : result.value;
}

/** When each target starts in this future. */
export function forwardStarts(options: ForwardOptions): ForwardStarts {
  return new ForwardRun(options).run();
}
