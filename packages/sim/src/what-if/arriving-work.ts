/** Submits recurring work during a timeline, and counts how long it waits. */
import type { Input, Reply, Workload, WorkloadId } from "@headroom/model";
import type { PlayoutArrivals } from "../playout/playout.ts";
import type { RecurringSubmission } from "./recurring-arrivals.ts";

export interface ArrivedWork {
  readonly count: number;
  readonly startedCount: number;
  /** Mean time from submission to the first start, or to the end of the timeline; 0 without arrivals. */
  readonly meanWaitMs: number;
}

interface Arrived {
  readonly original: Workload;
  readonly atMs: number;
  startedAtMs: number | null;
}

export class ArrivingWork implements PlayoutArrivals {
  readonly #arrivals: readonly RecurringSubmission[];
  readonly #sent = new Map<string, RecurringSubmission>();
  readonly #arrived = new Map<WorkloadId, Arrived>();
  #next = 0;

  constructor(arrivals: readonly RecurringSubmission[]) {
    this.#arrivals = arrivals;
  }

  get nextAtMs(): number {
    return this.#arrivals[this.#next]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  take(): Input {
    const arrival = this.#arrivals[this.#next++]!;
    const { commandId, spec, original } = arrival;
    this.#sent.set(commandId, arrival);
    return { kind: "submitWorkload", commandId, actor: original.actor, idempotencyKey: null, spec };
  }

  /** Returns whether the reply answers one of the submissions. */
  answered(reply: Reply): boolean {
    const arrival = this.#sent.get(reply.commandId);
    if (arrival === undefined) return false;
    this.#sent.delete(reply.commandId);
    if (reply.kind === "accepted" && reply.result.kind === "workloadSubmitted")
      this.#arrived.set(reply.result.workloadId, {
        original: arrival.original,
        atMs: arrival.atMs,
        startedAtMs: null,
      });
    return true;
  }

  /** The recorded submission that this workload repeats; `null`: the workload is none of the arrivals. */
  originalOf(workloadId: WorkloadId): Workload | null {
    return this.#arrived.get(workloadId)?.original ?? null;
  }

  launched(workloadId: WorkloadId, atMs: number): void {
    const arrived = this.#arrived.get(workloadId);
    if (arrived !== undefined) arrived.startedAtMs ??= atMs;
  }

  figures(endMs: number): ArrivedWork {
    let startedCount = 0;
    let waitedMs = 0;
    for (const { atMs, startedAtMs } of this.#arrived.values()) {
      if (startedAtMs !== null) startedCount++;
      waitedMs += (startedAtMs ?? endMs) - atMs;
    }
    const count = this.#arrived.size;
    return { count, startedCount, meanWaitMs: count === 0 ? 0 : Math.round(waitedMs / count) };
  }
}
