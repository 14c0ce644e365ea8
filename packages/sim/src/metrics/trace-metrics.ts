/**
 * Metrics of a simulated trace: submission, first start and end of each job, and use of the fleet. The code reads only
 * the engine's events, never its state.
 */
import { IdMap } from "@headroom/model";
import type { AttemptId, Event, LaunchGang, Reply } from "@headroom/model";
import type { SimulatedRound, SimulationObserver } from "../run/simulation.ts";
import { acceleratorMilliOf, type TraceJob } from "../trace/trace.ts";
import { BoundedSeries } from "./series.ts";

/** Outcomes of a job; the values of `TraceMetrics.fate`. */
export const fates = { pending: 0, rejected: 1, succeeded: 2, failed: 3 } as const;

/** The measured trace. */
export interface TraceSubject {
  readonly jobs: readonly TraceJob[];
  readonly startAtMs: number;
  /** Index of the launched job in the trace. */
  readonly jobOf: (launch: LaunchGang) => number;
}

export class TraceMetrics implements SimulationObserver {
  readonly #subject: TraceSubject;
  readonly #jobOf: (launch: LaunchGang) => number;
  readonly #jobs: readonly TraceJob[];
  readonly #acceleratorMilli: Float64Array;
  readonly #startAtMs: number;
  readonly #jobByAttempt = new IdMap<AttemptId, number>();
  #usedMilli = 0;
  #waitingCount = 0;
  eventCount = 0;
  roundCount = 0;
  attemptCount = 0;
  endedAtMs: number;
  readonly fate: Uint8Array;
  /** Time of the first start by job; -1: not started yet. */
  readonly firstStartedAtMs: Float64Array;
  readonly jobEndedAtMs: Float64Array;
  /** Used accelerators over time; a fraction counts as its fraction. */
  readonly used: BoundedSeries;
  readonly waiting: BoundedSeries;

  constructor(subject: TraceSubject, from?: TraceMetrics) {
    const { jobs, startAtMs, jobOf } = subject;
    this.#subject = subject;
    this.#jobs = jobs;
    this.#acceleratorMilli = from === undefined ? allMilli(jobs) : from.#acceleratorMilli;
    this.#startAtMs = startAtMs;
    this.#jobOf = jobOf;
    this.endedAtMs = from?.endedAtMs ?? startAtMs;
    this.fate = from?.fate.slice() ?? new Uint8Array(jobs.length);
    this.firstStartedAtMs = from?.firstStartedAtMs.slice() ?? new Float64Array(jobs.length).fill(-1);
    this.jobEndedAtMs = from?.jobEndedAtMs.slice() ?? new Float64Array(jobs.length).fill(-1);
    this.used = from?.used.fork() ?? new BoundedSeries();
    this.waiting = from?.waiting.fork() ?? new BoundedSeries();
  }

  fork(): this {
    const copy = new TraceMetrics(this.#subject, this);
    for (const [attemptId, job] of this.#jobByAttempt) copy.#jobByAttempt.set(attemptId, job);
    copy.#usedMilli = this.#usedMilli;
    copy.#waitingCount = this.#waitingCount;
    copy.eventCount = this.eventCount;
    copy.roundCount = this.roundCount;
    copy.attemptCount = this.attemptCount;
    return copy as this;
  }

  onRound(round: SimulatedRound): void {
    const { ready, inputs, firstScripted, scriptIndex } = round;
    this.roundCount++;
    this.eventCount += ready.events.length;
    if (firstScripted < inputs.length) {
      // The engine answers commands in order, and the jobs of the trace are the commands in order.
      for (let reply = 0; reply < ready.replies.length; reply++)
        this.#onReply(ready.replies[reply]!, scriptIndex + reply);
    }
    for (const effect of ready.effects) {
      if (effect.kind === "launchGang") this.#onLaunch(effect);
    }
    for (const event of ready.events) this.#onEvent(event);
    this.used.set(ready.atMs - this.#startAtMs, this.#usedMilli / 1000);
    this.waiting.set(ready.atMs - this.#startAtMs, this.#waitingCount);
  }

  #onReply(reply: Reply, job: number): void {
    if (reply.kind === "accepted") {
      this.#waitingCount++;
      return;
    }
    if (reply.rejection.code !== "tooLarge") {
      throw new Error(`Job ${this.#jobs[job]?.id} was refused: ${JSON.stringify(reply.rejection)}`);
    }
    this.fate[job] = fates.rejected;
  }

  #onLaunch(launch: LaunchGang): void {
    const job = this.#jobOf(launch);
    this.#jobByAttempt.set(launch.attemptId, job);
    this.#usedMilli += this.#acceleratorMilli[job]!;
    this.#waitingCount--;
    this.attemptCount++;
  }

  #onEvent(event: Event): void {
    if (event.kind === "attemptStarted") {
      const job = this.#jobByAttempt.get(event.attemptId)!;
      if (this.firstStartedAtMs[job]! < 0) this.firstStartedAtMs[job] = event.atMs;
    } else if (event.kind === "attemptEnded") {
      const job = this.#jobByAttempt.take(event.attemptId)!;
      this.#usedMilli -= this.#acceleratorMilli[job]!;
      this.endedAtMs = event.atMs;
      if (event.retryAtMs !== null) {
        this.#waitingCount++;
        return;
      }
      this.fate[job] = event.outcome === "succeeded" ? fates.succeeded : fates.failed;
      this.jobEndedAtMs[job] = event.atMs;
    }
  }
}

function allMilli(jobs: readonly TraceJob[]): Float64Array {
  const milli = new Float64Array(jobs.length);
  for (let index = 0; index < jobs.length; index++) milli[index] = acceleratorMilliOf(jobs[index]!);
  return milli;
}
