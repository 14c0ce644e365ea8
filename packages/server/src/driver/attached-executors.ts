/** The executors that the driver sends effects to and takes reports from. Declared ones join and leave while it runs. */
import { executorOf } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import type { Effect, ExecutorId, Observation, Signal } from "@headroom/model";
import type { Executor, ExecutorInput } from "@headroom/executors";
import type { DriverLog } from "./driver-log.ts";
import { isSafeEffect } from "./safe-mode.ts";
import type { TelemetrySink } from "./signal-gate.ts";

interface AttachedParts {
  readonly telemetry: TelemetrySink;
  readonly log: DriverLog;
  readonly isSafe: boolean;
  state(): ReadonlyState;
  observe(input: Observation | Signal): Promise<void> | undefined;
}

export class AttachedExecutors {
  readonly #parts: AttachedParts;
  readonly #byId: Map<ExecutorId, Executor>;

  /** `executors`: attached from the start; their reports are taken in from `watch` on. */
  constructor(executors: readonly Executor[], parts: AttachedParts) {
    this.#parts = parts;
    this.#byId = new Map(executors.map((executor) => [executor.id, executor]));
  }

  /** Takes in the reports of an executor while it is attached. */
  watch(executor: Executor): void {
    const { telemetry, state, observe } = this.#parts;
    executor.watch((input) => {
      const isMeasured = input.kind === "utilizationReported" && telemetry.isMeasured?.(input.attemptId);
      if (isMeasured === true || !speaksFor(state(), executor, input)) return undefined;
      return this.#byId.get(executor.id) === executor ? observe(input) : undefined;
    });
  }

  attach(executor: Executor): void {
    this.#byId.set(executor.id, executor);
    this.watch(executor);
  }

  detach(id: ExecutorId): void {
    this.#byId.delete(id);
  }

  perform(effects: readonly Effect[]): void {
    const { isSafe, log, state, observe } = this.#parts;
    for (const effect of effects) {
      if (isSafe && !isSafeEffect(effect)) continue;
      const executor = this.#byId.get(effect.executor);
      if (executor !== undefined) {
        executor.perform(effect);
        continue;
      }
      // A registered executor that is not attached is unreachable or removed. Its effects are repeated when it is attached.
      if (state().executors.has(effect.executor)) continue;
      const detail = `this control plane has no executor "${effect.executor}"`;
      log.warn(`${effect.kind} of ${effect.attemptId}: ${detail}`);
      // The driver cannot wait for its own inbox. There is one loss for each attempt: the engine requests nothing more
      // of the attempt before it has decided the loss.
      void observe({ kind: "attemptLost", attemptId: effect.attemptId, detail });
    }
  }
}

/**
 * False for an executor's report about an attempt of another executor, for example after a repair by hand: the report
 * must not end that attempt.
 */
function speaksFor(state: ReadonlyState, { id }: Executor, input: ExecutorInput): boolean {
  const attempt = "attemptId" in input ? state.attempts.get(input.attemptId) : undefined;
  return attempt === undefined || (executorOf(state, attempt) ?? id) === id;
}
