/** Signals of executors against a real engine and a real fold of incidents, without a server. */
import { describe, expect, it } from "vitest";
import { createEngine } from "@headroom/engine";
import type { NodeSignal } from "@headroom/executors";
import { IncidentFold } from "@headroom/health";
import { commandId, nodeId, poolName, siteName } from "@headroom/model";
import type { Input, NodeId } from "@headroom/model";
import type { CommandRequest } from "../driver/driver.ts";
import { NodeSignalService } from "./node-signal-service.ts";

const by = { commandId: commandId("c1"), actor: "ann", idempotencyKey: null };

class Bench {
  readonly engine = createEngine();
  readonly fold = new IncidentFold();
  signals: readonly NodeSignal[] | null = [];
  isOverloaded = false;
  readonly warnings: string[] = [];
  /** Nodes that the cluster lists; `null`: all. */
  listed: ReadonlySet<NodeId> | null = null;
  service = this.restart();
  #sequence = 0;

  constructor() {
    const pool = {
      name: poolName("p"),
      site: siteName("dc"),
      executor: "hpc",
      acceleratorType: "H100",
      priceMicroUsdPerHour: 0,
    };
    this.receive({
      ...by,
      kind: "apply",
      sites: [{ name: siteName("dc"), fabricLevels: [] }],
      pools: [pool],
      teams: [],
      workloads: [],
    });
    const shape = { acceleratorCount: 8, coresMilli: 8_000, memoryMib: 1_024 };
    this.receive({ kind: "nodeSeen", node: { id: nodeId("n1"), pool: poolName("p"), fabric: [], ...shape } });
  }

  receive(input: Input): void {
    for (const event of this.engine.receive([input], 1_000).events) this.fold.apply(++this.#sequence, event);
    this.engine.advance();
  }

  restart(): NodeSignalService {
    const driver = {
      read: async <Result>(read: (engine: typeof this.engine) => Result) => read(this.engine),
      command: async (request: CommandRequest) => {
        if (this.isOverloaded) throw new Error("overloaded");
        this.receive({ ...request, commandId: commandId("c1") });
        return { kind: "accepted" } as never;
      },
    };
    const nodeSignals = () =>
      this.signals === null
        ? null
        : { nodes: this.listed ?? new Set(this.engine.state.nodes.keys()), signals: this.signals };
    const executors = new Map([["hpc", { nodeSignals }]]);
    const warn = (message: string): void =>
      this.isOverloaded ? void this.warnings.push(message) : expect.unreachable(message);
    const log = { warn };
    this.service = new NodeSignalService({ driver, executors, incidents: { fold: this.fold }, log });
    return this.service;
  }

  async looks(count: number): Promise<void> {
    for (let look = 0; look < count; look++) await this.service.look();
  }

  open(): readonly string[] {
    return this.fold
      .incidents()
      .flatMap(({ failures }) => failures.flatMap(({ backAtMs, codes }) => (backAtMs === null ? codes : [])));
  }
}

const fault = (code: string, node = "n1"): NodeSignal => ({
  nodeId: nodeId(node),
  code,
  severity: "critical",
  detail: "x",
});

describe("signals of nodes", () => {
  it("let a node qualify when its cluster takes it out of service and when it brings it back, however soon", async () => {
    const bench = new Bench();
    const { pools, nodes } = bench.engine.state;
    const pool = pools.get(poolName("p"));
    if (pool === undefined) throw new Error("the pool is missing");
    const qualification = { suite: "quick", limitMs: 60_000, atOnce: 1 } as const;
    bench.receive({ ...by, kind: "apply", sites: [], pools: [{ ...pool, qualification }], teams: [], workloads: [] });
    const phase = (): string | undefined => nodes.get(nodeId("n1"))?.qualification?.phase;
    const start = (): { readonly nodeId: NodeId; readonly id: number; readonly run: number } => {
      const run = { nodeId: nodeId("n1"), id: nodes.get(nodeId("n1"))?.qualification?.id ?? -1, run: 1 };
      bench.receive({ kind: "qualificationStarted", ...run, expectedMs: 1_000 });
      return run;
    };
    const pass = (run = start()): void =>
      bench.receive({ kind: "qualificationEnded", ...run, isPassed: true, durationMs: 1, detail: "" });
    await bench.looks(5);
    expect(phase()).toBeUndefined();
    bench.signals = [{ ...fault("slurm-drain"), severity: "warning" }];
    await bench.looks(2);
    expect(phase()).toBe("waiting");
    pass();
    await bench.looks(2);
    expect(phase()).toBeUndefined();
    bench.signals = [];
    bench.isOverloaded = true;
    await bench.looks(3);
    expect([phase(), bench.warnings.length]).toEqual([undefined, 1]);
    bench.isOverloaded = false;
    await bench.looks(1);
    expect(phase()).toBe("waiting");
    // A signal during a suite: what runs says nothing about the time after it.
    const run = start();
    bench.signals = [fault("k8s-kernel-deadlock")];
    await bench.looks(2);
    pass(run);
    await bench.looks(1);
    expect(phase()).toBe("waiting");
    pass();
    // A standing signal begins once, not at each start of the control plane.
    bench.restart();
    await bench.looks(3);
    expect(phase()).toBeUndefined();
    bench.signals = [];
    await bench.looks(3);
    expect(phase()).toBe("waiting");
    pass();
    bench.signals = [{ ...fault("k8s-disk-pressure"), severity: "warning" }];
    await bench.looks(2);
    // A drain of the control plane that its executor passed on.
    bench.receive({ ...by, kind: "drainNode", nodeId: nodeId("n1"), running: "wait" });
    bench.signals = [{ ...fault("k8s-cordoned"), severity: "info" }];
    await bench.looks(5);
    expect(phase()).toBeUndefined();
  });

  it("are reported once, and end when some complete answers lack them", async () => {
    const bench = new Bench();
    bench.signals = [fault("k8s-kernel-deadlock"), fault("slurm-down", "unknown-node")];
    await bench.looks(20);
    expect(bench.open()).toEqual(["k8s-kernel-deadlock"]);
    expect(bench.fold.incidents()[0]?.failures[0]?.alerts).toBe(1);
    bench.signals = null;
    await bench.looks(10);
    expect(bench.open()).toEqual(["k8s-kernel-deadlock"]);
    bench.signals = [];
    // A node that the cluster does not list is not well: nothing is known of it.
    bench.listed = new Set([nodeId("n2")]);
    await bench.looks(10);
    expect(bench.open()).toEqual(["k8s-kernel-deadlock"]);
    bench.listed = null;
    await bench.looks(2);
    expect(bench.open()).toEqual(["k8s-kernel-deadlock"]);
    await bench.looks(1);
    expect(bench.open()).toEqual([]);
  });

  it("are known after a restart, and leave faults of other sources open", async () => {
    const bench = new Bench();
    bench.signals = [fault("k8s-kernel-deadlock")];
    await bench.looks(1);
    bench.restart();
    await bench.looks(2);
    expect(bench.fold.incidents()[0]?.failures[0]?.alerts).toBe(1);
    bench.receive({
      ...by,
      kind: "reportFaults",
      nodeId: nodeId("n1"),
      faults: [{ code: "xid-79", severity: "critical", detail: "" }],
    });
    bench.signals = [];
    await bench.looks(5);
    expect(bench.open()).toEqual(["k8s-kernel-deadlock", "xid-79"]);
  });

  it("report a critical signal again that outlives its failure", async () => {
    const bench = new Bench();
    bench.signals = [fault("k8s-kernel-deadlock")];
    await bench.looks(1);
    bench.receive({ ...by, kind: "annotateIncident", incident: "i4", annotation: { kind: "resolve" } });
    expect(bench.open()).toEqual([]);
    await bench.looks(10);
    expect(bench.open()).toEqual(["k8s-kernel-deadlock"]);
  });
});
