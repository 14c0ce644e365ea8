/**
 * Checks the lifecycle of every attempt from the events: it is placed, started at most once, stopped at most once,
 * ended once, and then never mentioned again. Also checks that no attempt exceeds its walltime, and that no retry
 * starts before its back-off is over or after the last allowed attempt.
 */
import type { AttemptId, Event, Nomination, WorkloadId, WorkloadSpec } from "@headroom/model";
import type { SimulatedRound } from "../run/simulation.ts";
import { mustHold } from "./violation.ts";

interface Life {
  readonly workloadId: WorkloadId;
  readonly task: number;
  readonly number: number;
  startedAtMs: number | null;
  stopping: boolean;
  /**
   * Instant until which the attempt can write a checkpoint before its executor gets the stop request; `null`: no
   * checkpoint was requested.
   */
  savesUntilMs: number | null;
}

interface TaskLedger {
  attempts: number;
  ownFailures: number;
  isActive: boolean;
  notBeforeMs: number;
  isOver: boolean;
}

export class AttemptLives {
  readonly #active = new Map<AttemptId, Life>();
  readonly #ended = new Set<AttemptId>();
  /** Tasks with a nomination. A nomination has already used up the attempt number. */
  readonly #nominated = new Map<AttemptId, Nomination>();
  readonly #tasks = new Map<string, TaskLedger>();
  readonly #endedWorkloads = new Set<WorkloadId>();
  /** Workloads whose stop was requested. The state after a round does not tell whether an end came before the request. */
  readonly #stopped = new Set<WorkloadId>();

  onRound(round: SimulatedRound): void {
    const { ready, engine } = round;
    for (const event of ready.events) this.#onEvent(round, event);
    for (const [attemptId, life] of this.#active) {
      const walltimeMs = engine.state.workloads.get(life.workloadId)?.spec.walltimeMs ?? null;
      mustHold(
        life.savesUntilMs === null || life.savesUntilMs > ready.atMs,
        () => `attempt ${attemptId} had until ${life.savesUntilMs} to write a checkpoint, and was not stopped then`,
      );
      const isStopped = life.stopping && life.savesUntilMs === null;
      if (life.startedAtMs === null || walltimeMs === null || isStopped) continue;
      const overMs = ready.atMs - life.startedAtMs - walltimeMs;
      mustHold(
        overMs < 0,
        () => `attempt ${attemptId} has run for its walltime and ${overMs} ms more, and was not stopped`,
      );
    }
    mustHold(
      this.#active.size === engine.state.attempts.size,
      () => "the active attempts in the events and in the state differ",
    );
  }

  fork(): AttemptLives {
    const copy = new AttemptLives();
    for (const [attemptId, life] of this.#active) copy.#active.set(attemptId, { ...life });
    for (const [task, ledger] of this.#tasks) copy.#tasks.set(task, { ...ledger });
    for (const attemptId of this.#ended) copy.#ended.add(attemptId);
    for (const [attemptId, nomination] of this.#nominated) copy.#nominated.set(attemptId, nomination);
    for (const workloadId of this.#endedWorkloads) copy.#endedWorkloads.add(workloadId);
    for (const workloadId of this.#stopped) copy.#stopped.add(workloadId);
    return copy;
  }

  #onEvent(round: SimulatedRound, event: Event): void {
    switch (event.kind) {
      case "gangPlaced":
        return this.#place(event);
      case "placementNominated":
        return this.#nomination(event);
      case "nominationWithdrawn":
        return this.#withdraw(event.attemptId);
      case "attemptStarted": {
        const life = this.#lifeOf(event.attemptId);
        mustHold(life.startedAtMs === null, () => `${event.attemptId} started twice`);
        life.startedAtMs = event.atMs;
        return;
      }
      case "attemptStopRequested": {
        const life = this.#lifeOf(event.attemptId);
        mustHold(!life.stopping, () => `attempt ${event.attemptId} was stopped twice`);
        life.stopping = true;
        return;
      }
      case "checkpointRequested": {
        const life = this.#lifeOf(event.attemptId);
        mustHold(
          life.stopping,
          () => `a checkpoint was requested of attempt ${event.attemptId}, but no stop was planned`,
        );
        mustHold(
          life.startedAtMs !== null,
          () => `a checkpoint was requested of attempt ${event.attemptId} before it started`,
        );
        life.savesUntilMs = event.untilMs;
        return;
      }
      case "checkpointWaitEnded": {
        const life = this.#lifeOf(event.attemptId);
        mustHold(life.savesUntilMs !== null, () => `no checkpoint of attempt ${event.attemptId} was awaited`);
        life.savesUntilMs = null;
        return;
      }
      case "attemptEnded":
        return this.#end(round, event);
      case "endpointScaled":
        for (const task of event.due ?? []) this.#ledgerOf(event.workloadId, task).notBeforeMs = event.atMs;
        return;
      case "workloadStopRequested":
        this.#stopped.add(event.workloadId);
        return;
      case "workloadRerun":
        return this.#rerun(event.workloadId);
      case "workloadEnded":
        mustHold(!this.#endedWorkloads.has(event.workloadId), () => `${event.workloadId} ended twice`);
        this.#endedWorkloads.add(event.workloadId);
        return;
      default:
    }
  }

  #place(event: Event & { readonly kind: "gangPlaced" }): void {
    const { attemptId, workloadId, task, number } = event;
    mustHold(
      !this.#ended.has(attemptId) && !this.#active.has(attemptId),
      () => `attempt ${attemptId} was placed twice`,
    );
    mustHold(
      !this.#endedWorkloads.has(workloadId),
      () => `attempt ${attemptId} was placed after ${workloadId} had ended`,
    );
    const ledger = this.#ledgerOf(workloadId, task);
    mustHold(
      !ledger.isActive && !ledger.isOver,
      () => `task ${task} of ${workloadId} was placed although it must not run (again)`,
    );
    if (!this.#nominated.delete(attemptId)) this.#count(ledger, event);
    const isDue = (event.launchAtMs ?? event.atMs) >= ledger.notBeforeMs;
    mustHold(isDue, () => `${attemptId} was placed ${ledger.notBeforeMs - event.atMs} ms before its back-off was over`);
    ledger.isActive = true;
    this.#active.set(attemptId, { workloadId, task, number, startedAtMs: null, stopping: false, savesUntilMs: null });
  }

  /** The failures of the tasks are counted from zero again after a rerun; attempt numbers continue. */
  #rerun(workloadId: WorkloadId): void {
    this.#stopped.delete(workloadId);
    mustHold(this.#endedWorkloads.delete(workloadId), () => `${workloadId} was rerun before it had ended`);
    for (const [key, ledger] of this.#tasks)
      if (key.startsWith(`${workloadId} `)) Object.assign(ledger, { ownFailures: 0, notBeforeMs: 0, isOver: false });
  }

  /**
   * A withdrawn nomination gives its attempt number back only if the task migrates and its attempt in the old place has
   * not ended.
   */
  #withdraw(attemptId: AttemptId): void {
    const nomination = this.#nominated.get(attemptId);
    this.#nominated.delete(attemptId);
    if (nomination?.afterAttempt !== undefined && this.#active.has(nomination.afterAttempt))
      this.#ledgerOf(nomination.workloadId, nomination.task).attempts--;
  }

  /** A nomination uses up an attempt number. */
  #nomination({ nomination }: Event & { readonly kind: "placementNominated" }): void {
    if (nomination.growth) return;
    this.#count(this.#ledgerOf(nomination.workloadId, nomination.task), nomination);
    this.#nominated.set(nomination.attemptId, nomination);
  }

  #count(ledger: TaskLedger, { attemptId, number }: { readonly attemptId: AttemptId; readonly number: number }): void {
    mustHold(
      number === ++ledger.attempts,
      () => `${attemptId} is attempt ${ledger.attempts} of its task and says ${number}`,
    );
  }

  #end(round: SimulatedRound, event: Event & { readonly kind: "attemptEnded" }): void {
    const { attemptId, outcome, retryAtMs, atMs } = event;
    const life = this.#lifeOf(attemptId);
    const workload = round.engine.state.workloads.get(life.workloadId);
    const ledger = this.#ledgerOf(life.workloadId, life.task);
    this.#active.delete(attemptId);
    this.#ended.add(attemptId);
    ledger.isActive = false;
    ledger.isOver = retryAtMs === null;
    ledger.notBeforeMs = retryAtMs ?? Number.POSITIVE_INFINITY;
    if (outcome === "failed") ledger.ownFailures++;
    mustHold(retryAtMs === null || retryAtMs >= atMs, () => `${attemptId} is to be retried before it ended`);
    const isReplica = workload?.spec.kind === "serve";
    mustHold(
      outcome !== "succeeded" || retryAtMs === null || isReplica,
      () => `${attemptId} succeeded and is to be tried again`,
    );
    mustHold(outcome !== "stopped" || life.stopping, () => `${attemptId} was stopped and nobody asked for it`);
    if (workload === undefined) return;
    if (isReplica) return mustRestart(this.#stopped.has(life.workloadId), event);
    const { retries } = workload.spec;
    const isSpent = ledger.ownFailures > retries.max;
    mustHold(
      !isSpent || retryAtMs === null,
      () => `${attemptId}: ${ledger.ownFailures} failures, ${retries.max} retries, and another is to come`,
    );
    if (outcome === "failed" && !isSpent && !workload.stopRequested) {
      const waitMs = backoffMs(workload.spec, ledger.ownFailures);
      mustHold(
        retryAtMs === atMs + waitMs,
        () => `${attemptId} is to be retried at ${retryAtMs}, not ${waitMs} ms after ${atMs}`,
      );
    }
  }

  #lifeOf(attemptId: AttemptId): Life {
    const life = this.#active.get(attemptId);
    mustHold(
      life !== undefined,
      () => `${attemptId} is not active${this.#ended.has(attemptId) ? ": it has ended" : ""}`,
    );
    return life;
  }

  #ledgerOf(workloadId: WorkloadId, task: number): TaskLedger {
    const key = `${workloadId} ${task}`;
    let ledger = this.#tasks.get(key);
    if (ledger === undefined) {
      ledger = { attempts: 0, ownFailures: 0, isActive: false, notBeforeMs: 0, isOver: false };
      this.#tasks.set(key, ledger);
    }
    return ledger;
  }
}

function backoffMs({ retries }: WorkloadSpec, failures: number): number {
  let waitMs = retries.backoffMs;
  for (let failure = 1; failure < failures; failure++) waitMs = Math.min(2 * waitMs, retries.backoffMaxMs);
  return Math.min(waitMs, retries.backoffMaxMs);
}

/** A replica starts again until its endpoint is stopped, and after an end of its own not at once. */
function mustRestart(stopRequested: boolean, event: Event & { readonly kind: "attemptEnded" }): void {
  const { attemptId, outcome, retryAtMs, atMs } = event;
  mustHold(
    stopRequested === (retryAtMs === null),
    () => `${attemptId} is a replica and ${retryAtMs === null ? "does not start" : "starts"} again`,
  );
  mustHold(
    retryAtMs === null || outcome === "stopped" || retryAtMs >= atMs + 1_000,
    () => `${attemptId} is a replica and starts again at once`,
  );
}
