/**
 * Demand that waits, from the journal: accelerators that tasks wait for, from submission to the first placement, and from the end of
 * an attempt that is retried to the next one. Held work does not count, and work with unmet dependencies counts from its placement on.
 */
import { DAY_MS, dayOf, milliOf, submittedTaskCount, wholeParts } from "@headroom/model";
import type { Event } from "@headroom/model";
import type { BillingRange } from "../bill/charges.ts";

interface Waiting {
  readonly team: string;
  readonly accelerators: number;
  /** Most tasks that run at once by the request; the others do not wait for capacity. */
  readonly tasksAtOnce: number;
  readonly submittedAtMs: number;
  /** Tasks without an attempt. */
  pendingCount: number;
  failedCount: number;
  sinceMs: number;
  isHeld: boolean;
  isBlocked: boolean;
}

/** Accelerator-hours that a team waited for. */
export interface TeamWait {
  readonly team: string;
  readonly acceleratorHours: number;
}

export interface WaitSummary {
  /** The largest first. */
  readonly byTeam: readonly TeamWait[];
  readonly startedCount: number;
  readonly meanWaitMs: number;
  /** Upper bound of the wait of 95% of the tasks that started. */
  readonly p95WaitMs: number;
}

const HOUR_MS = 3_600_000;
/** Buckets of waits for each doubling. */
const BUCKETS = 8;

export class WaitingFold {
  readonly #range: BillingRange;
  readonly #work = new Map<string, Waiting>();
  readonly #workloadOfAttempt = new Map<string, string>();
  /** Accelerator-hours by day and team. */
  readonly #hours = new Map<number, Map<string, number>>();
  readonly #waits = new Map<number, number>();
  #startedCount = 0;
  #waitMs = 0;

  /** `range`: the time in which starts are counted. */
  constructor(range: BillingRange) {
    this.#range = range;
  }

  fold(event: Event): void {
    switch (event.kind) {
      case "workloadSubmitted": {
        const { spec, workloadId, waitsFor = [], atMs } = event;
        const perTask = wholeParts(spec.gang).map(
          ({ shape, workers }) => (workers * shape.accelerators * milliOf(shape)) / 1_000,
        );
        this.#work.set(workloadId, {
          team: spec.team,
          accelerators: perTask.reduce((sum, each) => sum + each, 0),
          tasksAtOnce: spec.kind === "batch" ? (spec.tasksAtOnce ?? spec.taskCount) : submittedTaskCount(spec),
          submittedAtMs: atMs,
          pendingCount: submittedTaskCount(spec),
          failedCount: 0,
          sinceMs: atMs,
          isHeld: false,
          isBlocked: waitsFor.length > 0,
        });
        return;
      }
      case "workloadHeld":
      case "workloadReleased":
        this.#change(event.workloadId, event.atMs, (work) => (work.isHeld = event.kind === "workloadHeld"));
        return;
      case "workloadRerun":
        this.#change(event.workloadId, event.atMs, (work) => {
          work.pendingCount = Math.max(1, work.failedCount);
          work.failedCount = 0;
        });
        return;
      case "workloadEnded":
        this.#change(event.workloadId, event.atMs, (work) => (work.pendingCount = 0));
        return;
      case "gangPlaced":
        this.#place(event);
        return;
      case "attemptEnded": {
        const workloadId = this.#workloadOfAttempt.get(event.attemptId);
        this.#workloadOfAttempt.delete(event.attemptId);
        if (workloadId === undefined) return;
        this.#change(workloadId, event.atMs, (work) => {
          if (event.retryAtMs !== null) work.pendingCount += 1;
          else if (event.outcome !== "succeeded") work.failedCount += 1;
        });
        return;
      }
      default:
    }
  }

  #place({ attemptId, workloadId, number, atMs }: Extract<Event, { kind: "gangPlaced" }>): void {
    this.#workloadOfAttempt.set(attemptId, workloadId);
    const work = this.#work.get(workloadId);
    const { fromMs, toMs } = this.#range;
    if (work !== undefined && number === 1 && atMs >= fromMs && atMs < toMs) {
      const waitMs = work.isBlocked ? 0 : atMs - work.submittedAtMs;
      const bucket = Math.ceil(BUCKETS * Math.log2(1 + waitMs));
      this.#waits.set(bucket, (this.#waits.get(bucket) ?? 0) + 1);
      this.#startedCount += 1;
      this.#waitMs += waitMs;
    }
    this.#change(workloadId, atMs, (changed) => {
      changed.pendingCount = Math.max(0, changed.pendingCount - 1);
      changed.isBlocked = false;
    });
  }

  #change(workloadId: string, atMs: number, change: (work: Waiting) => unknown): void {
    const work = this.#work.get(workloadId);
    if (work === undefined) return;
    this.#settle(work, atMs);
    change(work);
  }

  /** Counts the time up to an instant. */
  #settle(work: Waiting, atMs: number): void {
    const { sinceMs, team } = work;
    work.sinceMs = atMs;
    const amount =
      work.isHeld || work.isBlocked ? 0 : Math.min(work.pendingCount, work.tasksAtOnce) * work.accelerators;
    if (amount === 0) return;
    for (let day = dayOf(sinceMs) * DAY_MS; day < atMs; day += DAY_MS) {
      const ms = Math.min(atMs, day + DAY_MS) - Math.max(sinceMs, day);
      const hours = (amount * ms) / HOUR_MS;
      let teams = this.#hours.get(day);
      if (teams === undefined) this.#hours.set(day, (teams = new Map<string, number>()));
      teams.set(team, (teams.get(team) ?? 0) + hours);
    }
  }

  /** Ends the count. Nothing is folded afterwards. */
  end(atMs: number): void {
    for (const work of this.#work.values()) if (work.sinceMs < atMs) this.#settle(work, atMs);
  }

  /** Accelerator-hours by day. */
  hoursByDay(): ReadonlyMap<number, number> {
    return new Map([...this.#hours].map(([day, teams]) => [day, [...teams.values()].reduce((a, b) => a + b, 0)]));
  }

  /** Waits of the days that begin in the range, the largest first. */
  byTeam({ fromMs, toMs }: BillingRange): readonly TeamWait[] {
    const sums = new Map<string, number>();
    for (const [day, teams] of this.#hours)
      if (day >= fromMs && day < toMs) for (const [team, hours] of teams) sums.set(team, (sums.get(team) ?? 0) + hours);
    return [...sums]
      .map(([team, acceleratorHours]) => ({ team, acceleratorHours }))
      .toSorted((a, b) => b.acceleratorHours - a.acceleratorHours || (a.team < b.team ? -1 : 1));
  }

  summary(): WaitSummary {
    return {
      byTeam: this.byTeam(this.#range),
      startedCount: this.#startedCount,
      meanWaitMs: this.#startedCount === 0 ? 0 : Math.round(this.#waitMs / this.#startedCount),
      p95WaitMs: this.#p95(),
    };
  }

  #p95(): number {
    let left = Math.ceil(0.95 * this.#startedCount);
    for (const [bucket, count] of [...this.#waits].toSorted(([a], [b]) => a - b)) {
      left -= count;
      if (left <= 0) return Math.max(0, Math.round(2 ** (bucket / BUCKETS) - 1));
    }
    return 0;
  }
}
