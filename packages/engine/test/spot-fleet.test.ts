/** A fleet whose nodes come and go does not grow: state, indexes and snapshot hold what is there now. */
import { describe, expect, it } from "vitest";
import { checkBatch, checkInvariants } from "@headroom/engine-oracle";
import { restoreEngine } from "../src/index.ts";
import { SpotFleet } from "./lab/spot-fleet.ts";

describe("a spot fleet", () => {
  it("that replaces its 100 nodes 100 times keeps its snapshot within 2%, and uses no ordinal twice", () => {
    const ordinals = new Set<number>();
    const fleet = new SpotFleet({ nodes: 100, groupSize: 20, gangs: 20 });
    const { engine } = fleet;
    const note = (): void => {
      for (const { ordinal } of engine.state.nodes.values()) ordinals.add(ordinal);
    };
    note();
    // The records of ended attempts fill up first; each workload keeps a bounded number of them.
    for (let times = 0; times < 20; times++, note()) fleet.replaceAll();
    const before = engine.snapshot().length;
    for (let times = 20; times < 100; times++, note()) fleet.replaceAll();
    const after = engine.snapshot().length;
    expect(engine.state.nodes.size).toBe(100);
    expect(engine.state.joinedNodeCount).toBe(10_100);
    expect(ordinals.size).toBe(10_100);
    expect(Math.abs(after - before)).toBeLessThan(0.02 * before);
    expect(engine.state.attempts.size).toBe(20);
    expect(checkInvariants(engine)).toEqual([]);
    const restored = restoreEngine(engine.snapshot());
    expect(restored.digest()).toBe(engine.digest());
    expect(checkInvariants(restored)).toEqual([]);
  });

  it("keeps every invariant in every batch", () => {
    const fleet: SpotFleet = new SpotFleet({ nodes: 12, groupSize: 3, gangs: 4 }, (ready) => {
      // The constructor's batches come before the fleet exists.
      if (ready.atMs === 0) return;
      const { engine } = fleet;
      expect([...checkInvariants(engine), ...checkBatch(engine.state, ready)]).toEqual([]);
    });
    for (let times = 0; times < 5; times++) fleet.replaceAll();
    expect(fleet.engine.state.joinedNodeCount).toBe(72);
  });
});
