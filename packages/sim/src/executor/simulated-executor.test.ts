import { attemptId, nodeId, workloadId } from "@headroom/model";
import type { Attempt, Effect, LaunchGang, Observation, Signal } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { EventQueue } from "../clock/event-queue.ts";
import { SimulatedExecutor, type SimulatedExecutorOptions } from "./simulated-executor.ts";

function launch(id: string, nodes: readonly string[] = ["n1"]): LaunchGang {
  return {
    kind: "launchGang",
    executor: "simulated",
    attemptId: attemptId(id),
    workloadId: workloadId("w1"),
    task: 0,
    number: 1,
    actor: "tester",
    spec: { gang: {} } as LaunchGang["spec"],
    workers: nodes.map((node) => ({ node: nodeId(node), accelerators: "0" })),
    sequence: 1,
  };
}

function stop(id: string, graceTimeoutMs: number) {
  return {
    kind: "stopGang",
    executor: "simulated",
    attemptId: attemptId(id),
    graceTimeoutMs,
    reason: "cancelled",
  } as const;
}

/** Replaces a worker of an attempt by one on another node. */
function replaceSecond(id: string, node: string) {
  return {
    kind: "replaceWorkers",
    executor: "simulated",
    attemptId: attemptId(id),
    workloadId: workloadId("w1"),
    workers: [{ rank: 1, worker: { node: nodeId(node), accelerators: "0" } }],
  } as const;
}

/** An executor whose attempts take 100 ms, and a clock that runs until no entry is due. */
function bench(options: Partial<SimulatedExecutorOptions> = {}) {
  const queue = new EventQueue();
  const plan = () => ({ durationMs: 100, exitCode: 0 });
  const executor = new SimulatedExecutor({ startupMs: 10, stopMs: 20, plan, ...options }, queue);
  const said = (untilMs = Number.POSITIVE_INFINITY): string[] => {
    const lines: string[] = [];
    while (queue.size > 0 && queue.nextAtMs <= untilMs) {
      const atMs = queue.nextAtMs;
      const observation = executor.observeNext();
      queue.drop();
      if (observation !== null) lines.push(`${atMs} ${describeObservation(observation)}`);
    }
    return lines;
  };
  return { executor, queue, said };
}

function describeObservation(observation: Observation | Signal): string {
  if (observation.kind === "attemptExited") {
    const exits = observation.exits.map((exit) => (exit.kind === "exited" ? exit.code : exit.signal));
    return `${observation.attemptId} exited ${exits.join(",")}`;
  }
  return observation.kind === "attemptRunning" || observation.kind === "attemptLost"
    ? `${observation.attemptId} ${observation.kind}`
    : observation.kind;
}

describe("the simulated executor", () => {
  it("takes word of a machine that never was away for no more than that", () => {
    const { executor, said } = bench();
    executor.perform([launch("w1.1", ["n1", "n2"])], 0);
    said(10);
    executor.loseNode(nodeId("n2"), 50);
    executor.returnNode(nodeId("n1"), 50);
    executor.perform([replaceSecond("w1.1", "n3")], 50);
    expect(said()).toEqual(["60 workersJoined", "120 w1.1 exited 0,0"]);
  });

  it("has each rank once, however often growing and shrinking are asked for", () => {
    const { executor, said } = bench();
    const about = { executor: "simulated", attemptId: attemptId("w1.1"), workloadId: workloadId("w1") } as const;
    const workers = launch("w1.1", ["n1", "n2", "n3"]).workers;
    const nodes = (): string =>
      executor
        .workersOf(attemptId("w1.1"))
        .map(({ node }) => node)
        .join();
    executor.perform([launch("w1.1")], 0);
    const grow = (firstRank: number, upTo: number): Effect => {
      const launched = { ...launch("w1.1"), workers: workers.slice(0, upTo) };
      return { ...about, kind: "growGang", firstRank, workers: workers.slice(firstRank, upTo), launch: launched };
    };
    executor.perform([grow(1, 3)], 0);
    executor.perform([grow(0, 3)], 0);
    expect(nodes()).toBe("n1,n2,n3");
    const shrink = { ...about, kind: "shrinkGang", workers: 2, graceTimeoutMs: 50 } as const;
    executor.perform([shrink], 12);
    executor.perform([shrink, grow(0, 2)], 20);
    expect(nodes()).toBe("n1,n2");
    expect(said(40)).toEqual(["10 w1.1 attemptRunning", "32 workersLeft"]);
  });

  it("writes a checkpoint when asked, once, goes on, and is stopped by a stop alone", () => {
    const plan = () => ({ durationMs: 1000, exitCode: 0, checkpointMs: 30 });
    const { executor, said } = bench({ plan });
    const ask = { kind: "checkpointGang", executor: "simulated", attemptId: attemptId("w1.1"), untilMs: 500 } as const;
    executor.perform([launch("w1.1")], 0);
    expect(said(10)).toEqual(["10 w1.1 attemptRunning"]);
    executor.perform([ask, ask], 20);
    expect(said(100)).toEqual(["50 checkpointReported"]);
    executor.perform([ask], 100);
    executor.perform([stop("w1.1", 1000)], 110);
    expect(said()).toEqual(["130 w1.1 exited SIGTERM"]);
  });

  it("reports the start after the startup and the end after the duration", () => {
    const { executor, said } = bench();
    executor.perform([launch("a", ["n1", "n2"])], 0);
    expect(said()).toEqual(["10 a attemptRunning", "110 a exited 0,0"]);
    expect(executor.liveCount).toBe(0);
  });

  it("launches an attempt once, however often it is asked", () => {
    const { executor, said } = bench();
    executor.perform([launch("a"), launch("a")], 0);
    executor.perform([launch("a")], 5);
    expect(said()).toHaveLength(2);
  });

  it("stops with SIGTERM within the grace period and with SIGKILL at its end", () => {
    const { executor, said } = bench();
    executor.perform([launch("a"), launch("b"), launch("c")], 0);
    expect(said(10)).toHaveLength(3);
    executor.perform([stop("a", 50), stop("b", 5)], 30);
    executor.perform([stop("b", 50)], 31);
    expect(said()).toEqual(["35 b exited SIGKILL", "50 a exited SIGTERM", "110 c exited 0"]);
  });

  it("lets an attempt that ends before the stop takes hold end by itself", () => {
    const { executor, said } = bench();
    executor.perform([launch("a")], 0);
    said(10);
    executor.perform([stop("a", 50)], 95);
    expect(said()).toEqual(["110 a exited 0"]);
  });

  it("stops an attempt that has not started, and ignores stops of unknown ones", () => {
    const { executor, said } = bench();
    executor.perform([launch("a"), stop("a", 0), stop("nobody", 0)], 0);
    expect(said()).toEqual(["0 a exited SIGKILL"]);
  });

  it("says nothing of a dead machine's attempts until they are stopped or the machine is back", () => {
    const { executor, said } = bench();
    executor.perform([launch("a", ["n1", "n2"]), launch("b", ["n2"]), launch("c", ["n3"])], 0);
    said(10);
    executor.loseNode(nodeId("n2"), 10);
    executor.perform([stop("a", 5)], 40);
    expect(said()).toEqual(["45 a attemptLost", "110 c exited 0"]);
    executor.returnNode(nodeId("n2"), 200);
    expect(said()).toEqual(["200 b attemptLost"]);
  });

  it("goes on with a worker in a new place: all wait until it has started, and nothing that was done is lost", () => {
    const { executor, said } = bench();
    const replace = replaceSecond("a", "n3");
    executor.perform([launch("a", ["n1", "n2"])], 0);
    said(10);
    executor.loseNode(nodeId("n2"), 60);
    executor.perform([replace], 80);
    // After a crash, a repeated launch request is answered again and starts no second worker.
    executor.perform([replace], 85);
    expect(said(100)).toEqual(["90 workersJoined"]);
    executor.perform([replace], 100);
    expect(said()).toEqual(["100 workersJoined", "140 a exited 0,0"]);
    executor.returnNode(nodeId("n2"), 200);
    expect(said()).toEqual([]);
  });

  it("starts a gang whose worker is replaced before it ran anew as a whole", () => {
    const { executor, said } = bench();
    executor.perform([launch("a", ["n1", "n2"]), launch("b", ["n1", "n4"])], 0);
    executor.loseNode(nodeId("n2"), 4);
    // Both ranks already run.
    executor.perform([replaceSecond("a", "n3")], 6);
    executor.perform([replaceSecond("b", "n3")], 7);
    expect(said(100)).toEqual(["16 workersJoined", "16 a attemptRunning", "17 workersJoined", "17 b attemptRunning"]);
    expect(said()).toEqual(["116 a exited 0,0", "117 b exited 0,0"]);
    expect(executor.liveCount).toBe(0);
  });

  it("goes on with a gang of which workers in new places were to join: the others wait for them first", () => {
    const { executor, said } = bench();
    const attempt: Attempt = {
      id: attemptId("a"),
      workloadId: workloadId("w1"),
      task: 0,
      number: 1,
      phase: "running",
      acceleratorType: "H100",
      workers: launch("a", ["n1", "n3"]).workers,
      placedSequence: 1,
      placedAtMs: 0,
      startedAtMs: 10,
      stop: null,
      progress: null,
      joining: [1],
    };
    executor.adopt({ attempt, plan: { durationMs: 100, exitCode: 0 }, graceTimeoutMs: 50 }, 60);
    expect(said()).toEqual(["70 workersJoined", "120 a exited 0,0"]);
  });

  it("loses what is launched on a dead machine", () => {
    const { executor, said } = bench();
    executor.loseNode(nodeId("n1"), 0);
    executor.perform([launch("a")], 7);
    expect(said()).toEqual(["7 a attemptLost"]);
  });

  it("forks into an executor that goes on alike and independently", () => {
    const { executor, queue, said } = bench();
    executor.perform([launch("a")], 0);
    said(10);
    const forkedQueue = queue.fork();
    const fork = executor.fork(forkedQueue);
    fork.perform([stop("a", 0)], 20);
    expect([forkedQueue.nextAtMs, fork.liveCount]).toEqual([20, 1]);
    expect(said()).toEqual(["110 a exited 0"]);
  });
});
