/** Records everything that an executor reports, in order, and lets a test wait for a report. */
import type { AttemptId, WorkerExit } from "@headroom/model";
import type { Executor, ExecutorInput } from "../executor.ts";

export type AttemptEnd = Extract<ExecutorInput, { kind: "attemptExited" | "attemptLost" }>;

interface Waiter {
  readonly isMet: () => boolean;
  readonly resolve: () => void;
}

export class Observer {
  readonly inputs: ExecutorInput[] = [];
  readonly #waiters = new Set<Waiter>();

  constructor(executor: Executor) {
    executor.watch((input) => {
      this.inputs.push(input);
      for (const waiter of this.#waiters) {
        if (!waiter.isMet()) continue;
        this.#waiters.delete(waiter);
        waiter.resolve();
      }
    });
  }

  /** Reports about one attempt so far. */
  of(attemptId: AttemptId): ExecutorInput[] {
    return this.inputs.filter((input) => "attemptId" in input && input.attemptId === attemptId);
  }

  async running(attemptId: AttemptId): Promise<void> {
    await this.until(() => this.of(attemptId).some(({ kind }) => kind === "attemptRunning"));
  }

  async end(attemptId: AttemptId): Promise<AttemptEnd> {
    const find = (): AttemptEnd | undefined => this.of(attemptId).find(isEnd);
    await this.until(() => find() !== undefined);
    return find() ?? fail(attemptId);
  }

  /** Exit status of each worker of an attempt. The attempt must end by itself or by a stop, and must not be lost. */
  async exits(attemptId: AttemptId): Promise<readonly WorkerExit[]> {
    const end = await this.end(attemptId);
    if (end.kind === "attemptLost") throw new Error(`attempt ${attemptId} was lost: ${end.detail}`);
    return end.exits;
  }

  until(isMet: () => boolean): Promise<void> {
    if (isMet()) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.add({ isMet, resolve }));
  }
}

function isEnd(input: ExecutorInput): input is AttemptEnd {
  return input.kind === "attemptExited" || input.kind === "attemptLost";
}

function fail(attemptId: AttemptId): never {
  throw new Error(`attempt ${attemptId} has no end`);
}
