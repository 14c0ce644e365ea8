/** Compares reserved topology in small fleets with every possible layout: teams get the cells that they own. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runsOf, sliceOf } from "../../../../tools/testing/rotating.ts";
import { siteName } from "@headroom/model";
import type { Effect, Input, Observation, ReservedTopology } from "@headroom/model";
import { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, spec, team } from "../lab/make.ts";
import { canLayOut, heldIn, smallFleet } from "./every-layout.ts";
import type { Shapes, SmallFleet } from "./every-layout.ts";
import { shapePolicy } from "./shape-policy.ts";

const levels = ["chain", "rack"];
const teams = ["a", "b", "c"];

/**
 * Two chains: two racks of two nodes with two pairs of accelerators each, and one rack of two nodes with two
 * accelerators each.
 */
const nodes = [
  ...["r1", "r1", "r2", "r2"].map((rack, index) =>
    node(`n${index}`, "G", { fabric: ["x", rack], acceleratorCount: 4, acceleratorGroups: [2] }),
  ),
  ...[0, 1].map((index) => node(`m${index}`, "G", { fabric: ["y", "r3"], acceleratorCount: 2 })),
];

const kinds: readonly Omit<ReservedTopology, "count">[] = [
  { within: "chain", accelerators: 16, domain: ["x"] },
  { within: "rack", accelerators: 8, domain: ["x"] },
  { within: "node", accelerators: 4, domain: ["x"] },
  { within: "node", accelerators: 4 },
  { within: "group", accelerators: 2, domain: ["x"] },
  { within: "node", accelerators: 2, domain: ["y"] },
  { within: "group", accelerators: 1, domain: ["y"] },
];

type Move =
  | {
      readonly kind: "submit";
      readonly team: string;
      readonly priority: number;
      readonly workers: number;
      readonly accelerators: number;
      readonly isElastic: boolean;
    }
  | { readonly kind: "finish"; readonly pick: number };

const submits: fc.Arbitrary<Move> = fc.record({
  kind: fc.constant("submit" as const),
  team: fc.constantFrom(...teams),
  priority: fc.constantFrom(-1, -1, 0, 0, 5, 5),
  workers: fc.constantFrom(1, 1, 2, 3, 4),
  accelerators: fc.constantFrom(1, 2, 2, 3, 4),
  isElastic: fc.boolean(),
});
const finishes: fc.Arbitrary<Move> = fc.record({ kind: fc.constant("finish" as const), pick: fc.nat(20) });

interface World {
  readonly reservedTopology: Shapes;
  readonly lazyPreemption: boolean;
  readonly moves: readonly Move[];
}

const worlds: fc.Arbitrary<World> = fc.record({
  reservedTopology: fc
    .array(
      fc.record({
        team: fc.constantFrom(...teams),
        kind: fc.constantFrom(...kinds),
        count: fc.integer({ min: 1, max: 2 }),
      }),
      { minLength: 1, maxLength: 5 },
    )
    .map((list) => list.map(({ team: name, kind, count }) => ({ team: name, shape: { ...kind, count } }))),
  lazyPreemption: fc.constantFrom(true, true, false),
  moves: fc.array(fc.oneof({ weight: 5, arbitrary: submits }, { weight: 1, arbitrary: finishes }), {
    minLength: 8,
    maxLength: 24,
  }),
});

/** Reports of executors that carry out every effect at once. */
function observe(drive: Drive, effect: Effect): Observation[] {
  const { attemptId } = effect;
  if (effect.kind === "launchGang") return [{ kind: "attemptRunning", attemptId }];
  if (effect.kind === "shrinkGang") return [{ kind: "workersLeft", attemptId }];
  if (effect.kind === "growGang") return [];
  const workers = drive.engine.state.attempts.get(attemptId)?.workers ?? [];
  return [
    {
      kind: "attemptExited",
      attemptId,
      exits: workers.map((_, worker) => ({ kind: "signalled", worker, signal: "SIGTERM" })),
    },
  ];
}

/** Runs the world until nothing more happens; `check` is called after every batch. */
function markClean(drive: Drive, inputs: readonly Input[], check: () => void): void {
  let next = inputs;
  for (let round = 0; round < 60; round++) {
    drive.nowMs += 1000;
    const { effects, events } = drive.receive(...next);
    check();
    if (events.length === 0 && round > 0) return;
    next = effects.flatMap((effect) => observe(drive, effect));
  }
  throw new Error("no rest");
}

function opened({ reservedTopology, lazyPreemption }: World): { readonly drive: Drive; readonly fleet: SmallFleet } {
  const drive = new Drive();
  const owned = teams.map((name) => ({
    ...team(name),
    reservedTopology: reservedTopology.filter((each) => each.team === name).map(({ shape }) => shape),
  }));
  drive.receive(
    applied({ sites: [{ name: siteName("dc"), fabricLevels: levels }], pools: [pool("G")], teams: owned }),
    command({ kind: "setPolicy", policy: shapePolicy(lazyPreemption) }),
    ...nodes.map((each): Input => ({ kind: "nodeSeen", node: each })),
  );
  return { drive, fleet: smallFleet([...drive.engine.state.nodes.values()], levels) };
}

function inputsOf(drive: Drive, move: Move, index: number): Input[] {
  if (move.kind === "submit") {
    const { workers, accelerators, isElastic, priority } = move;
    const gang = { workers, accelerators, ...(isElastic && workers > 1 ? { minWorkers: 1 } : {}) };
    return [command({ kind: "submitWorkload", spec: spec(`w${index}`, { team: move.team, priority, gang }) })];
  }
  const attempts = [...drive.engine.state.attempts.values()].filter(({ stop }) => stop === null);
  const attempt = attempts[move.pick % Math.max(1, attempts.length)];
  if (attempt === undefined) return [];
  return [
    {
      kind: "attemptExited",
      attemptId: attempt.id,
      exits: attempt.workers.map((_, worker) => ({ kind: "exited", worker, code: 0 })),
    },
  ];
}

/** Waiting work in a world at rest that would fit into its team's reserved topology. */
function waitingInside({ engine: { state }, engine }: Drive, fleet: SmallFleet, reservedTopology: Shapes): string[] {
  const held = heldIn(engine, fleet);
  return [...state.workloads.values()].flatMap(({ id, spec: { team: name, priority, gang }, phase }) => {
    if (phase !== "pending" || priority < 0) return [];
    const workers = gang.minWorkers ?? gang.workers;
    return canLayOut(fleet, reservedTopology, held, { team: name, workers, accelerators: gang.accelerators })
      ? [id]
      : [];
  });
}

describe("reservedTopology", () => {
  it(
    "are there whenever their team asks, whatever uses them meanwhile",
    () => {
      const { least, share } = sliceOf({ size: 40 });
      let waited = 0;
      let evicted = 0;
      let relabelled = 0;
      fc.assert(
        fc.property(worlds, (world) => {
          const { drive, fleet } = opened(world);
          const { reservedTopology } = world;
          fc.pre(canLayOut(fleet, reservedTopology, []));
          const isSafe = (): void => {
            expect(
              canLayOut(fleet, reservedTopology, heldIn(drive.engine, fleet)),
              "guaranteed work lies in its team's cells, beside all other shapes",
            ).toBe(true);
          };
          world.moves.forEach((move, index) => {
            markClean(drive, inputsOf(drive, move, index), isSafe);
            expect(waitingInside(drive, fleet, reservedTopology), "what its team's shapes hold does not wait").toEqual(
              [],
            );
          });
          const events = drive.groups.flatMap(({ text }) => JSON.parse(text) as { kind: string }[]);
          evicted += Number(events.some(({ kind }) => kind === "evictionPlanned"));
          relabelled += Number(events.some(({ kind }) => kind === "opportunisticJobRelabelled"));
          waited += Number([...drive.engine.state.workloads.values()].some(({ phase }) => phase === "pending"));
        }),
        runsOf(40),
      );
      // The test is not vacuous: some work waits, and some is evicted.
      expect(Math.min(waited, evicted)).toBeGreaterThan(least(0));
      // Relabelling is rarer: about one world in twenty.
      if (share >= 5) expect(relabelled).toBeGreaterThan(0);
    },
    120_000 * Math.max(1, sliceOf({ size: 40 }).share),
  );
});
