import { expect, it } from "vitest";
import { genesisPolicy, presets } from "@headroom/model";
import type { Event, Policy } from "@headroom/model";
import { upcastEvent, upcastPolicy, upcastSnapshot } from "./upcast.ts";

const former = (sections: object): Policy => ({ ...genesisPolicy, ...sections });

it("reads knobs that are parts of others, or constants, since version 5", () => {
  const policy = former({
    placement: "fragmentation",
    typicalDemand: [{ accelerators: 1, milli: 1000, coresMilli: 4000, count: 3 }],
    backfill: { reserve: "all", depth: 100, assumedWalltimeMs: 1000, predictFrom: 2 },
    eviction: {
      preemptibleBelowPriority: 0,
      unstatedPreemptible: "aboveGuarantee",
      movesMax: 4,
      moveLossMsMax: 60_000,
      checkpointTimeoutMs: 5,
    },
    elastic: { grow: "last", by: "throughput" },
    defragment: { movesPerHour: 3, restMs: 3_600_000, lossPerPairMs: 1 },
  });
  expect(upcastPolicy(policy)).toEqual({
    ...genesisPolicy,
    placement: {
      order: "fragmentation",
      typicalDemand: [{ accelerators: 1, milli: 1000, coresMilli: 4000, count: 3 }],
    },
    backfill: { protectedStarts: 100, assumedWalltimeMs: 1000, predictFrom: 2 },
    eviction: {
      preemptible: { belowPriority: 0, otherwise: "aboveGuarantee" },
      migrationsMax: 4,
      checkpointTimeoutMs: 5,
    },
    elastic: "last-by-throughput",
    defragment: { migrationsPerHour: 3, lossPerPairMs: 1 },
  });
});

it.each([
  ["none", 7, 0],
  ["head", 7, 1],
  ["all", 7, 7],
])("reads protected starts of %s with depth %i as %i", (reserve, depth, protectedStarts) => {
  const { backfill } = upcastPolicy(former({ backfill: { reserve, depth, assumedWalltimeMs: 1 } }));
  expect(backfill).toEqual({ protectedStarts, assumedWalltimeMs: 1 });
});

it("ignores typical demand where another node order did not read it", () => {
  const policy = former({ typicalDemand: [{ accelerators: 1, milli: 1000, coresMilli: 0, count: 1 }] });
  expect(upcastPolicy(policy)).toEqual(genesisPolicy);
});

it("leaves every preset of today as it is", () => {
  for (const policy of presets.values()) expect(upcastPolicy(policy)).toBe(policy);
});

const recorded = (event: object): Event => ({ atMs: 5, attemptId: "w1.1", ...event }) as unknown as Event;

it("reads lost ranks of before the event `gangDegraded`", () => {
  expect(upcastEvent(recorded({ kind: "ranksLost", version: 1, nodeId: "n1", ranks: [1, 3] }))).toEqual(
    recorded({ kind: "gangDegraded", version: 1, nodeId: "n1", lostRanks: [1, 3] }),
  );
});

it("reads stops, grounds and migrations of before the present terms, and keeps the version", () => {
  const stop = { kind: "attemptStopRequested", version: 2 };
  expect(upcastEvent(recorded({ ...stop, reason: "moved" }))).toEqual(recorded({ ...stop, reason: "migrated" }));
  expect(upcastEvent(recorded({ ...stop, reason: "preempted" }))).toEqual(recorded({ ...stop, reason: "preempted" }));
  const shares = { team: "a", teamShareBeforeMilli: 9, teamShareAfterMilli: 4, keeps: 0 };
  const plan = { kind: "evictionPlanned", version: 2, workloadId: "w1", reason: "reclaimed" };
  const victims = [
    { attemptId: "w2.1", ...shares, right: "withinTeam" },
    { attemptId: "w3.1", ...shares, moves: true },
  ];
  expect(upcastEvent(recorded({ ...plan, victims }))).toEqual(
    recorded({
      ...plan,
      victims: [
        { attemptId: "w2.1", ...shares, ground: "withinTeam" },
        { attemptId: "w3.1", ...shares, migrates: true },
      ],
    }),
  );
});

it("reads snapshots of before the terms of migration", () => {
  const stop = { reason: "moved", atMs: 3 };
  const former = {
    format: 3,
    moved: [["w1", 3]],
    attempts: [{ id: "w1.1", stop, phase: "stopping" }],
    workloads: [{ id: "w1", endedAttempts: [{ id: "w1.0", stopReason: "moved", detail: "" }], tasks: [] }],
  };
  expect(upcastSnapshot(former)).toEqual({
    format: 3,
    migrated: [["w1", 3]],
    attempts: [{ id: "w1.1", stop: { ...stop, reason: "migrated" }, phase: "stopping" }],
    workloads: [{ id: "w1", endedAttempts: [{ id: "w1.0", stopReason: "migrated", detail: "" }], tasks: [] }],
  });
});
