import { nodeId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { lemonFindings } from "../remedies/node-findings.ts";
import { FaultScores } from "./fault-scores.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const [n1, n2] = [nodeId("n1"), nodeId("n2")];
const warning = (code: string) => ({ code, severity: "warning" as const, detail: "" });

describe("scores of nodes that fail again and again", () => {
  it("add up, halve every three days, and count a burst of messages once", () => {
    const scores = new FaultScores();
    for (let minute = 0; minute < 5; minute++) scores.reported(n1, minute * 60_000, [warning("link-flap")]);
    expect(scores.above(0.5, 300_000)).toMatchObject([{ node: "n1", events: 1, codes: ["link-flap"] }]);
    expect(scores.above(0.5, 300_000)[0]?.score).toBeCloseTo(1, 2);
    // The same burst becomes critical: it counts as one critical fault.
    scores.reported(n1, 300_000, [{ ...warning("xid-79"), severity: "critical" }]);
    expect(scores.above(0.5, 300_000)[0]?.score).toBeCloseTo(2, 2);
    scores.lost(n1, HOUR_MS);
    expect(scores.above(0.01, HOUR_MS)).toMatchObject([{ events: 2, codes: ["link-flap", "xid-79", "lost"] }]);
    const [before] = scores.above(0.01, HOUR_MS);
    const [after] = scores.above(0.01, HOUR_MS + 3 * DAY_MS);
    expect(after?.score).toBeCloseTo((before?.score ?? 0) / 2, 5);
  });

  it.each([1, 9, 11])("grow while a node fails every %d minutes, also across a restart", (every) => {
    let scores = new FaultScores();
    for (let minute = 0; minute <= 600; minute += every) {
      scores.reported(n1, minute * 60_000, [warning("link-flap")]);
      const restored = new FaultScores();
      restored.restore(scores.stored());
      scores = restored;
    }
    const [found] = scores.above(4.5, 10 * HOUR_MS);
    expect(found?.events).toBeGreaterThan(30);
    expect(found?.score).toBeGreaterThan(25);
  });

  it("leave decisions of people and information out, survive a restart, and end with the node", () => {
    const scores = new FaultScores();
    scores.reported(n1, 0, [warning("slurm-drain"), { ...warning("x"), severity: "info" }, warning("k8s-taint-a")]);
    expect(scores.above(0.01, 0)).toEqual([]);
    scores.reported(n1, 0, [warning("ecc-corrected")]);
    const restored = new FaultScores();
    restored.restore(scores.stored());
    expect(restored.above(0.01, 0)).toEqual(scores.above(0.01, 0));
    restored.forget(n1);
    expect(restored.above(0.01, 0)).toEqual([]);
  });

  it("make a finding of a node in service that no other finding is about", () => {
    const scores = new FaultScores();
    for (let hour = 0; hour < 5; hour++) {
      scores.reported(n1, hour * HOUR_MS, [warning("link-flap")]);
      scores.reported(n2, hour * HOUR_MS, [warning("link-flap")]);
    }
    const up = { health: "up", draining: false, acceleratorCount: 8 } as const;
    const nodes = new Map([
      [n1, up],
      [n2, { ...up, draining: true }],
    ]);
    const nowMs = 5 * HOUR_MS;
    const found = lemonFindings(scores, nodes, { nowMs, others: [] });
    expect(found).toMatchObject([
      { id: "lemon:n1:0", kind: "lemon", change: { kind: "advice" }, reason: "n1 fails again and again: link-flap" },
    ]);
    const [own] = found;
    if (own === undefined) throw new Error("the finding is missing");
    const drain = { ...own, change: { kind: "drain", nodeId: n1, running: "requeue" } as const };
    expect(lemonFindings(scores, nodes, { nowMs, others: [drain] })).toEqual([]);
    expect(lemonFindings(scores, nodes, { nowMs: nowMs + 2 * DAY_MS, others: [] })).toHaveLength(1);
    expect(lemonFindings(scores, nodes, { nowMs: nowMs + 4 * DAY_MS, others: [] })).toEqual([]);
  });
});
