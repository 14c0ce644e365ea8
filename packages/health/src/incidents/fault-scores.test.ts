import { nodeId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { lemonFindings, nodeFindings } from "../remedies/node-findings.ts";
import { FaultScores } from "./fault-scores.ts";
import { IncidentFold } from "./incident-fold.ts";
import { lostAt, PlantedFleet } from "./planted-incidents.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const [n1, n2] = [nodeId("n1"), nodeId("n2")];
const none: ReadonlySet<string> = new Set();
const at = (atMs: number) => ({ atMs, isOpen: false });
const warning = (code: string) => ({ code, severity: "warning" as const, detail: "" });

describe("scores of nodes that fail again and again", () => {
  it("add up, halve every three days, and count a burst of messages once", () => {
    const scores = new FaultScores();
    for (let minute = 0; minute < 5; minute++) scores.reported(n1, at(minute * 60_000), [warning("link-flap")]);
    expect(scores.above(0.5, 300_000, none)).toMatchObject([{ node: "n1", events: 1, codes: ["link-flap"] }]);
    expect(scores.above(0.5, 300_000, none)[0]?.score).toBeCloseTo(1, 2);
    // The same burst becomes critical: it counts as one critical fault.
    scores.reported(n1, at(300_000), [{ ...warning("xid-79"), severity: "critical" }]);
    expect(scores.above(0.5, 300_000, none)[0]?.score).toBeCloseTo(2, 2);
    scores.lost(n1, at(HOUR_MS));
    expect(scores.above(0.01, HOUR_MS, none)).toMatchObject([{ events: 2, codes: ["link-flap", "xid-79", "lost"] }]);
    const [before] = scores.above(0.01, HOUR_MS, none);
    const [after] = scores.above(0.01, HOUR_MS + 3 * DAY_MS, none);
    expect(after?.score).toBeCloseTo((before?.score ?? 0) / 2, 5);
  });

  it.each([1, 9, 11])("grow while a node fails every %d minutes, also across a restart", (every) => {
    let scores = new FaultScores();
    for (let minute = 0; minute <= 600; minute += every) {
      scores.reported(n1, at(minute * 60_000), [warning("link-flap")]);
      const restored = new FaultScores();
      restored.restore(scores.stored());
      scores = restored;
    }
    const [found] = scores.above(4.5, 10 * HOUR_MS, none);
    expect(found?.events).toBeGreaterThan(30);
    expect(found?.score).toBeGreaterThan(25);
  });

  it("leave decisions of people and information out, survive a restart, and end with the node", () => {
    const scores = new FaultScores();
    scores.reported(n1, at(0), [
      warning("slurm-drain"),
      warning("slurm-rebooted"),
      { ...warning("x"), severity: "info" },
      warning("k8s-taint-a"),
    ]);
    const ofWork = ["memory", "disk", "pid"].map((name) => warning(`k8s-${name}-pressure`));
    scores.reported(n1, at(0), [...ofWork, warning("oom-kill")]);
    expect(scores.above(0.01, 0, none)).toEqual([]);
    scores.reported(n1, at(0), [warning("ecc-corrected")]);
    const restored = new FaultScores();
    restored.restore(scores.stored());
    expect(restored.above(0.01, 0, none)).toEqual(scores.above(0.01, 0, none));
    restored.forget(n1);
    expect(restored.above(0.01, 0, none)).toEqual([]);
  });

  const up = { health: "up", draining: false, acceleratorCount: 8 } as const;
  const reports = (fleet: PlantedFleet, names: readonly string[], atMs: number, code = "link-flap"): void => {
    for (const name of names)
      fleet.apply({
        kind: "faultsReported",
        version: 1,
        atMs,
        nodeId: nodeId(name),
        faults: [warning(code)],
        actor: "collector",
      });
  };

  it("make a finding of a node in service that no other finding is about", () => {
    const fleet = new PlantedFleet(64);
    for (let hour = 0; hour < 5; hour++) reports(fleet, ["n1", "n2"], hour * HOUR_MS);
    const { fold } = fleet;
    const nodes = new Map([
      [n1, up],
      [n2, { ...up, draining: true }],
    ]);
    const nowMs = 5 * HOUR_MS;
    const found = lemonFindings(fold, nodes, { nowMs, others: [] });
    expect(found).toMatchObject([
      { id: "lemon:n1:0", kind: "lemon", change: { kind: "advice" }, reason: "n1 fails again and again: link-flap" },
    ]);
    const [own] = found;
    if (own === undefined) throw new Error("the finding is missing");
    const drain = { ...own, change: { kind: "drain", nodeId: n1, running: "requeue" } as const };
    expect(lemonFindings(fold, nodes, { nowMs, others: [drain] })).toEqual([]);
    expect(lemonFindings(fold, nodes, { nowMs: nowMs + 2 * DAY_MS, others: [] })).toHaveLength(1);
    expect(lemonFindings(fold, nodes, { nowMs: nowMs + 4 * DAY_MS, others: [] })).toEqual([]);
  });

  const outages = (fleet: PlantedFleet, count: number, everyMs: number, own: readonly string[]): number => {
    for (let outage = 0; outage < count; outage++) {
      const fromMs = outage * everyMs;
      const loss = own.map((name, index) => lostAt(nodeId(name), fromMs + index * 1_000).event);
      // Some nodes report a fault of the link first.
      const faults = loss.slice(0, 8).flatMap((event) =>
        event.kind !== "nodeLost" || own.length === 1
          ? []
          : [
              {
                kind: "faultsReported" as const,
                version: 1 as const,
                atMs: fromMs,
                nodeId: event.nodeId,
                faults: [{ code: "ib-linkdowned", severity: "critical" as const, detail: "down" }],
                actor: "collector",
              },
            ],
      );
      for (const event of [...faults, ...loss]) fleet.apply(event);
      for (const name of own)
        fleet.apply({ kind: "nodeReturned", version: 1, atMs: fromMs + 600_000, nodeId: nodeId(name) });
    }
    return (count - 1) * everyMs + 700_000;
  };
  const findingsOf = (fold: IncidentFold, nowMs: number): readonly string[] => {
    const nodes = new Map(Array.from({ length: 64 }, (_, index) => [nodeId(`n${index}`), up] as const));
    return [...nodeFindings(fold.incidents(), nodes, nowMs), ...lemonFindings(fold, nodes, { nowMs, others: [] })].map(
      ({ id }) => id.split(":").slice(0, 2).join(":"),
    );
  };
  const leaf = Array.from({ length: 16 }, (_, index) => `n${16 + index}`);

  it("count no loss that a whole switch shares, whether or not more failures can follow", () => {
    const [day, hours] = [new PlantedFleet(64), new PlantedFleet(64)];
    const nowMs = outages(day, 4, DAY_MS / 2, leaf);
    expect(findingsOf(day.fold, nowMs)).toEqual([]);
    expect(findingsOf(IncidentFold.restore(day.fold.stored()), nowMs)).toEqual([]);
    expect(day.fold.repeatedFailures(0.5, nowMs)).toEqual({ own: [], shared: new Map() });
    expect(findingsOf(hours.fold, outages(hours, 6, HOUR_MS, leaf))).toEqual([]);
    // The loss of a node elsewhere ends the burst.
    day.apply(lostAt(nodeId("n50"), nowMs + HOUR_MS).event);
    expect(day.fold.scores.above(0.5, nowMs + HOUR_MS, none)).toMatchObject([{ node: "n50" }]);
  });

  it("count the losses of a node that fails alone", () => {
    const fleet = new PlantedFleet(64);
    const nowMs = outages(fleet, 3, HOUR_MS, ["n20"]);
    expect(findingsOf(fleet.fold, nowMs)).toEqual(["repeatedLoss:n20", "lemon:n20"]);
  });

  it("name the leaf whose nodes repeat a warning for hours, and beside it the node that has far more", () => {
    const fleet = new PlantedFleet(64);
    // One node of the leaf reports nothing, and the others report at different times.
    for (let minute = 0; minute < 12 * 60; minute++) {
      reports(
        fleet,
        leaf.slice(1).filter((_, index) => (minute + index * 17) % 60 === 0),
        minute * 60_000,
      );
      if (minute % 15 === 0) reports(fleet, ["n20"], minute * 60_000, "ecc-corrected");
    }
    const found = findingsOf(fleet.fold, 12 * HOUR_MS);
    expect(found).toEqual(['lemon:["fabric","leaf","dc","s0","l1"]'.split(":").slice(0, 2).join(":"), "lemon:n20"]);
  });

  it("count a fault that nodes of a leaf share once, however long they report it", () => {
    const fleet = new PlantedFleet(64);
    for (let minute = 0; minute < 6 * 60; minute += 5)
      for (const name of leaf)
        fleet.apply({
          kind: "faultsReported",
          version: 1,
          atMs: minute * 60_000,
          nodeId: nodeId(name),
          faults: [{ ...warning("ib-linkdowned"), severity: "critical" }],
          actor: "collector",
        });
    expect(fleet.fold.repeatedFailures(0.5, 6 * HOUR_MS)).toEqual({ own: [], shared: new Map() });
  });

  it("count no loss of a node in a leaf that failed shortly before", () => {
    const fleet = new PlantedFleet(64);
    const nowMs = outages(fleet, 1, HOUR_MS, leaf);
    for (let loss = 0; loss < 4; loss++) {
      const atMs = nowMs + loss * 400_000;
      fleet.apply(lostAt(nodeId("n20"), atMs).event);
      fleet.apply({ kind: "nodeReturned", version: 1, atMs: atMs + 1_000, nodeId: nodeId("n20") });
    }
    expect(fleet.fold.repeatedFailures(0.5, nowMs + HOUR_MS)).toEqual({ own: [], shared: new Map() });
  });

  it("count the losses of a node in a leaf of which another node stays away and goes on reporting", () => {
    const fleet = new PlantedFleet(64);
    for (const [at, name] of leaf.entries()) fleet.apply(lostAt(nodeId(name), at).event);
    for (const name of leaf.filter((each) => each !== "n17"))
      fleet.apply({ kind: "nodeReturned", version: 1, atMs: 600_000, nodeId: nodeId(name) });
    for (let minute = 60; minute < 16 * 60; minute += 20) {
      reports(fleet, ["n17"], minute * 60_000);
      if (minute % 180 !== 0) continue;
      fleet.apply(lostAt(nodeId("n20"), minute * 60_000 + 1_000).event);
      fleet.apply({ kind: "nodeReturned", version: 1, atMs: minute * 60_000 + 2_000, nodeId: nodeId("n20") });
    }
    expect(findingsOf(fleet.fold, 16 * HOUR_MS)).toEqual(["repeatedLoss:n20", "lemon:n20"]);
    reports(fleet, ["n17"], 16 * HOUR_MS);
    expect(findingsOf(fleet.fold, 16 * HOUR_MS)).toEqual(["repeatedLoss:n20", "lemon:n20"]);
  });

  it("count the losses of a node in a leaf whose faults nobody resolved", () => {
    const fleet = new PlantedFleet(64);
    for (const [at, name] of leaf.entries())
      fleet.apply({
        kind: "faultsReported",
        version: 1,
        atMs: at,
        nodeId: nodeId(name),
        faults: [{ ...warning("ib-linkdowned"), severity: "critical" }],
        actor: "collector",
      });
    fleet.apply({ kind: "nodeResumed", version: 1, atMs: 1_000, nodeId: nodeId("n20"), actor: "ops" });
    for (let loss = 0; loss < 3; loss++) {
      const atMs = 20 * DAY_MS + loss * HOUR_MS;
      fleet.apply(lostAt(nodeId("n20"), atMs).event);
      fleet.apply({ kind: "nodeReturned", version: 1, atMs: atMs + 1_000, nodeId: nodeId("n20") });
    }
    expect(findingsOf(fleet.fold, 20 * DAY_MS + 4 * HOUR_MS)).toContain("repeatedLoss:n20");
  });

  it("count no loss of a node while its leaf is down, also after the leaf is back", () => {
    const fleet = new PlantedFleet(64);
    const others = leaf.filter((name) => name !== "n20");
    for (let outage = 0; outage < 3; outage++) {
      const fromMs = outage * 4 * HOUR_MS;
      for (const [at, name] of others.entries()) fleet.apply(lostAt(nodeId(name), fromMs + at).event);
      // The loss of a node elsewhere ends the burst.
      fleet.apply(lostAt(nodeId("n50"), fromMs + 400_000).event);
      fleet.apply(lostAt(nodeId("n20"), fromMs + 600_000).event);
      for (const name of [...leaf, "n50"])
        fleet.apply({ kind: "nodeReturned", version: 1, atMs: fromMs + 1_200_000, nodeId: nodeId(name) });
    }
    expect(findingsOf(fleet.fold, 9 * HOUR_MS).filter((id) => id.endsWith("n20"))).toEqual([]);
  });

  it("count an incident of a node once, and each of many single failures of a large fleet", () => {
    const flapping = new PlantedFleet(64);
    for (let minute = 0; minute < 20; minute++) {
      flapping.apply(lostAt(nodeId("n20"), minute * 60_000).event);
      flapping.apply({ kind: "nodeReturned", version: 1, atMs: minute * 60_000 + 1_000, nodeId: nodeId("n20") });
    }
    expect(flapping.fold.repeatedFailures(0.5, 20 * 60_000).own).toMatchObject([{ events: 1 }]);
    expect(findingsOf(flapping.fold, 20 * 60_000)).toEqual([]);
    const large = new PlantedFleet(16_000);
    for (let at = 0; at < 15; at++) large.apply(lostAt(nodeId(`n${at * 1_001}`), 1_000 + at * 60_000).event);
    expect(large.fold.repeatedFailures(0.5, HOUR_MS).own).toHaveLength(15);
    const small = new PlantedFleet(1_500);
    for (let at = 0; at < 15; at++) small.apply(lostAt(nodeId(`n${at * 97}`), 1_000 + at * 60_000).event);
    expect(small.fold.repeatedFailures(0.5, HOUR_MS).own).toEqual([]);
  });

  it("name a leaf of which several nodes were lost once, each alone", () => {
    const fleet = new PlantedFleet(512);
    for (let loss = 0; loss < 5; loss++) fleet.apply(lostAt(nodeId(`n${16 + loss * 2}`), loss * 5 * HOUR_MS).event);
    expect(fleet.fold.failingCohorts(DAY_MS, new Set())).toMatchObject([
      { failed: 5, size: 16, otherFailed: 0, sinceMs: 0 },
    ]);
  });

  it("drop the least of too many nodes", () => {
    const scores = new FaultScores();
    for (let node = 0; node < 60_000; node++) scores.reported(nodeId(`m${node}`), at(node), [warning("link-flap")]);
    expect(scores.stored().length).toBeLessThanOrEqual(20_000);
    expect(scores.above(0.5, 60_000, none).some(({ node }) => node === "m59999")).toBe(true);
  });
});
