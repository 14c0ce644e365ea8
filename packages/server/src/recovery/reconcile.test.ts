import { describe, expect, it } from "vitest";
import { attemptId, nodeId, workloadId } from "@headroom/model";
import type { Input, NodeSpec } from "@headroom/model";
import { createEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import type { KnownAttempt, KnownAttemptPhase } from "@headroom/executors";
import { FileExecutor } from "../driver/testing/file-executor.ts";
import { removeDirectory, temporaryDirectory } from "../driver/testing/bench-home.ts";
import { submit, testSpec } from "../driver/testing/requests.ts";
import { newestKnown, reconcile } from "./reconcile.ts";
import type { ExecutorReport } from "./reconcile.ts";

/**
 * A node of four slots with three workloads: w1 runs, w2 was launched and has not reported yet, w3 is being stopped.
 */
async function scene(produces: readonly string[] = []): Promise<{ engine: Engine; node: NodeSpec }> {
  const home = temporaryDirectory();
  const executor = new FileExecutor({ directory: home, slots: 4, runMs: 1 });
  const { sites, pools, nodes } = await executor.inventory();
  removeDirectory(home);
  const [node] = nodes as [NodeSpec];
  const engine = createEngine();
  const receive = (...inputs: unknown[]): void => {
    engine.receive(
      inputs.map((input, index) => {
        const isCommand = "actor" in (input as object);
        return { ...(isCommand ? { commandId: String(index) } : {}), ...(input as object) } as Input;
      }),
      1000,
    );
    engine.advance();
  };
  receive(
    { kind: "apply", actor: "test", idempotencyKey: null, sites, pools, teams: [], workloads: [] },
    { kind: "nodeSeen", node },
  );
  receive(
    ...["w1", "w2", "w3"].map((name) => submit({ ...testSpec(name), ...(produces.length === 0 ? {} : { produces }) })),
  );
  receive({ kind: "attemptRunning", attemptId: "w1.1" }, { kind: "attemptRunning", attemptId: "w3.1" });
  receive({ kind: "stopWorkload", actor: "test", idempotencyKey: null, workloadId: "w3" });
  expect([...engine.state.attempts.values()].map(({ id, phase }) => `${id} ${phase}`)).toEqual([
    "w1.1 running",
    "w2.1 launching",
    "w3.1 stopping",
  ]);
  return { engine, node };
}

const known = (id: string, phase: KnownAttemptPhase, sequence = 1): KnownAttempt => ({
  attemptId: attemptId(id),
  workloadId: workloadId("w"),
  sequence,
  phase,
});

const report = (node: NodeSpec, ...attempts: readonly KnownAttempt[]): readonly ExecutorReport[] => [
  { id: "local", attempts, nodes: [node], isComplete: true },
];

describe("after a restart", () => {
  it("leaves the end of work that made artifacts to its executor, which has read them", async () => {
    const { engine, node } = await scene(["model:chat"]);
    const ended = (code: number): KnownAttemptPhase => ({
      kind: "ended",
      endedAtMs: 0,
      exits: [{ kind: "exited", worker: 0, code }],
    });
    const { observations } = reconcile(engine.state, report(node, known("w1.1", ended(0)), known("w2.1", ended(1))));
    expect(observations.slice(0, 2).map(({ kind }) => kind)).toEqual(["attemptRunning", "attemptExited"]);
  });

  it("adopts what runs, without asking for anything", async () => {
    const { engine, node } = await scene();
    const running = { kind: "running" } as const;
    const { observations, effects } = reconcile(
      engine.state,
      report(node, known("w1.1", running), known("w2.1", running), known("w3.1", running)),
    );
    expect(observations.map((each) => each.kind)).toEqual([
      "attemptRunning",
      "attemptRunning",
      "attemptRunning",
      "nodeSeen",
    ]);
    expect(effects).toEqual([]);
  });

  it("takes in what ended or was lost meanwhile", async () => {
    const { engine, node } = await scene();
    const exits = [{ kind: "exited", worker: 0, code: 3 }] as const;
    const { observations } = reconcile(
      engine.state,
      report(
        node,
        known("w1.1", { kind: "ended", endedAtMs: 1, exits }),
        known("w2.1", { kind: "lost", endedAtMs: 1, detail: "gone" }),
        known("w3.1", { kind: "running" }),
      ),
    );
    expect(observations.slice(0, 2)).toEqual([
      { kind: "attemptExited", attemptId: "w1.1", exits },
      { kind: "attemptLost", attemptId: "w2.1", detail: "gone" },
    ]);
  });

  it("gives up what ran and is known to nobody, but not what may never have been launched", async () => {
    const { engine, node } = await scene();
    const { observations } = reconcile(engine.state, report(node));
    const lost = observations.filter(({ kind }) => kind === "attemptLost");
    expect(lost).toEqual([
      { kind: "attemptLost", attemptId: "w1.1", detail: expect.stringContaining("was running before") },
      { kind: "attemptLost", attemptId: "w3.1", detail: expect.stringContaining("was stopping before") },
    ]);
    expect(engine.outstandingEffects().map((each) => `${each.kind} ${each.attemptId}`)).toEqual([
      "launchGang w2.1",
      "stopGang w3.1",
    ]);
  });

  it("stops what runs although the journal says that it ended, and leaves alone what has ended", async () => {
    const { engine, node } = await scene();
    const { effects } = reconcile(
      engine.state,
      report(
        node,
        known("old.1", { kind: "running" }),
        known("old.2", { kind: "launching" }),
        known("old.3", { kind: "ended", endedAtMs: 1, exits: [] }),
      ),
    );
    expect(effects.map((each) => `${each.kind} ${each.attemptId}`)).toEqual(["stopGang old.1", "stopGang old.2"]);
  });

  it("compares each executor with what it runs itself", async () => {
    const { engine, node } = await scene();
    const running = { kind: "running" } as const;
    const { observations, effects } = reconcile(engine.state, [
      { id: "local", attempts: [known("w1.1", running), known("w2.1", running)], nodes: [node], isComplete: true },
      { id: "other", attempts: [known("w3.1", running)], nodes: [], isComplete: true },
    ]);
    // The executor `other` runs an attempt of `local`. The attempt is stopped at `other`, and lost at `local`.
    expect(effects).toMatchObject([{ kind: "stopGang", executor: "other", attemptId: "w3.1" }]);
    expect(observations.filter(({ kind }) => kind === "attemptLost")).toMatchObject([{ attemptId: "w3.1" }]);
    expect(observations.some(({ kind }) => kind === "nodeUnreachable")).toBe(false);
  });

  it("reports nodes that are gone, and no nodes where the executor could not be asked", async () => {
    const { engine, node } = await scene();
    const other = { ...node, id: nodeId("n2") };
    expect(reconcile(engine.state, report(other)).observations.slice(-2)).toEqual([
      { kind: "nodeSeen", node: other },
      { kind: "nodeUnreachable", nodeId: "n1", detail: expect.any(String) },
    ]);
    const silent = reconcile(engine.state, [{ id: "local", attempts: [], nodes: null, isComplete: true }]);
    expect(silent.observations.some(({ kind }) => kind === "nodeUnreachable")).toBe(false);
  });

  it("knows the newest witness of how far the journal once reached", async () => {
    const { node } = await scene();
    const reports = report(
      node,
      known("a.1", { kind: "running" }, 7),
      known("b.1", { kind: "ended", endedAtMs: 1, exits: [] }, 12),
      known("c.1", { kind: "running" }, 9),
    );
    expect(newestKnown(reports)?.attemptId).toBe("b.1");
    expect(newestKnown(report(node))).toBe(null);
  });
});
