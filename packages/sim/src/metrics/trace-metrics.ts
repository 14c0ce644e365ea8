/**
 * The books of a simulated trace: when each job was submitted, first started and ended, and how full the fleet was. All of
 * it is read from the engine's events, so the same observer could follow a live journal.
 */
import type { AttemptId, Event, Reply, WorkloadId } from "@headroom/engine";
import type { SimulatedRound, SimulationObserver } from "../run/simulation.ts";
import type { TraceJob } from "../trace/trace.ts";
import { BoundedSeries } from "./series.ts";

/** What has become of a job; the values of `TraceMetrics.fate`. */
export const fates = { pending: 0, rejected: 1, succeeded: 2, failed: 3 } as const;

export class TraceMetrics implements SimulationObserver {
  readonly #jobs: readonly TraceJob[];
  readonly #startAtMs: number;
  readonly #jobByWorkload = new Map<WorkloadId, number>();
  readonly #jobByAttempt = new Map<AttemptId, number>();
  #usedCount = 0;
  #waitingCount = 0;
  eventCount = 0;
  roundCount = 0;
  attemptCount = 0;
  endedAtMs: number;
  readonly fate: Uint8Array;
  /** By job; -1 until it happens. Of a job with several attempts, when the first of them ran. */
  readonly firstStartedAtMs: Float64Array;
  readonly jobEndedAtMs: Float64Array;
  readonly used: BoundedSeries;
  readonly waiting: BoundedSeries;

  constructor(jobs: readonly TraceJob[], startAtMs: number, from?: TraceMetrics) {
    this.#jobs = jobs;
    this.#startAtMs = startAtMs;
    this.endedAtMs = from?.endedAtMs ?? startAtMs;
    this.fate = from?.fate.slice() ?? new Uint8Array(jobs.length);
    this.firstStartedAtMs = from?.firstStartedAtMs.slice() ?? new Float64Array(jobs.length).fill(-1);
    this.jobEndedAtMs = from?.jobEndedAtMs.slice() ?? new Float64Array(jobs.length).fill(-1);
    this.used = from?.used.fork() ?? new BoundedSeries();
    this.waiting = from?.waiting.fork() ?? new BoundedSeries();
  }

  fork(): this {
    const copy = new TraceMetrics(this.#jobs, this.#startAtMs, this);
    for (const [workloadId, job] of this.#jobByWorkload) copy.#jobByWorkload.set(workloadId, job);
    for (const [attemptId, job] of this.#jobByAttempt) copy.#jobByAttempt.set(attemptId, job);
    copy.#usedCount = this.#usedCount;
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
      for (let reply = 0; reply < ready.replies.length; reply++)
        this.#onReply(ready.replies[reply]!, scriptIndex + reply);
    }
    for (const event of ready.events) this.#onEvent(event);
    const atMs = ready.atMs - this.#startAtMs;
    this.used.set(atMs, this.#usedCount);
    this.waiting.set(atMs, this.#waitingCount);
  }

  /** The engine answers commands in their order, and the commands of a trace are its jobs in their order. */
  #onReply(reply: Reply, job: number): void {
    if (reply.kind === "rejected") {
      if (reply.rejection.code !== "tooLarge") {
        throw new Error(`Job ${this.#jobs[job]?.id} was refused: ${JSON.stringify(reply.rejection)}`);
      }
      this.fate[job] = fates.rejected;
    } else if (reply.result.kind === "workloadSubmitted") {
      this.#jobByWorkload.set(reply.result.workloadId, job);
      this.#waitingCount++;
    }
  }

  #onEvent(event: Event): void {
    switch (event.kind) {
      case "gangPlaced": {
        const job = this.#jobByWorkload.get(event.workloadId)!;
        this.#jobByAttempt.set(event.attemptId, job);
        this.#usedCount += this.#jobs[job]!.accelerators;
        this.#waitingCount--;
        this.attemptCount++;
        return;
      }
      case "attemptStarted": {
        const job = this.#jobByAttempt.get(event.attemptId)!;
        if (this.firstStartedAtMs[job]! < 0) this.firstStartedAtMs[job] = event.atMs;
        return;
      }
      case "attemptEnded": {
        const job = this.#jobByAttempt.get(event.attemptId)!;
        this.#jobByAttempt.delete(event.attemptId);
        this.#usedCount -= this.#jobs[job]!.accelerators;
        if (event.retryAtMs !== null) this.#waitingCount++;
        this.endedAtMs = event.atMs;
        return;
      }
      case "workloadEnded": {
        const job = this.#jobByWorkload.get(event.workloadId)!;
        this.#jobByWorkload.delete(event.workloadId);
        this.fate[job] = event.phase === "succeeded" ? fates.succeeded : fates.failed;
        this.jobEndedAtMs[job] = event.atMs;
        return;
      }
      default:
    }
  }
}
