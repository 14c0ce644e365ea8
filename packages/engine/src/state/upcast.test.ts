import { expect, it } from "vitest";
import type { Policy } from "../policy/policy.ts";
import { genesisPolicy, presets } from "../policy/presets.ts";
import { upcastPolicy } from "./upcast.ts";

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
      movesMax: 4,
      checkpointTimeoutMs: 5,
    },
    elastic: "last-by-throughput",
    defragment: { movesPerHour: 3, lossPerPairMs: 1 },
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
