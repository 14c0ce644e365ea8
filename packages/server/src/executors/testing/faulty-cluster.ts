/**
 * A cluster for tests that outlives control planes: it keeps what was launched and stopped, and its executor answers as
 * the test says. Registered as the executor type `faulty`.
 */
import { executorType } from "@headroom/executors";
import type { Executor, ExecutorListener, ExecutorType, Inventory, KnownAttempt, LogChunk } from "@headroom/executors";
import { nodeId, poolName, siteName } from "@headroom/model";
import type { AttemptId, Effect, WorkerExit } from "@headroom/model";
import { OperationalError } from "@headroom/platform";
import { z } from "zod";

export const faults = ["refuse", "hang", "empty", "half", "late"] as const;
export type Fault = (typeof faults)[number];

const LATE_MS = 3_000;
const NODES = 4;
const SLOTS = 2;

export class FaultyCluster {
  fault: Fault | null = null;
  /** Name of the pool, and prefix of its nodes; `null`: the id of the executor. */
  poolPrefix: string | null = null;
  readonly launches: string[] = [];
  readonly stops: string[] = [];
  readonly attempts: Map<AttemptId, KnownAttempt> = new Map();
  #listener: ExecutorListener | null = null;

  readonly type: ExecutorType = executorType({
    name: "faulty",
    summary: "A cluster of tests.",
    settings: z.strictObject({}),
    open: async (_settings, { id }) => this.#executor(id),
  });

  /** The attempt ends with the exit code 0. Its end is reported if a control plane listens. */
  end(attemptId: AttemptId): void {
    const known = this.attempts.get(attemptId);
    if (known === undefined) throw new Error(`no attempt ${attemptId}`);
    const exits: readonly WorkerExit[] = [{ kind: "exited", worker: 0, code: 0 }];
    this.attempts.set(attemptId, { ...known, phase: { kind: "ended", endedAtMs: Date.now(), exits } });
    void this.#listener?.({ kind: "attemptExited", attemptId, exits });
  }

  async #answer<T>(whole: readonly T[]): Promise<readonly T[]> {
    switch (this.fault) {
      case "refuse":
        throw new OperationalError("refused", "connection refused");
      case "hang":
        return new Promise(() => undefined);
      case "empty":
        return [];
      case "half":
        return whole.slice(0, Math.floor(whole.length / 2));
      case "late":
        await new Promise((resolve) => setTimeout(resolve, LATE_MS));
        return whole;
      case null:
        return whole;
    }
  }

  async #inventory(executor: string): Promise<Inventory> {
    const prefix = this.poolPrefix ?? executor;
    const pool = poolName(prefix);
    const nodes = Array.from({ length: NODES }, (_, at) => ({
      id: nodeId(`${prefix}-${at + 1}`),
      pool,
      fabric: [],
      acceleratorCount: SLOTS,
      coresMilli: 1_000 * SLOTS,
      memoryMib: 1_024,
    }));
    const site = siteName("far");
    const pools = [{ name: pool, site, executor, acceleratorType: "far", priceMicroUsdPerHour: 0 }];
    return { sites: [{ name: site, fabricLevels: [] }], pools, nodes: await this.#answer(nodes) };
  }

  #perform(effect: Effect): void {
    const { attemptId } = effect;
    if (effect.kind === "stopGang" && this.attempts.get(attemptId)?.phase.kind === "running")
      this.stops.push(attemptId);
    if (effect.kind !== "launchGang" || this.attempts.has(attemptId)) return;
    const { workloadId, sequence } = effect;
    this.launches.push(attemptId);
    this.attempts.set(attemptId, { attemptId, workloadId, sequence, phase: { kind: "running" } });
    void this.#listener?.({ kind: "attemptRunning", attemptId });
  }

  #executor(id: string): Executor {
    return {
      id,
      kind: "faulty",
      capabilities: { checkpointOnRequest: false, resize: false, replaceWorkers: false, logs: false },
      inventory: () => this.#inventory(id),
      attempts: () => this.#answer([...this.attempts.values()]),
      perform: (effect) => this.#perform(effect),
      watch: (listener) => void (this.#listener = listener),
      async *logs(): AsyncGenerator<LogChunk> {},
      usage: async () => null,
      forget: async () => undefined,
      close: async () => void (this.#listener = null),
    };
  }
}
