/**
 * Reads what ended runs used, from the executors that measured it. A few runs are read at a time, each once; after a restart they are read
 * again from the files of the attempts.
 */
import { executorOf } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import type { AttemptUsage, Executor } from "@headroom/executors";
import type { AttemptId, EndedAttempt, ExecutorId } from "@headroom/model";
import type { NewestReport } from "@headroom/views";
import { within } from "../executors/within.ts";
import { runKey } from "./request-findings.ts";
import type { MeasuredRun } from "./request-findings.ts";

/** Runs in one look. An executor reads a file for each. */
const READ_AT_ONCE = 100;
/** An executor that answers later ends the look; the next one goes on. */
const USAGE_LIMIT_MS = 5_000;
const RUNS_KEPT = 20_000;
const RUNS_OF_A_NAME = 200;
/** Shorter runs are over before the first samples. */
const DURATION_MIN_MS = 60_000;

interface EndedRun {
  readonly key: string;
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

  get runs(): readonly MeasuredRun[] {
    return [...this.#runs.values()].filter((run) => run !== null);
  }

  async look({ read, executorOf: executorNamed, reportOf }: Parts): Promise<void> {
    const ended = await read((state) => this.#unread(state));
    for (const { key, attempt, executor } of ended) {
      const from = executorNamed(executor);
      const usage = from === undefined ? null : await within(USAGE_LIMIT_MS, () => from.usage(attempt.id));
      this.#keep(attempt.id, measuredRun(key, attempt, usage, reportOf(attempt.id)));
    }
  }

  /** Ended runs of names with work that has not ended. Other names need no advice. */
  #unread(state: ReadonlyState): readonly EndedRun[] {
    const wanted = new Set<string>();
    for (const { endedAtMs, spec } of state.workloads.values())
      if (endedAtMs === null && spec.kind !== "serve") wanted.add(runKey(spec));
    const found: EndedRun[] = [];
    const counts = new Map<string, number>();
    for (const { spec, endedAttempts } of state.workloads.values()) {
      const key = runKey(spec);
      if (!wanted.has(key)) continue;
      for (const attempt of endedAttempts) {
        const count = counts.get(key) ?? 0;
        if (attempt.outcome !== "succeeded" || count >= RUNS_OF_A_NAME) continue;
        counts.set(key, count + 1);
        const executor = this.#runs.has(attempt.id) ? null : executorOf(state, attempt);
        if (executor === null) continue;
        found.push({ key, attempt, executor });
        if (found.length === READ_AT_ONCE) return found;
      }
    }
    return found;
  }

  #keep(id: AttemptId, run: MeasuredRun | null): void {
    this.#runs.set(id, run);
    if (this.#runs.size <= RUNS_KEPT) return;
    const [oldest] = this.#runs.keys();
    if (oldest !== undefined) this.#runs.delete(oldest);
  }
}

/** `null`: a worker was not measured, or the run was too short. */
export function measuredRun(
  key: string,
  { workers, startedAtMs, endedAtMs }: Pick<EndedAttempt, "workers" | "startedAtMs" | "endedAtMs">,
  usage: AttemptUsage | null,
  report: Pick<NewestReport, "utilization"> | undefined,
): MeasuredRun | null {
  const durationMs = endedAtMs - (startedAtMs ?? endedAtMs);
  if (usage === null || usage.workers.length !== workers.length || durationMs < DURATION_MIN_MS) return null;
  if (usage.workers.some(({ peakRssMib }) => peakRssMib === 0)) return null;
  const most = (amounts: readonly number[]): number => amounts.reduce((left, right) => Math.max(left, right), 0);
  return {
    key,
    workers: workers.length,
    peakMemoryMib: most(usage.workers.map(({ peakRssMib }) => peakRssMib)),
    coresMilli: Math.ceil(most(usage.workers.map(({ cpuMs }) => cpuMs)) / (durationMs / 1000)),
    mostBusyAccelerators: report?.utilization?.mostBusyAccelerators ?? null,
  };
}
