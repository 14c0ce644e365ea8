/** Findings that a change of the fleet answers: which are made, and which are not. */
import { attemptId, nodeId, poolName, teamName, workloadId } from "@headroom/model";
import type { NodeId, Pool } from "@headroom/model";
import { describe, expect, it } from "vitest";
import type { Failure } from "../incidents/failure.ts";
import { IncidentFold } from "../incidents/incident-fold.ts";
import type { IncidentFacts } from "../incidents/incident-fold.ts";
import { lostAt, PlantedFleet } from "../incidents/planted-incidents.ts";
import type { Finding } from "./finding.ts";
import { nodeFindings } from "./node-findings.ts";
import { spareFindings } from "./spare-findings.ts";
import { StallWatch } from "./stall-watch.ts";
import type { WatchedAttempt } from "./stall-watch.ts";

const DAY_MS = 86_400_000;
const failure = (node: string, over: Partial<Failure> = {}): Failure => ({
  sequence: 1,
  atMs: 1_000,
  node: nodeId(node),
  accelerators: 8,
  domains: [],
  isLost: false,
  backAtMs: null,
  detail: "xid-79: fell off the bus",
  alerts: 3,
  lastAtMs: 1_000,
  codes: ["xid-79"],
  hits: [],
  records: [],
  ...over,
});
const incident = (failures: readonly Failure[]): IncidentFacts => ({
  id: "i1",
  domain: "",
  sameNodesAs: [],
  extent: { nodes: 1, accelerators: 8 },
  failures,
});
const up = { health: "up", draining: false, acceleratorCount: 8 } as const;

describe("nodes", () => {
  it("with critical faults are to be drained, unless they are away or drained already", () => {
    const nodes = new Map([
      [nodeId("n1"), up],
      [nodeId("n2"), { ...up, draining: true }],
      [nodeId("n3"), { ...up, health: "lost" as const }],
    ]);
    const incidents = [incident(["n1", "n2", "n3", "n4"].map((id) => failure(id)))];
    const found = nodeFindings(incidents, nodes, 2_000);
    expect(found).toMatchObject([
      { kind: "fault", change: { kind: "drain", nodeId: "n1", running: "requeue" }, sinceMs: 1_000 },
    ]);
    expect(found[0]?.ground).toContainEqual({ measure: "reports", valueMilli: 3_000, unit: "" });
    expect(nodeFindings([incident([failure("n1", { backAtMs: 1_500 })])], nodes, 2_000)).toEqual([]);
  });

  it("that were lost three times within a day are unsound; losses of another day do not count", () => {
    const nodes = new Map<NodeId, typeof up>([[nodeId("n1"), up]]);
    const losses = (times: readonly number[]): readonly IncidentFacts[] =>
      times.map((atMs) => incident([failure("n1", { isLost: true, atMs, backAtMs: atMs + 1, codes: [] })]));
    expect(nodeFindings(losses([1, 2]), nodes, DAY_MS)).toEqual([]);
    expect(nodeFindings(losses([1, 2, DAY_MS + 5]), nodes, DAY_MS + 10)).toEqual([]);
    expect(nodeFindings(losses([5, 6, 7]), nodes, DAY_MS)).toMatchObject([{ kind: "repeatedLoss", sinceMs: 7 }]);
  });

  it("that people drained before each loss are sound when they are back in service, also across a restart", () => {
    const [id, hour] = [nodeId("n20"), 3_600_000];
    const nodes = new Map<NodeId, typeof up>([[id, up]]);
    const drain = { kind: "nodeDrainStarted", version: 1, nodeId: id, actor: "ops" } as const;
    const resume = { ...drain, kind: "nodeResumed" } as const;
    const planted = new PlantedFleet(32);
    const restart = (atMs: number): void => {
      planted.apply(lostAt(id, atMs).event);
      planted.apply({ kind: "nodeReturned", version: 1, atMs: atMs + 900_000, nodeId: id });
    };
    planted.apply({ ...drain, atMs: 0 });
    for (const at of [1, 2, 3]) restart(at * hour);
    planted.apply({ ...resume, atMs: 4 * hour });
    const findings = (): readonly Finding[] =>
      nodeFindings(IncidentFold.restore(planted.fold.stored()).incidents(), nodes, 9 * hour);
    expect(findings()).toEqual([]);
    // Losses in service count as before, and the planned ones are none of them.
    for (const at of [5, 6]) restart(at * hour);
    expect(findings()).toEqual([]);
    restart(7 * hour);
    expect(findings()).toMatchObject([{ kind: "repeatedLoss", sinceMs: 7 * hour }]);
    expect(findings()[0]?.ground).toContainEqual({ measure: "losses", valueMilli: 3_000, unit: "per day" });
  });

  it("whose loss was no planned one stay lost in service if somebody drains them afterwards", () => {
    const [id, hour] = [nodeId("n20"), 3_600_000];
    const planted = new PlantedFleet(32);
    for (const at of [1, 2, 3]) {
      const on = { version: 1, nodeId: id, actor: "ops" } as const;
      planted.apply(lostAt(id, at * hour).event);
      planted.apply({ ...on, kind: "nodeDrainStarted", atMs: at * hour + 1_000 });
      planted.apply(lostAt(id, at * hour + 2_000).event);
      planted.apply({ kind: "nodeReturned", version: 1, atMs: at * hour + 3_000, nodeId: id });
      planted.apply({ ...on, kind: "nodeResumed", atMs: at * hour + 4_000 });
    }
    expect(nodeFindings(planted.fold.incidents(), new Map([[id, up]]), 9 * hour)).toMatchObject([
      { kind: "repeatedLoss", sinceMs: 3 * hour },
    ]);
  });
});

describe("the stall watch", () => {
  const attempt = (id: string, atMs: number, over: Partial<WatchedAttempt> = {}): WatchedAttempt => ({
    attemptId: attemptId(id),
    workloadId: workloadId("w1"),
    name: "llm",
    team: teamName("lab"),
    executor: "hpc",
    accelerators: () => 512,
    workers: 512,
    progress: { atMs, step: Math.floor(atMs / 5_000), totalSteps: 1_000 },
    ...over,
  });
  /** Reports every five seconds until `untilMs`, then silence; the time at which the stall is named, or `null`. */
  function namedAtMs(untilMs: number, toMs: number, lookMs = 1_000): number | null {
    const watch = new StallWatch();
    for (let nowMs = 0; nowMs <= toMs; nowMs += lookMs) {
      const reportAtMs = Math.floor(Math.min(nowMs, untilMs) / 5_000) * 5_000;
      if (watch.look([attempt("w1.1", reportAtMs)], nowMs).length > 0) return nowMs;
    }
    return null;
  }

  it("names a gang of 512 workers within a minute of its last report, and no gang that reports", () => {
    const atMs = namedAtMs(100_000, 200_000);
    expect(atMs).toBeGreaterThan(140_000);
    expect(atMs).toBeLessThanOrEqual(160_000);
    expect(namedAtMs(1_000_000, 900_000)).toBeNull();
  });

  it("counts no time in which it did not look", () => {
    const watch = new StallWatch();
    for (let nowMs = 0; nowMs <= 60_000; nowMs += 5_000) watch.look([attempt("w1.1", nowMs)], nowMs);
    expect(watch.look([attempt("w1.1", 60_000)], 3_600_000)).toEqual([]);
  });

  it("names none of an executor of which most attempts are silent together, and none that has ended its steps", () => {
    const watch = new StallWatch();
    const ids = ["w1.1", "w2.1", "w3.1", "w4.1"];
    let found: readonly object[] = [];
    for (let nowMs = 0; nowMs <= 300_000; nowMs += 1_000) {
      const reportAtMs = Math.min(nowMs, 60_000);
      found = watch.look(
        ids.map((id) => attempt(id, reportAtMs)),
        nowMs,
      );
      expect(found).toEqual([]);
    }
    const done = new StallWatch();
    const progress = { atMs: 60_000, step: 1_000, totalSteps: 1_000 };
    for (let nowMs = 0; nowMs <= 60_000; nowMs += 5_000) done.look([attempt("w1.1", nowMs)], nowMs);
    for (let nowMs = 61_000; nowMs <= 300_000; nowMs += 1_000)
      expect(done.look([attempt("w1.1", 0, { progress })], nowMs)).toEqual([]);
  });
});

it("a pool without hot spares and with bursts of losses needs some, and a quiet one needs none", () => {
  const ids = Array.from({ length: 100 }, (_, index) => nodeId(`n${index}`));
  const pool = { name: poolName("h100") } as Pool;
  const burst = (day: number): readonly Failure[] =>
    ids.slice(0, 6).map((id) => failure(id, { isLost: true, atMs: day * DAY_MS, backAtMs: (day + 1) * DAY_MS }));
  const incidents = [0, 3, 7, 12, 16, 20, 25].map((day) => incident(burst(day)));
  const range = { historyFromMs: 0, nowMs: 30 * DAY_MS };
  const found = spareFindings([{ pool, nodes: new Set(ids) }], incidents, range);
  expect(found).toMatchObject([{ kind: "spares", change: { kind: "spares", pool: "h100", hotSpares: 6 } }]);
  expect(spareFindings([{ pool: { ...pool, hotSpares: 6 }, nodes: new Set(ids) }], incidents, range)).toEqual([]);
  expect(spareFindings([{ pool, nodes: new Set(ids) }], incidents, { ...range, nowMs: 3 * DAY_MS })).toEqual([]);
});
