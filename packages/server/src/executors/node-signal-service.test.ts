/** Signals of executors against a real engine and a real fold of incidents, without a server. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createEngine } from "@headroom/engine";
import type { NodeSignal, PastNodeSignals, UnwatchedPeriod } from "@headroom/executors";
import { IncidentFold } from "@headroom/health";
import { commandId, nodeId, poolName, siteName } from "@headroom/model";
import type { Input, NodeId } from "@headroom/model";
import type { CommandRequest } from "../driver/driver.ts";
import { SignalMemory } from "./signal-memory.ts";
import { NodeSignalService } from "./node-signal-service.ts";

const by = { commandId: commandId("c1"), actor: "ann", idempotencyKey: null };

class Bench {
  readonly engine = createEngine();
  readonly fold = new IncidentFold();
  signals: readonly NodeSignal[] | null = [];
  isOverloaded = false;
  readonly warnings: string[] = [];
  readonly reported: string[] = [];
  /** Nodes that the cluster lists; `null`: all. */
  listed: ReadonlySet<NodeId> | null = null;
  /** Past signals of the executor, by period. */
  past: (period: UnwatchedPeriod) => Promise<PastNodeSignals> = async () => ({ signals: [], unknown: "" });
  nowMs = 1_000_000;
  readonly #home: string | null;
  memory = new SignalMemory(null, { warn: () => undefined });
  service = this.restart();
  #sequence = 0;

  /** `home`: where the service stores what it knows. */
  constructor(home: string | null = null) {
    this.#home = home;
    this.service = this.restart();
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
    for (const event of this.engine.receive([input], 1_000).events) {
      this.fold.apply(++this.#sequence, event);
      if (event.kind === "faultsReported") this.reported.push(...event.faults.map(({ code }) => code));
    }
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
    const pastNodeSignals = (period: UnwatchedPeriod) => this.past(period);
    const executors = new Map([["hpc", { nodeSignals, pastNodeSignals }]]);
    const log = { warn: (message: string): void => void this.warnings.push(message) };
    this.memory = new SignalMemory(this.#home ?? null, log);
    const nowMs = (): number => this.nowMs;
    const incidents = { fold: this.fold };
    this.service = new NodeSignalService({ driver, executors, memory: this.memory, nowMs, incidents, log });
    return this.service;
  }

  async looks(count: number): Promise<void> {
    for (let look = 0; look < count; look++) {
      this.nowMs += 5_000;
      await this.service.look();
    }
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

  describe("that ended while nobody looked", () => {
    let home = "";
    beforeEach(() => (home = mkdtempSync(path.join(tmpdir(), "headroom-signals-"))));
    afterEach(() => rmSync(home, { recursive: true, force: true }));

    const qualifying = (): Bench => {
      const bench = new Bench(home);
      const pool = bench.engine.state.pools.get(poolName("p"));
      if (pool === undefined) throw new Error("the pool is missing");
      const qualification = { suite: "quick", limitMs: 60_000, atOnce: 1 } as const;
      bench.receive({ ...by, kind: "apply", sites: [], pools: [{ ...pool, qualification }], teams: [], workloads: [] });
      return bench;
    };
    const phase = ({ engine }: Bench): string | undefined => engine.state.nodes.get(nodeId("n1"))?.qualification?.phase;

    it("are reported without an incident, and let the node qualify", async () => {
      const bench = qualifying();
      await bench.looks(4);
      const stoppedAtMs = bench.nowMs;
      const periods: UnwatchedPeriod[] = [];
      bench.past = async (period) => {
        periods.push(period);
        const signals = [
          { ...fault("k8s-kernel-deadlock"), endedAtMs: stoppedAtMs + 60_000 },
          { ...fault("k8s-not-ready", "of-others"), endedAtMs: stoppedAtMs + 60_000 },
        ];
        return { signals, unknown: "Cordons are unknown." };
      };
      bench.nowMs += 600_000;
      bench.restart();
      await bench.looks(2);
      // The time of the last answer is stored every 10 s.
      const { fromMs, untilMs } = periods[0] ?? { fromMs: 0, untilMs: 0 };
      expect([periods.length, untilMs]).toEqual([1, stoppedAtMs + 605_000]);
      expect(fromMs).toBeGreaterThan(stoppedAtMs - 10_000);
      expect(fromMs).toBeLessThanOrEqual(stoppedAtMs);
      expect([bench.reported, bench.open(), phase(bench)]).toEqual([["k8s-kernel-deadlock"], [], "waiting"]);
      expect(bench.memory.unwatched).toEqual([
        { executor: "hpc", ...periods[0], signals: 1, unknown: "Cordons are unknown." },
      ]);
      bench.restart();
      await bench.looks(2);
      expect([periods.length, bench.memory.unwatched.length]).toEqual([1, 1]);
    });

    it("are known as ended if they were there before, and standing ones are reported once", async () => {
      const bench = qualifying();
      const drain = { ...fault("slurm-drain"), severity: "warning" } as const;
      bench.signals = [drain, { ...fault("slurm-not-responding"), severity: "warning" }];
      await bench.looks(2);
      const { id = -1 } = bench.engine.state.nodes.get(nodeId("n1"))?.qualification ?? {};
      bench.receive({ kind: "qualificationStarted", nodeId: nodeId("n1"), id, run: 1, expectedMs: 1 });
      const end = { isPassed: true, durationMs: 1, detail: "" };
      bench.receive({ kind: "qualificationEnded", nodeId: nodeId("n1"), id, run: 1, ...end });
      bench.restart();
      await bench.looks(2);
      expect([bench.reported, phase(bench)]).toEqual([["slurm-drain", "slurm-not-responding"], undefined]);
      // The repair happens while the control plane does not run.
      bench.signals = [];
      bench.nowMs += 600_000;
      bench.past = async () => ({ signals: [{ ...drain, endedAtMs: bench.nowMs - 1_000 }], unknown: "" });
      bench.restart();
      await bench.looks(4);
      expect([bench.reported.length, phase(bench)]).toEqual([2, "waiting"]);
    });

    it("let the node qualify although the control plane restarts before the proof is required", async () => {
      const bench = qualifying();
      bench.receive({ ...by, kind: "qualifyNode", nodeId: nodeId("n1") });
      const { id = -1 } = bench.engine.state.nodes.get(nodeId("n1"))?.qualification ?? {};
      const run = { nodeId: nodeId("n1"), id, run: 1 };
      bench.receive({ kind: "qualificationStarted", ...run, expectedMs: 1 });
      await bench.looks(1);
      // The suite runs on, so that the proof is required only when it has ended.
      bench.nowMs += 600_000;
      bench.past = async () => ({
        signals: [{ ...fault("slurm-drain"), endedAtMs: bench.nowMs - 1_000 }],
        unknown: "",
      });
      bench.restart();
      await bench.looks(1);
      bench.past = async () => ({ signals: [], unknown: "" });
      bench.restart();
      bench.receive({ kind: "qualificationEnded", ...run, isPassed: true, durationMs: 1, detail: "" });
      expect(phase(bench)).toBeUndefined();
      await bench.looks(1);
      expect(phase(bench)).toBe("waiting");
      bench.restart();
      expect([...bench.memory.owed]).toEqual([]);
    });

    it("are asked for again after an overload, and stated as unknown if the executor does not say", async () => {
      const bench = new Bench(home);
      await bench.looks(2);
      bench.signals = null;
      await bench.looks(10);
      bench.signals = [];
      bench.past = async () => ({ signals: [{ ...fault("k8s-not-ready"), endedAtMs: bench.nowMs }], unknown: "" });
      bench.isOverloaded = true;
      await bench.looks(2);
      expect([bench.reported, bench.memory.unwatched]).toEqual([[], []]);
      bench.isOverloaded = false;
      await bench.looks(2);
      expect([bench.reported, bench.memory.unwatched.length]).toEqual([["k8s-not-ready"], 1]);
      bench.nowMs += 30 * 86_400_000;
      const periods: UnwatchedPeriod[] = [];
      bench.past = async (period) => {
        periods.push(period);
        throw new Error("slurmctld is away");
      };
      await bench.looks(120);
      // Slurmdbd can be up later than the control plane.
      expect([bench.memory.unwatched.length, periods.length]).toEqual([1, 20]);
      await bench.looks(1);
      expect(bench.memory.unwatched[0]?.unknown).toMatch(
        /slurmctld is away\. Only the newest seven days were asked for\.$/,
      );
      expect(new Set(periods.map(({ fromMs, untilMs }) => untilMs - fromMs))).toEqual(new Set([7 * 86_400_000]));
    });

    it("are asked for again until the executor states them, also by the next process", async () => {
      const bench = qualifying();
      const known = { ...fault("slurm-not-responding"), severity: "warning" } as const;
      bench.signals = [known];
      await bench.looks(7);
      const stoppedAtMs = bench.nowMs;
      const periods: UnwatchedPeriod[] = [];
      bench.past = async (period) => {
        periods.push(period);
        throw new Error("Connection refused");
      };
      bench.signals = [];
      bench.nowMs += 600_000;
      bench.restart();
      await bench.looks(8);
      bench.restart();
      await bench.looks(8);
      const begunAtMs = bench.nowMs - 35_000;
      expect([periods.length, bench.memory.unwatched]).toEqual([4, []]);
      bench.past = async (period) => {
        periods.push(period);
        const ended = { endedAtMs: stoppedAtMs + 1_000 };
        return { signals: [fault("slurm-drain"), known].map((each) => ({ ...each, ...ended })), unknown: "" };
      };
      await bench.looks(6);
      // Looks since the start are no part of the period.
      expect([periods.length, periods.at(-1)?.untilMs]).toEqual([5, begunAtMs]);
      expect(periods.at(-1)?.fromMs).toBeLessThanOrEqual(stoppedAtMs);
      expect([bench.memory.unwatched.length, phase(bench)]).toEqual([1, "waiting"]);
      await bench.looks(6);
      expect(periods.length).toBe(5);
    });

    it("are taken in at the first try as far as they are known, and once a proof is required for them", async () => {
      const bench = qualifying();
      await bench.looks(2);
      const rebooted = { ...fault("slurm-rebooted"), severity: "warning", endedAtMs: bench.nowMs + 60_000 } as const;
      bench.past = async () => ({ signals: [rebooted], unknown: "slurmdbd is away.", isPartial: true });
      bench.nowMs += 600_000;
      bench.restart();
      await bench.looks(1);
      expect([bench.reported, phase(bench), bench.memory.unwatched]).toEqual([["slurm-rebooted"], "waiting", []]);
      const pass = (): void => {
        const { id = -1 } = bench.engine.state.nodes.get(nodeId("n1"))?.qualification ?? {};
        const run = { nodeId: nodeId("n1"), id, run: 1 };
        bench.receive({ kind: "qualificationStarted", ...run, expectedMs: 1 });
        bench.receive({ kind: "qualificationEnded", ...run, isPassed: true, durationMs: 1, detail: "" });
      };
      pass();
      await bench.looks(20);
      expect([bench.reported, phase(bench), bench.memory.unwatched]).toEqual([["slurm-rebooted"], undefined, []]);
      // The node restarts again while the executor does not answer.
      bench.signals = null;
      const again = { ...rebooted, endedAtMs: bench.nowMs + 30_000 };
      bench.past = async () => ({ signals: [again], unknown: "slurmdbd is away.", isPartial: true });
      await bench.looks(10);
      bench.signals = [];
      await bench.looks(1);
      expect([bench.reported, phase(bench)]).toEqual([["slurm-rebooted", "slurm-rebooted"], "waiting"]);
      pass();
      const down = { ...fault("slurm-down"), endedAtMs: rebooted.endedAtMs };
      bench.past = async () => ({ signals: [down], unknown: "" });
      await bench.looks(6);
      expect([bench.reported, phase(bench)]).toEqual([["slurm-rebooted", "slurm-rebooted", "slurm-down"], undefined]);
      expect(bench.memory.unwatched).toMatchObject([{ unknown: "" }]);
      // A source that does not come back leaves the rest unknown.
      bench.past = async () => ({ signals: [], unknown: "slurmdbd is away.", isPartial: true });
      bench.nowMs += 600_000;
      bench.restart();
      await bench.looks(122);
      expect(bench.memory.unwatched).toMatchObject([{ unknown: "slurmdbd is away." }, { unknown: "" }]);
    });

    it("are asked for again for ten minutes after each absence of the executor", async () => {
      const bench = new Bench(home);
      await bench.looks(2);
      bench.past = async () => Promise.reject(new Error("Connection refused"));
      bench.nowMs += 600_000;
      bench.restart();
      await bench.looks(2);
      bench.signals = null;
      await bench.looks(200);
      bench.signals = [];
      await bench.looks(100);
      expect(bench.memory.unwatched).toEqual([]);
      await bench.looks(21);
      expect(bench.memory.unwatched).toHaveLength(1);
    });

    it("are not asked for after a restart of some seconds, whenever it happens", async () => {
      const bench = new Bench(home);
      for (let count = 1; count <= 12; count++) {
        await bench.looks(count);
        bench.nowMs += 15_000;
        bench.restart();
      }
      await bench.looks(1);
      expect([bench.memory.unwatched, bench.warnings]).toEqual([[], []]);
    });

    it("are reported with the newest of each code, sixteen of a node at most", async () => {
      const bench = new Bench(home);
      await bench.looks(1);
      bench.nowMs += 600_000;
      const ended = (code: string, second: number) => ({ ...fault(code), endedAtMs: second * 1_000 });
      const flapping = Array.from({ length: 500 }, (_, at) => ended("slurm-down", 1_010 + at));
      const others = Array.from({ length: 20 }, (_, at) => ended(`k8s-condition-${at}`, 1_100 + at));
      bench.past = async () => ({ signals: [...flapping.toReversed(), ...others], unknown: "" });
      bench.restart();
      await bench.looks(1);
      expect(bench.reported).toEqual([...others.slice(5).map(({ code }) => code), "slurm-down"]);
      expect(bench.memory.unwatched[0]?.signals).toBe(520);
    });

    it("are not asked for if what was stored cannot be read", async () => {
      writeFileSync(path.join(home, "node-signals.json"), '{"format":1,"known":');
      const bench = new Bench(home);
      await bench.looks(2);
      expect([bench.memory.unwatched, bench.warnings]).toEqual([[], []]);
    });
  });
});
