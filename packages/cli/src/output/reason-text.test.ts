import type { BlockedReason } from "@headroom/protocol";
import { expect, it } from "vitest";
import { reasonPairs } from "./reason-text.ts";

const pairs = (reason: BlockedReason): Record<string, string> => Object.fromEntries(reasonPairs(reason));

it("prints prices, carbon, spans and instants with their units", () => {
  const power = {
    kind: "startWindow",
    microUsdPerKwh: 310_000,
    microUsdPerKwhMax: 120_000,
    gramsPerKwh: 420,
    gramsPerKwhMax: null,
    cheapestMs: 14_400_000,
    opensAtMs: Date.UTC(2027, 2, 1, 22),
    latestStartAtMs: null,
    sentence: "",
  } as const;
  expect(pairs(power)).toEqual({
    reason: "startWindow",
    price: "0.31 USD/kWh",
    "price at most": "0.12 USD/kWh",
    carbon: "420 g/kWh",
    "carbon at most": "none",
    cheapest: "4 h",
    "opens at": "2027-03-01T22:00:00Z",
    "latest start at": "none",
  });
});

it("prints what teams are limited in as teams state it, and how long others are taken to run", () => {
  const limit = { kind: "teamLimit", bound: "limit", team: "red", acceleratorType: "", sentence: "" } as const;
  expect(pairs({ ...limit, resource: "memory", limitCount: 65_536, usedCount: 1_024, neededCount: 512 })).toMatchObject(
    { limit: "64 GiB", used: "1 GiB", needed: "512 MiB" },
  );
  const startMs = Date.UTC(2027, 2, 1);
  const prediction = { durationMs: 7_200_000, runs: 2 };
  expect(
    pairs({ kind: "reservation", workloadId: "w1", startMs, expectedEndMs: startMs, prediction, sentence: "" }),
  ).toMatchObject({
    start: "2027-03-01T00:00:00Z",
    "expected end": "2027-03-01T00:00:00Z",
    prediction: "predicted to run 2 h, by the last 2 runs of its kind",
  });
});

it("prints what the fleet lacks, in its unit, and no counts of accelerators where none are asked for", () => {
  const counts = { workers: 1, placeableWorkers: 0, fleetCount: 16 };
  const exceeds = { kind: "exceedsFleet" as const, acceleratorTypes: [], ...counts, sentence: "" };
  const memory = { of: "memory", perWorker: 6_144, perNodeMax: 4_096 } as const;
  expect(pairs({ ...exceeds, neededCount: 0, lack: memory })).toEqual({
    reason: "exceedsFleet",
    workers: "1",
    "placeable workers": "0",
    lacks: "memory",
    "needed per worker": "6 GiB",
    "most on a node": "4 GiB",
  });
  const cores = { of: "cores", perWorker: 1_000, perNodeMax: 500 } as const;
  expect(pairs({ ...exceeds, neededCount: 0, lack: cores })).toMatchObject({
    "needed per worker": "1 core",
    "most on a node": "0.5 cores",
  });
  expect(pairs({ ...exceeds, neededCount: 0.428, lack: { of: "part", profile: "3g.40gb" } })).toMatchObject({
    needed: "0.428",
    fleet: "16",
    lacks: "a 3g.40gb part",
  });
  expect(pairs({ ...exceeds, neededCount: 3, lack: { of: "nodeSelector" } })).toMatchObject({ lacks: "node selector" });
});
