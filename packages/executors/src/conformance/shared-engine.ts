/**
 * Cases with two executors of one kind under one engine: each runs the work of its own pools, and no gang uses both.
 * The cases run real processes. A small loop passes reports to the engine and effects to the executors.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { commandId, teamName } from "@headroom/model";
import type { Effect, ExecutorId, Input, WorkloadSpec } from "@headroom/model";
import type { Executor } from "../executor.ts";

/**
 * Opens an executor with this id on a separate directory. Its pool, node and site are named after the id, and it has
 * two slots.
 */
export type OpenExecutor = (id: ExecutorId, homeDir: string) => Executor;

const WAIT_MAX_MS = 20_000;
const IDS = ["first", "second"] as const;

export class SharedEngine {
  readonly engine: Engine = createEngine();
  readonly asked: Effect[] = [];
  readonly #root: string;
  readonly #executors = new Map<ExecutorId, Executor>();
  #commandCount = 0;

  private constructor(root: string) {
    this.#root = root;
  }

  static async open(open: OpenExecutor): Promise<SharedEngine> {
    const shared = new SharedEngine(await mkdtemp(path.join(tmpdir(), "headroom-shared-")));
    for (const id of IDS) {
      const executor = open(id, path.join(shared.#root, id));
      shared.#executors.set(id, executor);
      const { sites, pools, nodes } = await executor.inventory();
      const { kind, capabilities } = executor;
      shared.receive(
        { kind: "executorSeen", executor: { id, kind, capabilities } },
        { ...shared.#by(), kind: "apply", sites, pools, teams: [], workloads: [] },
        ...nodes.map((node) => ({ kind: "nodeSeen", node }) as const),
      );
      executor.watch((input) => shared.receive(input));
    }
    return shared;
  }

  executor(id: ExecutorId): Executor {
    const executor = this.#executors.get(id);
    if (executor === undefined) throw new Error(`no executor ${id}`);
    return executor;
  }

  receive(...inputs: readonly Input[]): void {
    const { effects } = this.engine.receive(inputs, Math.max(Date.now(), this.engine.state.nowMs));
    this.engine.advance();
    for (const effect of effects) {
      this.asked.push(effect);
      this.executor(effect.executor).perform(effect);
    }
  }

  submit(name: string, workers: number, run: string): void {
    const spec: WorkloadSpec = {
      kind: "train",
      name,
      team: teamName("default"),
      run,
      dir: null,
      env: {},
      gang: { workers, accelerators: 1, coresMilli: 0, memoryMib: 0 },
      acceleratorTypes: [],
      priority: 0,
      walltimeMs: null,
      retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
      graceTimeoutMs: 0,
      checkpointDir: null,
    };
    this.receive({ ...this.#by(), kind: "submitWorkload", spec });
  }

  phaseOf(name: string): string {
    for (const { spec, phase } of this.engine.state.workloads.values()) if (spec.name === name) return phase;
    return "unknown";
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    const endMs = performance.now() + WAIT_MAX_MS;
    while (!condition()) {
      if (performance.now() > endMs) throw new Error(`not within ${WAIT_MAX_MS} ms: ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async close(): Promise<void> {
    for (const { id, spec } of this.engine.state.workloads.values())
      if (this.phaseOf(spec.name) === "running") this.receive({ ...this.#by(), kind: "stopWorkload", workloadId: id });
    await this.until(() => this.engine.state.attempts.size === 0, "everything has stopped");
    await Promise.all([...this.#executors.values()].map((executor) => executor.close()));
    await rm(this.#root, { recursive: true, force: true, maxRetries: 5 });
  }

  #by(): { readonly commandId: ReturnType<typeof commandId>; readonly actor: string; readonly idempotencyKey: null } {
    return { commandId: commandId(String(++this.#commandCount)), actor: "conformance", idempotencyKey: null };
  }
}

export interface SharedEngineCase {
  readonly name: string;
  run(shared: SharedEngine): Promise<void>;
}

const launchedBy = ({ asked }: SharedEngine, id: ExecutorId): readonly string[] =>
  asked.flatMap((effect) => (effect.kind === "launchGang" && effect.executor === id ? [effect.attemptId] : []));

export const sharedEngineCases: readonly SharedEngineCase[] = [
  {
    name: "both executors register with id, kind and capabilities",
    async run(shared) {
      const recorded = [...shared.engine.state.executors.values()];
      assert.deepEqual(
        recorded.map(({ id }) => id),
        [...IDS],
      );
      assert.equal(new Set(recorded.map(({ kind }) => kind)).size, 1);
      for (const { id, capabilities } of recorded) assert.deepEqual(capabilities, shared.executor(id).capabilities);
    },
  },
  {
    name: "each runs what is placed on its own pool, and knows nothing of the other's attempts",
    async run(shared) {
      shared.submit("a", 2, "exec sleep 600");
      shared.submit("b", 2, "exec sleep 600");
      await shared.until(
        () => [...shared.engine.state.attempts.values()].filter(({ phase }) => phase === "running").length === 2,
        "both run",
      );
      for (const id of IDS) {
        const known = (await shared.executor(id).attempts()).map(({ attemptId }) => attemptId as string);
        assert.equal(known.length, 1);
        assert.deepEqual(known, launchedBy(shared, id));
      }
    },
  },
  {
    name: "a gang lies within one executor, and waits while only both together have room",
    async run(shared) {
      shared.submit("half", 1, "exec sleep 600");
      shared.submit("other half", 2, "exec sleep 600");
      shared.submit("wide", 2, "true");
      // One slot is free beside the workload `half`, none beside `other half`.
      assert.equal(shared.phaseOf("wide"), "pending");
      shared.submit("too wide", 4, "true");
      assert.equal(shared.phaseOf("too wide"), "pending");
      for (const { id, spec } of shared.engine.state.workloads.values())
        if (spec.name === "half")
          shared.receive({
            kind: "stopWorkload",
            workloadId: id,
            actor: "conformance",
            commandId: commandId("stop"),
            idempotencyKey: null,
          });
      await shared.until(() => shared.phaseOf("wide") === "succeeded", "the gang has run");
      assert.equal(shared.phaseOf("too wide"), "pending");
    },
  },
  {
    name: "one that ends its work reports for itself alone",
    async run(shared) {
      shared.submit("short", 2, "exit 3");
      shared.submit("long", 2, "exec sleep 600");
      await shared.until(() => shared.phaseOf("short") === "failed", "the first has ended");
      assert.equal(shared.phaseOf("long"), "running");
    },
  },
];
