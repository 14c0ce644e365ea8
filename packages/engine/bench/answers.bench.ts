/**
 * Time to explain why a workload waits, and to find the smallest change of every kind that would start it. The fleet
 * has 1,000 nodes of eight accelerators in leaves of 32 and is full; 1,000 workloads wait in 100 buckets, and one
 * workload of each bucket is explained. `npm run bench answers [WORLD]`; prints one JSON line for each world.
 */
import { explain, smallestChanges } from "@headroom/explain";
import { presets } from "@headroom/model";
import type { Effect, Input, Policy, WorkloadId } from "@headroom/model";
import type { Ready } from "../src/index.ts";
import { Bench, measured, quantile, rounded, team } from "./fleet.ts";

const [only = "", asks = "100"] = process.argv.slice(2);
const HOUR_MS = 3_600_000;
const NODES = 1000;
const CLASSES = 100;
const PENDING = 1000;
const REPEATS = 5;
const teams = Array.from({ length: 10 }, (_, index) => `team${index}`);
const teamOf = (index: number): string => teams[index % teams.length] as string;

/**
 * Ten shapes for each of the ten teams: single workers and gangs, parts of a node and whole nodes, with and without
 * constraints.
 */
const reservedTopology = [
  { gang: { workers: 1, accelerators: 1, coresMilli: 8000, memoryMib: 65_536 } },
  { gang: { workers: 1, accelerators: 2, coresMilli: 16_000, memoryMib: 131_072 } },
  { gang: { workers: 1, accelerators: 4, coresMilli: 32_000, memoryMib: 262_144 } },
  { gang: { workers: 1, accelerators: 8, coresMilli: 96_000, memoryMib: 524_288 } },
  { gang: { workers: 2, accelerators: 8, coresMilli: 96_000, memoryMib: 524_288 } },
  { gang: { workers: 4, accelerators: 4, coresMilli: 32_000, memoryMib: 262_144 } },
  { gang: { workers: 8, accelerators: 8, coresMilli: 64_000, memoryMib: 262_144 }, fabric: { within: "leaf" } },
  { gang: { workers: 16, accelerators: 8, coresMilli: 64_000, memoryMib: 262_144 }, fabric: { prefer: "leaf" } },
  { gang: { workers: 64, accelerators: 8, coresMilli: 64_000, memoryMib: 262_144 } },
  { gang: { workers: 128, minWorkers: 32, accelerators: 8, coresMilli: 64_000, memoryMib: 262_144 } },
];

interface WorldOptions {
  readonly policy: Policy;
  /** Whether running work is preemptible. */
  isPreemptible(index: number): boolean;
  /** Guaranteed accelerators of each team; absent: no team states a guarantee. */
  readonly guaranteed?: number;
}

function fullFleet({ policy, isPreemptible, guaranteed }: WorldOptions): Bench {
  const amounts = guaranteed === undefined ? { weight: 1 } : { guarantee: { accelerators: guaranteed }, weight: 1 };
  const bench = new Bench(
    policy,
    { nodes: NODES, perNode: 8 },
    teams.map((name) => team(name, amounts)),
  );
  // Two jobs of 4 accelerators on each node; the first teams hold more of them than the last.
  const running = Array.from({ length: 2 * NODES }, (_, index) =>
    bench.submission(
      { accelerators: 4, coresMilli: 32_000, memoryMib: 262_144 },
      {
        team: teamOf(Math.floor(index / 2) % 3 === 0 ? index % 3 : index),
        walltimeMs: HOUR_MS + index * 20_000,
        ...(isPreemptible(index) ? { preemptible: true } : {}),
      },
    ),
  );
  markClean(bench, bench.receive(...running));
  for (let from = 0; from < PENDING; from += 100)
    markClean(
      bench,
      bench.receive(
        ...Array.from({ length: 100 }, (_, at) => {
          const index = from + at;
          const shape = reservedTopology[
            Math.floor(index / teams.length) % reservedTopology.length
          ] as (typeof reservedTopology)[number];
          return bench.submission(shape.gang, {
            team: teamOf(index),
            priority: index % 7 === 0 ? 1 : 0,
            walltimeMs: (1 + (index % 5)) * 4 * HOUR_MS,
            ...(shape.fabric === undefined ? {} : { fabric: shape.fabric }),
          });
        }),
      ),
    );
  return bench;
}

/** Runs launched work and ends stopped work until no stop is pending. */
function markClean(bench: Bench, { effects }: Ready): void {
  for (let due = effects; due.length > 0;) {
    bench.nowMs += 1000;
    due = bench.receive(...due.flatMap(answered)).effects;
  }
}

function answered(effect: Effect): readonly Input[] {
  const { attemptId } = effect;
  switch (effect.kind) {
    case "launchGang":
      return [{ kind: "attemptRunning", attemptId }];
    case "stopGang":
      return [{ kind: "attemptExited", attemptId, exits: [{ kind: "signalled", worker: 0, signal: "SIGTERM" }] }];
    case "shrinkGang":
      return [{ kind: "workersLeft", attemptId }];
    default:
      return [];
  }
}

const of = (name: string): Policy => presets.get(name) as Policy;
const worlds: Readonly<Record<string, () => Bench>> = {
  firm: () => fullFleet({ policy: of("default"), isPreemptible: () => false }),
  lent: () => fullFleet({ policy: of("default"), isPreemptible: (index) => index % 2 === 0, guaranteed: 800 }),
  fifo: () => fullFleet({ policy: of("fifo"), isPreemptible: () => false }),
  easy: () => fullFleet({ policy: of("easy"), isPreemptible: () => false }),
};

/** The first workload of every waiting bucket. */
function oneOfEach({ engine }: Bench): readonly WorkloadId[] {
  const seen = new Map<string, WorkloadId>();
  for (const { id, spec, phase } of engine.state.workloads.values()) {
    const key = JSON.stringify([spec.team, spec.gang, spec.fabric]);
    if (phase === "pending" && !seen.has(key)) seen.set(key, id);
  }
  return [...seen.values()].filter((_, index) => index % Math.ceil(CLASSES / Number(asks)) === 0);
}

function ask(bench: Bench): Record<string, unknown> {
  const asked = oneOfEach(bench);
  const walls: number[] = [];
  const cpus: number[] = [];
  const kinds = new Map<string, number>();
  for (const id of asked) {
    // The minimum over some runs is the cost of the answer; anything above it is other load of the machine.
    const runs = Array.from({ length: REPEATS }, () =>
      measured(() => ({ verdict: explain(bench.engine, id), changes: smallestChanges(bench.engine, id) })),
    );
    walls.push(Math.min(...runs.map(({ wallMs }) => wallMs)));
    cpus.push(Math.min(...runs.map(({ cpuMs }) => cpuMs)));
    const { verdict, changes } = (runs[0] as (typeof runs)[number]).value;
    if (verdict.kind !== "blocked") throw new Error(`${id} ${verdict.kind}`);
    for (const { change } of changes) kinds.set(change.kind, (kinds.get(change.kind) ?? 0) + 1);
  }
  const facts = (values: readonly number[]) => ({
    p50: rounded(quantile(values, 0.5)),
    p90: rounded(quantile(values, 0.9)),
    max: rounded(Math.max(...values)),
  });
  return { asked: asked.length, wall_ms: facts(walls), cpu_ms: facts(cpus), kinds: Object.fromEntries(kinds) };
}

for (const [name, make] of Object.entries(worlds)) {
  if (only !== "" && only !== name) continue;
  process.stdout.write(`${JSON.stringify({ world: name, ...ask(make()) })}\n`);
}
