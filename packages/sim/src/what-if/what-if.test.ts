import { describe, expect, it } from "vitest";
import {
  commandId,
  createEngine,
  nodeId,
  nodeLike,
  poolName,
  presets,
  siteName,
  teamName,
  type Engine,
  type Input,
  type WorkloadSpec,
} from "@headroom/engine";
import { whatIf } from "./what-if.ts";
import type { WhatIfChange } from "./what-if.ts";

const HOUR_MS = 3_600_000;
const by = { commandId: commandId("c"), actor: "ann", idempotencyKey: null };
const options = { nowMs: 1000, horizonMs: 24 * HOUR_MS, stepMs: HOUR_MS, seed: 1 };
const nothing: WhatIfChange = { loseNodes: [], addNodes: [], teams: [], policy: null };

const spec = (name: string, accelerators: number): WorkloadSpec => ({
  kind: "train",
  name,
  team: teamName("default"),
  run: "true",
  dir: null,
  env: {},
  gang: { workers: 1, accelerators, coresMilli: 0, memoryMib: 0 },
  acceleratorTypes: [],
  priority: 0,
  walltimeMs: 2 * HOUR_MS,
  retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
  graceTimeoutMs: 30_000,
  checkpointDir: null,
});

/** Two nodes of eight, both full, and three workloads of eight that wait. */
function busyEngine(): Engine {
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
  receive([
    { ...by, kind: "apply", sites: [site], pools: [pool], teams: [], workloads: [] },
    ...["n1", "n2"].map((id): Input => ({
      kind: "nodeSeen",
      node: { id: nodeId(id), pool: pool.name, fabric: [], acceleratorCount: 8, coresMilli: 64_000, memoryMib: 65_536 },
    })),
    ...Array.from({ length: 5 }, (_, index): Input => ({ ...by, kind: "submitWorkload", spec: spec(`w${index}`, 8) })),
  ]);
  receive([...engine.state.attempts.keys()].map((attemptId): Input => ({ kind: "attemptRunning", attemptId })));
  return engine;
}

describe("what if", () => {
  it("changes nothing where nothing is otherwise, and leaves the engine as it was", () => {
    const engine = busyEngine();
    const before = engine.digest();
    const { present, changed, moved } = whatIf(engine, nothing, options);
    expect(changed).toEqual(present);
    expect(moved).toEqual([]);
    expect(present.starts.size).toBe(3);
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
    expect([...more.changed.starts.values()]).toEqual([1000, 1000, 1000]);
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
});
