/**
 * Published queueing cases in virtual time: work arrives, runs for its duration and ends, and the engine runs at each
 * of these instants. Prints the engine's CPU time, the makespan and its lower bound. `npm run bench queueing [CASE]`;
 * one JSON line for each case.
 */
import { presets } from "@headroom/model";
import type { AttemptId, Command, Input, Policy } from "@headroom/model";
import type { Ready } from "../src/index.ts";
import { Bench, measured, placedCount, rounded, team } from "./fleet.ts";

const policy = presets.get("default") as Policy;
const [only = ""] = process.argv.slice(2);

interface Arrival {
  readonly atMs: number;
  readonly durationMs: number;
  readonly command: Command;
}

interface Played {
  readonly makespanMs: number;
  readonly started: number;
  readonly rounds: number;
  readonly meanWaitMs: number;
}

/** Plays arrivals until the last workload has ended; all inputs of one instant are one batch. */
function play(bench: Bench, arrivals: readonly Arrival[]): Played {
  const sorted = arrivals.toSorted((left, right) => left.atMs - right.atMs);
  const durations = new Map<string, { readonly durationMs: number; readonly atMs: number }>();
  const ends = new Map<number, AttemptId[]>();
  const instants: number[] = [];
  const add = (atMs: number): void => {
    let index = instants.length;
    while (index > 0 && (instants[index - 1] as number) > atMs) index--;
    if (instants[index - 1] !== atMs) instants.splice(index, 0, atMs);
  };
  for (const { atMs } of sorted) if (instants.at(-1) !== atMs) instants.push(atMs);
  let next = 0;
  let started = 0;
  let rounds = 0;
  let waitMs = 0;
  let nowMs = 0;
  const follow = ({ effects }: Ready): Input[] => {
    const running: Input[] = [];
    for (const effect of effects) {
      if (effect.kind !== "launchGang") continue;
      const { durationMs, atMs } = durations.get(effect.workloadId) as { durationMs: number; atMs: number };
      started++;
      waitMs += nowMs - atMs;
      running.push({ kind: "attemptRunning", attemptId: effect.attemptId });
      const endMs = nowMs + durationMs;
      ends.set(endMs, [...(ends.get(endMs) ?? []), effect.attemptId]);
      add(endMs);
    }
    return running;
  };
  let observed: Input[] = [];
  while (instants.length > 0) {
    nowMs = instants.shift() as number;
    bench.nowMs = nowMs;
    const inputs: Input[] = observed;
    for (const attemptId of ends.get(nowMs) ?? [])
      inputs.push({ kind: "attemptExited", attemptId, exits: [{ kind: "exited", worker: 0, code: 0 }] });
    ends.delete(nowMs);
    let submitted = bench.engine.state.submittedCount;
    for (; sorted[next]?.atMs === nowMs; next++) {
      const arrival = sorted[next] as Arrival;
      durations.set(`w${++submitted}`, arrival);
      inputs.push(arrival.command);
    }
    observed = follow(bench.receive(...inputs));
    rounds++;
  }
  return { makespanMs: nowMs, started, rounds, meanWaitMs: waitMs / Math.max(1, started) };
}

interface Kind {
  readonly n: number;
  readonly everyMs: number;
  readonly units: number;
  readonly runMs: number;
  readonly priority: number;
}

/**
 * Queues in cohorts, each with a quota of 20 units; unused quota can be borrowed. Work is preemptible, but its minimum
 * runtime is longer than its run time of at most a second, so nothing is reclaimed.
 */
function queues(cohorts: number, perCohort: number, kinds: readonly Kind[]): Record<string, number> {
  const names = Array.from({ length: cohorts }, (_, cohort) =>
    Array.from({ length: perCohort }, (__, queue) => `c${cohort}q${queue}`),
  ).flat();
  const teams = [
    ...Array.from({ length: cohorts }, (_, cohort) => team(`c${cohort}`)),
    ...names.map((name) => ({
      ...team(name, { guarantee: { accelerators: 20 }, borrowingLimit: { accelerators: 100 } }),
      parent: team(name.split("q")[0] as string).name,
    })),
  ];
  const bench = new Bench(policy, { nodes: (names.length * 20) / 8, perNode: 8 }, teams);
  const arrivals = names.flatMap((name) =>
    kinds.flatMap(({ n, everyMs, units, runMs, priority }) =>
      Array.from({ length: n }, (_, index): Arrival => ({
        atMs: (index + 1) * everyMs,
        durationMs: runMs,
        command: bench.submission(
          { workers: units },
          { team: name, priority, walltimeMs: runMs, preemptible: true, minRuntimeMs: runMs },
        ),
      })),
    ),
  );
  const workMs = kinds.reduce((sum, { n, units, runMs }) => sum + n * units * runMs, 0) / 20;
  const run = measured(() => play(bench, arrivals));
  const { makespanMs, started, rounds, meanWaitMs } = run.value;
  return {
    workloads: arrivals.length,
    started,
    rounds,
    cpu_s: rounded(run.cpuMs / 1000),
    wall_s: rounded(run.wallMs / 1000),
    makespan_s: makespanMs / 1000,
    bound_s: workMs / 1000,
    over_bound: rounded(makespanMs / workMs),
    mean_wait_ms: Math.round(meanWaitMs),
  };
}

function refilling(fleet: { readonly nodes: number; readonly perNode: number }, count: number): Record<string, number> {
  const bench = new Bench(presets.get("armada") as Policy, fleet);
  const jobs = Array.from({ length: count }, () => bench.submission({}));
  const run = measured(() => bench.receive(...jobs));
  return { cpu_ms: rounded(run.cpuMs), wall_ms: rounded(run.wallMs), placed: placedCount(run.value) };
}

const cases: Readonly<Record<string, () => Record<string, number>>> = {
  /** Published result: Kueue 351 s, a makespan of 5.3 times its lower bound. */
  "kueue-baseline": () =>
    queues(5, 6, [
      { n: 350, everyMs: 100, units: 1, runMs: 200, priority: 50 },
      { n: 100, everyMs: 500, units: 5, runMs: 500, priority: 100 },
      { n: 50, everyMs: 1200, units: 20, runMs: 1000, priority: 200 },
    ]),
  /** Published: Kueue 1,179 s. */
  "kueue-large": () =>
    queues(10, 100, [
      { n: 35, everyMs: 60, units: 1, runMs: 150, priority: 50 },
      { n: 11, everyMs: 300, units: 5, runMs: 350, priority: 100 },
      { n: 4, everyMs: 700, units: 20, runMs: 700, priority: 200 },
    ]),
  /**
   * 640 nodes in 10 racks; 15,000 gangs that require a rack, prefer one or are spread over racks; run times as in the
   * baseline. Published: 401 s.
   */
  "kueue-topology": () => {
    const bench = new Bench(policy, { nodes: 640, perNode: 0, leafNodes: 64, coresMilli: 96_000 });
    const reservedTopology = [
      { workers: 2, coresMilli: 500, runMs: 200 },
      { workers: 4, coresMilli: 1250, runMs: 500 },
      { workers: 8, coresMilli: 2500, runMs: 1000 },
    ];
    const arrivals = Array.from({ length: 15_000 }, (_, index): Arrival => {
      const { runMs, ...gang } = reservedTopology[index % 3] as (typeof reservedTopology)[number];
      const fabric = Math.floor(index / 3) % 2 === 0 ? { within: "leaf" } : { prefer: "leaf" };
      return {
        atMs: Math.floor(index / 30) * 10,
        durationMs: runMs,
        command: bench.submission({ ...gang, accelerators: 0 }, { fabric, walltimeMs: runMs }),
      };
    });
    const run = measured(() => play(bench, arrivals));
    const { makespanMs, started, rounds } = run.value;
    return {
      workloads: arrivals.length,
      started,
      rounds,
      cpu_s: rounded(run.cpuMs / 1000),
      wall_s: rounded(run.wallMs / 1000),
      makespan_s: makespanMs / 1000,
    };
  },
  /** 1,000 nodes x 32, 32,000 jobs of one queue in one rebalancing round. Published: Armada 1.27 to 1.34 s. */
  armada: () => refilling({ nodes: 1000, perNode: 32 }, 32_000),
  /** Rebalancing of a whole large fleet: 10,000 nodes x 8, 100,000 jobs. */
  "armada-large": () => refilling({ nodes: 10_000, perNode: 8 }, 100_000),
  /**
   * 500 nodes x 8; on 360 of them runs one movable job of 2 accelerators. 41 gangs of 10 x 8 need 410 whole nodes, so
   * 270 jobs have to migrate to the other 90. The number of migrations is unbounded here. Published: KAI 455.7 s,
   * without a stated initial state.
   */
  consolidate: () => {
    const eviction = { ...(policy.eviction as NonNullable<Policy["eviction"]>), migrationsMax: 10_000 };
    const bench = new Bench({ ...policy, eviction, placement: "spread" }, { nodes: 500, perNode: 8 });
    bench.started(
      bench.receive(...Array.from({ length: 360 }, () => bench.submission({ accelerators: 2 }, { preemptible: true }))),
    );
    bench.setPolicy({ ...policy, eviction });
    const gangs = Array.from({ length: 41 }, () => bench.submission({ workers: 10, accelerators: 8 }));
    const run = measured(() => bench.receive(...gangs));
    const moved = run.value.events.filter(({ kind }) => kind === "attemptStopRequested").length;
    const nominated = run.value.events.filter(
      (event) => event.kind === "placementNominated" && event.nomination.afterAttempt === undefined,
    ).length;
    return {
      cpu_ms: rounded(run.cpuMs),
      wall_ms: rounded(run.wallMs),
      placed: placedCount(run.value),
      nominated,
      moved,
    };
  },
};

for (const [name, playCase] of Object.entries(cases)) {
  if (only !== "" && only !== name) continue;
  process.stdout.write(`${JSON.stringify({ case: name, ...playCase() })}\n`);
}
