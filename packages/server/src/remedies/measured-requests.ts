/**
 * Reads what the newest ended runs used, from the executors that measured it. A few runs are read at a time, each once; after a restart
 * they are read again from the files of the attempts.
 */
import { executorOf } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import type { AttemptUsage, Executor } from "@headroom/executors";
import type { AttemptId, EndedAttempt, ExecutorId, WorkloadSpec } from "@headroom/model";
import type { NewestReport } from "@headroom/views";
import { within } from "../executors/within.ts";
import { runKey } from "./request-findings.ts";
import type { MeasuredRun } from "./request-findings.ts";

/** Runs in one look. An executor reads a file for each. */
const READ_AT_ONCE = 100;
const USAGE_LIMIT_MS = 5_000;
/** An executor is left in peace until the next look after so many errors in a row. */
const ERRORS_MAX = 3;
/** A run without an answer is asked about in so many looks. */
const TRIES_MAX = 3;
const RUNS_KEPT = 20_000;
/** The newest ones: what older runs used says nothing of work that has grown. */
const RUNS_OF_A_NAME = 200;
/** Shorter runs are over before the first samples. */
const DURATION_MIN_MS = 60_000;

interface EndedRun {
  readonly spec: WorkloadSpec;
  readonly attempt: EndedAttempt;
  readonly executor: ExecutorId;
}

interface Parts {
  read<Answer>(ask: (state: ReadonlyState) => Answer): Promise<Answer>;
  executorOf(id: ExecutorId): Pick<Executor, "usage"> | undefined;
  reportOf(id: AttemptId): NewestReport | undefined;
}

export class MeasuredRequests {
  /** By attempt; `null`: it was not measured completely. The one that was read first is forgotten first. */
  readonly #runs = new Map<AttemptId, MeasuredRun | null>();
  /** Numbers of calls that had no answer, by attempt. */
  readonly #tries = new Map<AttemptId, number>();
  #newest: ReadonlySet<AttemptId> = new Set();

  /** Those of the newest runs of each name. */
  get runs(): readonly MeasuredRun[] {
    return [...this.#newest].flatMap((id) => this.#runs.get(id) ?? []);
  }

  /** Reads further runs until `closing` is aborted. An attempt or executor that fails does not stop the others. */
  async look({ read, executorOf: executorNamed, reportOf }: Parts, closing: AbortSignal): Promise<void> {
    const errors = new Map<ExecutorId, number>();
    for (const { spec, attempt, executor } of await read((state) => this.#unread(state))) {
      if (closing.aborted) return;
      const from = executorNamed(executor);
      const errorCount = errors.get(executor) ?? 0;
      if (from === undefined || errorCount >= ERRORS_MAX) continue;
      try {
        const usage = await within(USAGE_LIMIT_MS, () => from.usage(attempt.id));
        errors.delete(executor);
        if (usage === null) this.#tryAgain(attempt.id);
        else this.#keep(attempt.id, measuredRun(spec, attempt, usage, reportOf(attempt.id)));
      } catch {
        errors.set(executor, errorCount + 1);
        this.#tryAgain(attempt.id);
      }
    }
  }

  #tryAgain(id: AttemptId): void {
    const count = (this.#tries.get(id) ?? 0) + 1;
    this.#tries.set(id, count);
    if (count >= TRIES_MAX) this.#keep(id, null);
  }

  /** Ended runs of names with work that has not ended, the newest first. Other names need no advice. */
  #unread(state: ReadonlyState): readonly EndedRun[] {
    const wanted = new Map<string, Omit<EndedRun, "executor">[]>();
    for (const { endedAtMs, spec } of state.workloads.values())
      if (endedAtMs === null && spec.kind !== "serve") wanted.set(runKey(spec), []);
    for (const { spec, endedAttempts } of wanted.size === 0 ? [] : state.workloads.values()) {
      const runs = wanted.get(runKey(spec));
      for (const attempt of endedAttempts) if (attempt.outcome === "succeeded") runs?.push({ spec, attempt });
    }
    const newest = [...wanted.values()].flatMap((runs) =>
      runs.toSorted((left, right) => right.attempt.endedAtMs - left.attempt.endedAtMs).slice(0, RUNS_OF_A_NAME),
    );
    this.#newest = new Set(newest.map(({ attempt }) => attempt.id));
    for (const id of this.#tries.keys()) if (!this.#newest.has(id)) this.#tries.delete(id);
    const found: EndedRun[] = [];
    // Runs that had no answer come last.
    const order = newest.toSorted((left, right) => this.#triesOf(left) - this.#triesOf(right));
    for (const run of order) {
      const executor = this.#runs.has(run.attempt.id) ? null : executorOf(state, run.attempt);
      if (executor !== null) found.push({ ...run, executor });
      if (found.length === READ_AT_ONCE) break;
    }
    return found;
  }

  #triesOf({ attempt }: Pick<EndedRun, "attempt">): number {
    return this.#tries.get(attempt.id) ?? 0;
  }

  #keep(id: AttemptId, run: MeasuredRun | null): void {
    this.#tries.delete(id);
    this.#runs.set(id, run);
    if (this.#runs.size <= RUNS_KEPT) return;
    const [oldest] = this.#runs.keys();
    if (oldest !== undefined) this.#runs.delete(oldest);
  }
}

/** `null`: a worker was not measured, or the run was too short. */
export function measuredRun(
  spec: WorkloadSpec,
  { workers, startedAtMs, endedAtMs }: Pick<EndedAttempt, "workers" | "startedAtMs" | "endedAtMs">,
  usage: AttemptUsage,
  report: Pick<NewestReport, "utilization"> | undefined,
): MeasuredRun | null {
  const durationMs = endedAtMs - (startedAtMs ?? endedAtMs);
  if (usage.workers.length !== workers.length || durationMs < DURATION_MIN_MS) return null;
  if (usage.workers.some(({ peakRssMib }) => peakRssMib === 0)) return null;
  const { memoryMib, coresMilli, accelerators } = spec.gang;
  const most = (amounts: readonly number[]): number => amounts.reduce((left, right) => Math.max(left, right), 0);
  return {
    key: runKey(spec),
    workers: workers.length,
    requested: { memoryMib, coresMilli, accelerators },
    peakMemoryMib: most(usage.workers.map(({ peakRssMib }) => peakRssMib)),
    coresMilli: Math.ceil(most(usage.workers.map(({ cpuMs }) => cpuMs)) / (durationMs / 1000)),
    mostBusyAccelerators: report?.utilization?.mostBusyAccelerators ?? null,
  };
}
