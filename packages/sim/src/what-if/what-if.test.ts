import { describe, expect, it } from "vitest";
import { commandId, nodeId, poolName, presets, siteName, teamName } from "@headroom/model";
import type { Input, WorkloadSpec } from "@headroom/model";
import { createEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { nodeLike } from "@headroom/explain";
import { whatIf } from "./what-if.ts";
import type { WhatIfChange } from "./what-if.ts";

const HOUR_MS = 3_600_000;
const by = { commandId: commandId("c"), actor: "ann", idempotencyKey: null };
const options = { nowMs: 1000, horizonMs: 24 * HOUR_MS, stepMs: HOUR_MS, arrivals: "none" } as const;
const nothing: WhatIfChange = { loseNodes: [], addNodes: [], teams: [], policy: null };

const spec = (name: string, accelerators: number, workers = 1): WorkloadSpec => ({
  kind: "train",
  name,
  team: teamName("default"),
  run: "true",
  dir: null,
  env: {},
  gang: { workers, accelerators, coresMilli: 0, memoryMib: 0 },
  acceleratorTypes: [],
  priority: 0,
  walltimeMs: 2 * HOUR_MS,
  retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
  graceTimeoutMs: 30_000,
  checkpointDir: null,
});

/** An engine with nodes of eight accelerators and work that started at once. */
function engineWith(specs: readonly WorkloadSpec[], nodes: number): Engine {
  const engine = createEngine();
  const receive = (inputs: readonly Input[]): void => {
    engine.receive(inputs, 1000);
    engine.advance();
  };
  const site = { name: siteName("dc"), fabricLevels: [] };
  const pool = {
    name: poolName("p"),
    site: site.name,
    executor: "simulated",
    acceleratorType: "H100",
    priceMicroUsdPerHour: 0,
  } as const;
  const node = { pool: pool.name, fabric: [], acceleratorCount: 8, coresMilli: 64_000, memoryMib: 65_536 };
  receive([
    { ...by, kind: "apply", sites: [site], pools: [pool], teams: [], workloads: [] },
    ...Array.from({ length: nodes }, (_, index): Input => ({
      kind: "nodeSeen",
      node: { id: nodeId(`n${index + 1}`), ...node },
    })),
    ...specs.map((each): Input => ({ ...by, kind: "submitWorkload", spec: each })),
  ]);
  receive([...engine.state.attempts.keys()].map((attemptId): Input => ({ kind: "attemptRunning", attemptId })));
  return engine;
}

/** Two nodes of eight, both full, and three workloads of eight that wait. */
const busyEngine = (): Engine =>
  engineWith(
    Array.from({ length: 5 }, (_, index) => spec(`w${index}`, 8)),
    2,
  );

describe("what if", () => {
  it("changes nothing where nothing is otherwise, and leaves the engine as it was", () => {
    const engine = busyEngine();
    const before = engine.digest();
    const { present, changed, moved } = whatIf(engine, nothing, options);
    expect(changed).toEqual(present);
    expect(moved).toEqual([]);
    expect([...present.starts.values()].map(({ taskCount }) => taskCount)).toEqual([1, 1, 1]);
    expect(present.samples).toHaveLength(25);
    expect(present.samples[0]).toMatchObject({
      atMs: 1000,
      heldAccelerators: 16,
      usableAccelerators: 16,
      waitingWorkloads: 3,
    });
    expect(engine.digest()).toBe(before);
  });

  it("starts what waits earlier with more nodes, and later with fewer", () => {
    const more = whatIf(busyEngine(), { ...nothing, addNodes: [{ like: "n1", count: 3 }] }, options);
    expect([...more.changed.starts.values()].map(({ firstAtMs }) => firstAtMs)).toEqual([1000, 1000, 1000]);
    expect(more.moved).toHaveLength(3);
    expect(more.changed.samples[0]).toMatchObject({ heldAccelerators: 40, waitingWorkloads: 0, startedWorkloads: 3 });
    expect(more.present.samples[0]).toMatchObject({ heldAccelerators: 16, waitingWorkloads: 3, startedWorkloads: 0 });
    expect(more.present.samples.at(-1)).toMatchObject({ startedWorkloads: 3 });
    const fewer = whatIf(busyEngine(), { ...nothing, loseNodes: ["n2"] }, options);
    expect(fewer.changed.samples[0]).toMatchObject({ usableAccelerators: 8 });
    for (const { presentAtMs, changedAtMs } of fewer.moved)
      expect(changedAtMs ?? Number.POSITIVE_INFINITY).toBeGreaterThan(presentAtMs ?? Number.POSITIVE_INFINITY);
    expect(fewer.moved.length).toBeGreaterThan(0);
  });

  it("starts what waits on an added pool of another type at an added site", () => {
    const site = { name: siteName("new"), fabricLevels: ["leaf"] };
    const pool = {
      name: poolName("b200"),
      site: site.name,
      executor: "simulated",
      acceleratorType: "B200",
      priceMicroUsdPerHour: 0,
    } as const;
    const nodes = ["b1", "b2"].map((id) => ({
      id: nodeId(id),
      pool: pool.name,
      fabric: ["b200"],
      acceleratorCount: 8,
      coresMilli: 64_000,
      memoryMib: 65_536,
    }));
    const added = { sites: [site], pools: [pool], nodes };
    const { present, changed } = whatIf(busyEngine(), { ...nothing, added }, options);
    expect(changed.refusals).toEqual([]);
    expect(present.samples[0]).toMatchObject({ heldAccelerators: 16, waitingWorkloads: 3 });
    expect(changed.samples[0]).toMatchObject({ heldAccelerators: 32, usableAccelerators: 32, waitingWorkloads: 1 });
  });

  it("tells starts as the forecast of the state has them, moved by what the change moves", () => {
    const engine = busyEngine();
    const change = { ...nothing, loseNodes: ["n2"] };
    const played = whatIf(engine, change, options).moved;
    expect(played.length).toBeGreaterThan(0);
    const forecast = new Map(played.map(({ workloadId }, index) => [workloadId, 7_000_000 + index * 1000]));
    for (const [index, moved] of whatIf(engine, change, { ...options, forecast }).moved.entries()) {
      const { presentAtMs, changedAtMs } = played[index]!;
      expect(moved.presentAtMs).toBe(forecast.get(moved.workloadId));
      if (presentAtMs === null || changedAtMs === null) continue;
      expect(moved.changedAtMs! - moved.presentAtMs!).toBe(changedAtMs - presentAtMs);
    }
    const untold = new Map(played.map(({ workloadId }) => [workloadId, null]));
    for (const { presentAtMs } of whatIf(engine, change, { ...options, forecast: untold }).moved)
      expect(presentAtMs).toBeNull();
  });

  it("adds up what is said of one node twice, and leaves nodes alone whose names it would give", () => {
    const twice = [
      { like: "n1", count: 1 },
      { like: "n1", count: 1 },
    ];
    const usable = (engine: Engine): number | undefined =>
      whatIf(engine, { ...nothing, addNodes: twice }, options).changed.samples[0]?.usableAccelerators;
    expect(usable(busyEngine())).toBe(32);
    const engine = busyEngine();
    const known = engine.state.nodes.get(nodeId("n1"));
    if (known === undefined) throw new Error("n1 is not there");
    engine.receive([{ kind: "nodeSeen", node: { ...nodeLike(known, 0) } }], 1000);
    engine.advance();
    expect(usable(engine)).toBe(40);
  });

  it("takes another policy and other teams, and says what the engine refuses", () => {
    const engine = busyEngine();
    const limited = { name: teamName("default"), parent: null, limit: { H100: 8 } };
    const { changed } = whatIf(engine, { ...nothing, teams: [limited], policy: presets.get("fifo") ?? null }, options);
    expect(changed.refusals).toEqual([]);
    for (const { heldAccelerators } of changed.samples.slice(3)) expect(heldAccelerators).toBeLessThanOrEqual(16);
    const orphan = { name: teamName("x"), parent: teamName("nobody"), limit: {} };
    expect(whatIf(engine, { ...nothing, teams: [orphan] }, options).changed.refusals).toEqual(["unknownTeam"]);
  });

  it("takes work to last as it typically does, the same whenever it is asked", () => {
    const engine = busyEngine();
    const startOf = (nowMs: number): number | null | undefined =>
      whatIf(engine, nothing, { ...options, nowMs })
        .present.starts.values()
        .next().value?.firstAtMs;
    // No similar work has ended, so the model assumes half an hour for any work, but no longer than its walltime.
    for (const nowMs of [1000, 2000, 31_000]) expect(startOf(nowMs)).toBe(1000 + 32 * 60_000);
  });

  it("says of what runs that the change interrupts it, when it runs again and what is done again", () => {
    const engine = engineWith([spec("both", 8, 2), spec("single", 8), spec("next", 8)], 3);
    const nowMs = 61_000;
    const { present, changed, moved, interrupted } = whatIf(
      engine,
      { ...nothing, loseNodes: ["n1"] },
      { ...options, nowMs, stepMs: 10_000 },
    );
    expect(present.interruptions.size).toBe(0);
    expect(interrupted).toMatchObject([
      {
        workloadId: "w1",
        present: null,
        changed: { taskCount: 1, atMs: nowMs, lostAcceleratorMs: 16 * 60_000 },
      },
    ]);
    expect(interrupted[0]?.changed?.againAtMs).toBeGreaterThan(nowMs + 30 * 60_000);
    expect(moved).toHaveLength(1);
    // The gang's worker on the other node ends after its grace period. Usage on the lost node ends at once.
    expect(changed.samples.slice(0, 5).map(({ heldAccelerators }) => heldAccelerators)).toEqual([16, 16, 16, 16, 16]);
    for (const { samples } of [present, changed])
      for (const { heldAccelerators, usableAccelerators, heldByTeam } of samples) {
        expect(heldAccelerators).toBeLessThanOrEqual(usableAccelerators);
        expect(heldByTeam["default"]).toBe(heldAccelerators);
      }
  });

  it("lets what is interrupted go on from the checkpoint that it has", () => {
    const endsAtMs = (saves: boolean): number | undefined => {
      const engine = engineWith([spec("one", 8)], 2);
      const [attemptId] = engine.state.attempts.keys();
      if (attemptId === undefined) throw new Error("nothing runs");
      if (saves) {
        engine.receive([{ kind: "checkpointReported", attemptId, step: 1, path: "/c" }], 1000 + 10 * 60_000);
        engine.advance();
      }
      const node = engine.state.attempts.get(attemptId)?.workers[0]?.node ?? "";
      const nowMs = 1000 + 15 * 60_000;
      const change = { ...nothing, loseNodes: [node] };
      const { changed, interrupted } = whatIf(engine, change, {
        nowMs,
        horizonMs: 2 * HOUR_MS,
        stepMs: 60_000,
        arrivals: "none",
      });
      expect(interrupted[0]?.changed).toMatchObject({ lostAcceleratorMs: 8 * (saves ? 5 : 15) * 60_000 });
      return changed.samples.findLast(({ heldAccelerators }) => heldAccelerators > 0)?.atMs;
    };
    expect((endsAtMs(false) ?? 0) - (endsAtMs(true) ?? 0)).toBe(10 * 60_000);
  });

  it("counts what draining nodes still have in use among what there is", () => {
    const engine = busyEngine();
    engine.receive([{ ...by, kind: "drainNode", nodeId: nodeId("n1"), running: "wait" }], 1000);
    engine.advance();
    const { present } = whatIf(engine, nothing, options);
    expect(present.samples[0]).toMatchObject({ heldAccelerators: 16, usableAccelerators: 16 });
    expect(present.samples.at(-1)).toMatchObject({ usableAccelerators: 8 });
  });

  it("counts the tasks of an array that wait while others run", () => {
    const { kind: _kind, ...rest } = spec("array", 4);
    const engine = engineWith([{ ...rest, kind: "batch", taskCount: 10 }], 2);
    expect(engine.state.workloads.values().next().value).toMatchObject({ phase: "running", nextTask: 4 });
    const { moved, present, changed } = whatIf(engine, { ...nothing, addNodes: [{ like: "n1", count: 1 }] }, options);
    expect(moved).toEqual([
      {
        workloadId: "w1",
        taskCount: 6,
        presentAtMs: 1000 + 32 * 60_000,
        changedAtMs: 1000,
        presentLastAtMs: 1000 + 64 * 60_000,
        changedLastAtMs: 1000 + 32 * 60_000,
      },
    ]);
    expect(present.samples[0]).toMatchObject({ waitingTasks: 6, startedTasks: 0, startedWorkloads: 0 });
    expect(changed.samples[0]).toMatchObject({ waitingTasks: 4, startedTasks: 2, startedWorkloads: 1 });
  });

  it("has no more in use than there is while a place is kept for who comes next", () => {
    const victims = [0, 1].map((index) => ({ ...spec(`v${index}`, 8), preemptible: true as const }));
    const engine = engineWith(victims, 2);
    const fast = { ...options, horizonMs: 120_000, stepMs: 5000 };
    const urgent = { ...spec("urgent", 8), priority: 10 };
    const policy = presets.get("default");
    if (policy === undefined) throw new Error("there is no default");
    engine.receive(
      [
        { ...by, kind: "setPolicy", policy },
        { ...by, kind: "submitWorkload", spec: urgent },
      ],
      1000,
    );
    engine.advance();
    const { present, changed } = whatIf(engine, { ...nothing, loseNodes: ["n2"] }, fast);
    expect(present.interruptions.size).toBe(1);
    for (const { samples } of [present, changed])
      for (const { heldAccelerators, usableAccelerators } of samples)
        expect(heldAccelerators).toBeLessThanOrEqual(usableAccelerators);
  });

  it("repeats the submissions of the recent past, which wait less with more nodes", () => {
    const recorded = { ...options, horizonMs: 6 * HOUR_MS, arrivals: "recorded" } as const;
    const { arrivals, present, changed } = whatIf(
      busyEngine(),
      { ...nothing, addNodes: [{ like: "n1", count: 8 }] },
      recorded,
    );
    expect(arrivals).toMatchObject({ recordedCount: 5, recordedFromMs: options.nowMs - HOUR_MS });
    expect(arrivals?.arrivals).toHaveLength(30);
    expect(present.arrived.count).toBe(30);
    expect(changed.arrived.count).toBe(30);
    expect(changed.arrived.startedCount).toBeGreaterThan(present.arrived.startedCount);
    expect(changed.arrived.meanWaitMs).toBeLessThan(present.arrived.meanWaitMs);
    expect(present.samples.at(-1)?.waitingWorkloads).toBeGreaterThan(5);
    expect(present.starts.size).toBe(3);
    expect(present.refusals).toEqual([]);
    const none = whatIf(busyEngine(), nothing, options);
    expect(none.arrivals).toBeNull();
    expect(none.present.arrived).toEqual({ count: 0, startedCount: 0, meanWaitMs: 0 });
  });
});
