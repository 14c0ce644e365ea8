import { describe, expect, it } from "vitest";
import { addUtilization, createEngine, restoreEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { attemptId, commandId, nodeId, poolName, siteName, teamName, workloadId } from "@headroom/model";
import type { Input, UtilizationReport } from "@headroom/model";
import { findWaste } from "./idle-resources.ts";
import type { AttemptTelemetry } from "./idle-resources.ts";

const by = { commandId: commandId("c"), actor: "ann", idempotencyKey: null };
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const first = attemptId("w1.1");

function receive(engine: Engine, nowMs: number, ...inputs: readonly Input[]): void {
  engine.receive(inputs, nowMs);
  engine.advance();
}

/** An engine with one node of eight accelerators, on which a workload of eight runs since time 0. */
function running(walltimeMs: number | null = null): Engine {
  const engine = createEngine();
  const pool = {
    name: poolName("p"),
    site: siteName("dc"),
    executor: "simulated",
    acceleratorType: "H100",
    priceMicroUsdPerHour: 0,
  } as const;
  const node = { id: nodeId("n1"), pool: pool.name, fabric: [], acceleratorCount: 8, coresMilli: 0, memoryMib: 0 };
  receive(
    engine,
    0,
    { ...by, kind: "apply", sites: [{ name: pool.site, fabricLevels: [] }], pools: [pool], teams: [], workloads: [] },
    { kind: "nodeSeen", node },
    submission("job-1", walltimeMs),
  );
  receive(engine, 0, { kind: "attemptRunning", attemptId: first });
  return engine;
}

const submission = (name: string, walltimeMs: number | null): Input => ({
  ...by,
  kind: "submitWorkload",
  spec: {
    kind: "train",
    name,
    team: teamName("default"),
    run: "true",
    dir: null,
    env: {},
    gang: { workers: 1, accelerators: 8, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    priority: 0,
    walltimeMs,
    retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
    graceTimeoutMs: 0,
    checkpointDir: null,
  },
});

const report = (busyAccelerators: number, more: Partial<UtilizationReport> = {}): UtilizationReport => ({
  accelerators: 8,
  busyAccelerators,
  busyMilli: busyAccelerators * 100,
  peakMemoryMib: null,
  capacityMib: null,
  ...more,
});

/** The attempt's reports, as the telemetry store returns them. */
class Reported {
  #telemetry: AttemptTelemetry = { progressAtMs: null, utilization: null };
  readonly telemetryOf = (): AttemptTelemetry => this.#telemetry;

  use(atMs: number, used: UtilizationReport): void {
    const before = this.#telemetry.utilization ?? undefined;
    this.#telemetry = { ...this.#telemetry, utilization: addUtilization(before, used, { atMs, startedAtMs: 0 }) };
  }

  progress(progressAtMs: number): void {
    this.#telemetry = { ...this.#telemetry, progressAtMs };
  }
}

const tick = { kind: "tick" } as const;

describe("waste", () => {
  it("is not found where nobody told anything", () => {
    const engine = running();
    receive(engine, 100 * HOUR_MS, { kind: "tick" });
    expect(findWaste(engine)).toEqual([]);
  });

  it("says how many of its accelerators were ever busy, once it has warmed up", () => {
    const engine = running();
    const told = new Reported();
    told.use(MINUTE_MS, report(1));
    expect(findWaste(engine, null, told.telemetryOf)).toEqual([]);
    told.use(20 * MINUTE_MS, report(2));
    told.use(40 * MINUTE_MS, report(1));
    expect(findWaste(engine, null, told.telemetryOf)).toEqual([
      expect.objectContaining({
        kind: "unusedAccelerators",
        heldCount: 8,
        mostBusyCount: 2,
        forMs: 40 * MINUTE_MS,
        wastedAcceleratorMs: 6 * 40 * MINUTE_MS,
      }),
    ]);
    told.use(50 * MINUTE_MS, report(8));
    expect(findWaste(engine, null, told.telemetryOf)).toEqual([]);
  });

  it("says since when all of them are idle, as far as was told", () => {
    const engine = running();
    const told = new Reported();
    told.use(HOUR_MS, report(8));
    told.use(3 * HOUR_MS, report(0));
    receive(engine, 9 * HOUR_MS, tick);
    const [found] = findWaste(engine, null, told.telemetryOf);
    expect(found).toMatchObject({ kind: "idle", forMs: 2 * HOUR_MS, wastedAcceleratorMs: 16 * HOUR_MS });
    expect(findWaste(engine, workloadId("w2"), told.telemetryOf)).toEqual([]);
  });

  it("knows from the journal alone since when they are idle", () => {
    const engine = running();
    receive(engine, HOUR_MS, { kind: "idleChangesReported", changes: [[first, HOUR_MS]] });
    receive(engine, 3 * HOUR_MS, tick);
    const [found] = findWaste(engine);
    expect(found).toMatchObject({ kind: "idle", forMs: 2 * HOUR_MS, wastedAcceleratorMs: 16 * HOUR_MS });
    const restored = restoreEngine(engine.snapshot());
    receive(restored, 3 * HOUR_MS, tick);
    expect(findWaste(restored)).toEqual([found]);
    receive(engine, 3 * HOUR_MS, { kind: "utilizationReported", attemptId: first, ...report(8) });
    expect(findWaste(engine)).toEqual([]);
  });

  it("compares the most memory that was used with what an accelerator has", () => {
    const engine = running();
    const told = new Reported();
    told.use(HOUR_MS, report(8, { peakMemoryMib: 9216, capacityMib: 81_920 }));
    told.use(2 * HOUR_MS, report(8, { peakMemoryMib: 4096, capacityMib: 81_920 }));
    expect(findWaste(engine, null, told.telemetryOf)).toEqual([
      expect.objectContaining({
        kind: "memoryTooLarge",
        peakMib: 9216,
        capacityMib: 81_920,
        wastedAcceleratorMs: null,
      }),
    ]);
    told.use(3 * HOUR_MS, report(8, { peakMemoryMib: 60_000, capacityMib: 81_920 }));
    expect(findWaste(engine, null, told.telemetryOf)).toEqual([]);
  });

  it("notices that work which told of its progress tells no more", () => {
    const engine = running();
    const told = new Reported();
    told.progress(HOUR_MS);
    receive(engine, 90 * MINUTE_MS, tick);
    expect(findWaste(engine, null, told.telemetryOf)).toEqual([]);
    receive(engine, 4 * HOUR_MS, tick);
    expect(findWaste(engine, null, told.telemetryOf)).toEqual([
      expect.objectContaining({ kind: "noProgress", forMs: 3 * HOUR_MS }),
    ]);
    told.use(4 * HOUR_MS, report(8));
    expect(findWaste(engine, null, told.telemetryOf)).toEqual([]);
  });

  it("compares a walltime with what such work took, once enough of it has ended", () => {
    const engine = running(168 * HOUR_MS);
    for (let run = 1; run <= 5; run++) {
      expect(findWaste(engine)).toEqual([]);
      const nowMs = run * 2 * HOUR_MS;
      const exits = [{ kind: "exited", worker: 0, code: 0 }] as const;
      receive(
        engine,
        nowMs,
        { kind: "attemptExited", attemptId: attemptId(`w${run}.1`), exits },
        submission(`job-${run + 1}`, 168 * HOUR_MS),
      );
      receive(engine, nowMs, { kind: "attemptRunning", attemptId: attemptId(`w${run + 1}.1`) });
    }
    const facts = { walltimeMs: 168 * HOUR_MS, longestMs: 2 * HOUR_MS, runCount: 5, wastedAcceleratorMs: null };
    expect(findWaste(engine)).toEqual([{ kind: "walltimeTooLong", workloadId: "w6", ...facts }]);
  });
});
