/**
 * Decision times of the default policy on published performance cases of other schedulers, and on the product's own
 * promises. Times are of this engine alone, in memory, with events and journal text; most published times are end to
 * end. `npm run bench scheduler [CASE]`; one JSON line for each case.
 */
import { explain, smallestChanges } from "@headroom/explain";
import { presets } from "@headroom/model";
import type { AttemptId, Command, Input, Policy, WorkloadId } from "@headroom/model";
import { restoreEngine } from "../src/index.ts";
import type { Ready } from "../src/index.ts";
import { Bench, measured, placedCount, nominatedCount, quantile, rounded, team } from "./fleet.ts";
import type { Measured } from "./fleet.ts";

const policy = presets.get("default") as Policy;
const [only = ""] = process.argv.slice(2);

type Facts = Readonly<Record<string, number | string | boolean>>;
const times = ({ wallMs, cpuMs }: Measured<unknown>): Facts => ({ wall_ms: rounded(wallMs), cpu_ms: rounded(cpuMs) });

const cases: Readonly<Record<string, () => Facts>> = {
  /** 500 nodes x 8, 4,000 jobs of one accelerator, all submitted before the round. Published: KAI 397.8 s end to end. */
  "fill-4000": () => {
    const bench = new Bench(policy, { nodes: 500, perNode: 8 });
    const jobs = Array.from({ length: 4000 }, () => bench.submission({}));
    const run = measured(() => bench.receive(...jobs));
    return { ...times(run), placed: placedCount(run.value) };
  },
  /** 512 nodes, one gang of 512 workers x 8 with a preferred leaf. Published: KAI 48.7 s. */
  "gang-512-preferred": () => {
    const bench = new Bench(policy, { nodes: 512, perNode: 8 });
    const job = bench.submission({ workers: 512, accelerators: 8 }, { fabric: { prefer: "leaf" } });
    const run = measured(() => bench.receive(job));
    return { ...times(run), placed: placedCount(run.value) };
  },
  /** 500 full nodes of non-preemptible work, 10 x 8 requested: the verdict and its reason. Published: KAI 249.5 s. */
  "does-not-fit": () => {
    const { bench, job } = fullNodes();
    const run = measured(() => explain(bench.engine, submitted(bench.receive(job))));
    return {
      ...times(run),
      verdict: run.value.kind === "blocked" ? (run.value.reasons[0]?.kind ?? "") : run.value.kind,
    };
  },
  /**
   * The full fleet of `does-not-fit`, with the smallest change of every kind that would start the gang; the best of
   * five runs.
   */
  "smallest-change": () => {
    const runs = Array.from({ length: 5 }, () => {
      const { bench, job } = fullNodes();
      return measured(() => {
        const id = submitted(bench.receive(job));
        return { verdict: explain(bench.engine, id), changes: smallestChanges(bench.engine, id) };
      });
    }).toSorted((left, right) => left.wallMs - right.wallMs);
    const best = runs[0] as (typeof runs)[number];
    return { ...times(best), changes: best.value.changes.map(({ change }) => change.kind).join(" ") };
  },
  "reclaim-1": () => reclaim({ workers: 1, accelerators: 1 }, 1),
  "reclaim-2000": () => reclaim({ workers: 250, accelerators: 8 }, 1),
  "reclaim-4000": () => reclaim({ workers: 500, accelerators: 8 }, 1),
  "reclaim-many": () => reclaim({ workers: 1, accelerators: 1 }, 4000),
  "reclaim-distributed": () => reclaim({ workers: 10, accelerators: 8 }, 50),
  /** 5,000 nodes x 8: placements a second, verified and with their events. Published: kube-scheduler 680 to 810, Nomad 3,750. */
  "place-5000-nodes": () => {
    const bench = new Bench(policy, { nodes: 5000, perNode: 8 });
    const jobs = Array.from({ length: 40_000 }, () => bench.submission({}));
    const run = measured(() => bench.receive(...jobs));
    const placed = placedCount(run.value);
    return {
      ...times(run),
      placed,
      placed_per_s: Math.round((placed / run.wallMs) * 1000),
      placed_per_cpu_s: Math.round((placed / run.cpuMs) * 1000),
    };
  },
  "rounds-1000": () => rounds(1000, 1000),
  "rounds-5000": () => rounds(5000, 50_000),
  /** Every waiting job has its own walltime, so that no two of them share a bucket beside protected starts. */
  "rounds-5000-distinct": () => rounds(5000, 50_000, (index) => 3_600_000 + index * 1000),
  /**
   * The variants run in turns after a warm-up. Medians count, because single runs differ by half on a loaded machine.
   */
  slope: () => {
    const pairs = Array.from({ length: 36 }, () => [perPlacement(1000, 1000), perPlacement(10_000, 100_000)] as const);
    const [small, large] = [0, 1].map((at) =>
      quantile(
        pairs.slice(6).map((pair) => pair[at] as number),
        0.5,
      ),
    ) as [number, number];
    return { small_us: rounded(small * 1000), large_us: rounded(large * 1000), ratio: rounded(large / small) };
  },
  /** 5,000 nodes and 87,000 workloads: from the snapshot's bytes to the first decision. Published: Volcano 497 s. */
  restart: () => {
    const bench = waiting(5000, 87_000);
    const bytes = bench.engine.snapshot();
    const run = measured(() => {
      const engine = restoreEngine(bytes);
      return engine.receive([{ kind: "tick" }], bench.nowMs);
    });
    return { ...times(run), bytes: bytes.length };
  },
  /** 10,000 nodes run 10,000 jobs and 90,000 wait: the first round of an engine without caches. */
  replan: () => {
    const bench = waiting(10_000, 90_000);
    const engine = restoreEngine(bench.engine.snapshot());
    return times(measured(() => engine.receive([{ kind: "tick" }], bench.nowMs)));
  },
  preemptions,
  /** 10,000 nodes and 100,000 workloads: heap in use after a collection. Published: KAI 7 GiB for 500 nodes. */
  memory: () => {
    const bench = waiting(10_000, 100_000);
    globalThis.gc?.();
    const { heapUsed, rss } = process.memoryUsage();
    return {
      heap_mib: Math.round(heapUsed / 2 ** 20),
      rss_mib: Math.round(rss / 2 ** 20),
      workloads: bench.engine.state.workloads.size,
    };
  },
};

/**
 * 500 nodes x 8 and four teams with a guarantee of a quarter each: one team borrows everything, the others reclaim one
 * after another, then all request more. Counts evictions until nothing changes, the most evictions of one job, and
 * evictions in five further rounds. Published: Kueue evicts a job 33 times and more.
 */
function preemptions(): Facts {
  const names = ["a", "b", "c", "d"] as const;
  const bench = new Bench(
    policy,
    { nodes: 500, perNode: 8 },
    names.map((name) => team(name, { guarantee: { accelerators: 1000 } })),
  );
  const evicted = new Map<string, number>();
  let arrivals = 0;
  const markClean = (ready: Ready): void => {
    for (const event of ready.events) {
      if (event.kind !== "attemptStopRequested") continue;
      const job = event.attemptId.replace(/\.\d+$/, "");
      evicted.set(job, (evicted.get(job) ?? 0) + 1);
    }
    if (ready.effects.length > 0) markClean(bench.stopped(ready));
  };
  const ask = (name: string, jobs: number): void => {
    arrivals += jobs;
    markClean(
      bench.receive(...Array.from({ length: jobs }, () => bench.submission({}, { team: name, preemptible: true }))),
    );
  };
  ask("a", 4000);
  for (const name of names.slice(1)) ask(name, 1000);
  for (const name of names) ask(name, 500);
  const sum = (): number => [...evicted.values()].reduce((total, count) => total + count, 0);
  const untilRest = sum();
  for (let round = 0; round < 5; round++) {
    bench.nowMs += 1000;
    markClean(bench.receive({ kind: "tick" }));
  }
  return {
    arrivals,
    evictions: untilRest,
    per_arrival: rounded(untilRest / arrivals),
    most_of_one_job: Math.max(0, ...evicted.values()),
    after_rest: sum() - untilRest,
  };
}

/** 500 nodes full of non-preemptible work, and a gang of 10 x 8. */
function fullNodes(): { readonly bench: Bench; readonly job: Command } {
  const bench = new Bench(policy, { nodes: 500, perNode: 8 });
  const running = Array.from({ length: 500 }, () => bench.submission({ accelerators: 8 }, { preemptible: false }));
  bench.started(bench.receive(...running));
  return { bench, job: bench.submission({ workers: 10, accelerators: 8 }) };
}

function submitted({ replies }: Ready): WorkloadId {
  const reply = replies[0];
  if (reply?.kind !== "accepted" || reply.result.kind !== "workloadSubmitted") throw new Error("not taken in");
  return reply.result.workloadId;
}

/** 500 nodes x 8 full of one team's opportunistic jobs; a team with a guarantee for them requests this shape. */
function reclaim(gang: { readonly workers: number; readonly accelerators: number }, jobs: number): Facts {
  const bench = new Bench(policy, { nodes: 500, perNode: 8 }, [
    team("owner", { guarantee: { accelerators: 4000 } }),
    team("borrower", { guarantee: { accelerators: 0 } }),
  ]);
  const opportunisticJobs = Array.from({ length: 4000 }, () =>
    bench.submission({}, { team: "borrower", preemptible: true }),
  );
  bench.started(bench.receive(...opportunisticJobs));
  const entitlements = Array.from({ length: jobs }, () => bench.submission(gang, { team: "owner" }));
  const run = measured(() => bench.receive(...entitlements));
  const evicted = run.value.events.filter(({ kind }) => kind === "attemptStopRequested").length;
  const heapMib = Math.round(process.memoryUsage().heapUsed / 2 ** 20);
  return { ...times(run), nominated: nominatedCount(run.value), evicted, heap_mib: heapMib };
}

const waitingShapes = [1, 2, 4, 8].flatMap((accelerators) => [1, 2, 4].map((workers) => ({ workers, accelerators })));

type WalltimeOf = (index: number) => number;
const anHour: WalltimeOf = () => 3_600_000;

/** A full fleet with this number of waiting workloads, in a dozen shapes and eight teams. */
function waiting(nodes: number, pending: number, walltimeOf: WalltimeOf = anHour): Bench {
  const teams = Array.from({ length: 8 }, (_, index) => `team${index}`);
  const bench = new Bench(
    policy,
    { nodes, perNode: 8 },
    teams.map((name) => team(name, { weight: 1 })),
  );
  const running = Array.from({ length: nodes }, (_, index) =>
    bench.submission({ accelerators: 8 }, { team: teams[index % 8] as string, walltimeMs: 3_600_000 + index * 1000 }),
  );
  bench.started(bench.receive(...running));
  bench.receive(
    ...Array.from({ length: pending }, (_, index) =>
      bench.submission(waitingShapes[index % waitingShapes.length] as object, {
        team: teams[index % 8] as string,
        walltimeMs: walltimeOf(index),
      }),
    ),
  );
  return bench;
}

/** Rounds in which one node's work ends while others wait. */
function rounds(nodes: number, pending: number, walltimeOf: WalltimeOf = anHour): Facts {
  const bench = waiting(nodes, pending, walltimeOf);
  const walls: number[] = [];
  const cpus: number[] = [];
  const running = [...bench.engine.state.attempts.keys()];
  for (let round = 0; round < 300; round++) {
    bench.nowMs += 1000;
    const attemptId = running[round];
    if (attemptId === undefined) break;
    const ended: Input = { kind: "attemptExited", attemptId, exits: [{ kind: "exited", worker: 0, code: 0 }] };
    const run = measured(() => bench.receive(ended));
    walls.push(run.wallMs);
    cpus.push(run.cpuMs);
    for (const effect of run.value.effects) if (effect.kind === "launchGang") running.push(effect.attemptId);
  }
  const steady = walls.slice(50);
  return {
    rounds: steady.length,
    cpu_mean_ms: rounded(cpus.slice(50).reduce((sum, value) => sum + value, 0) / steady.length),
    p50_ms: rounded(quantile(steady, 0.5)),
    p99_ms: rounded(quantile(steady, 0.99)),
    max_ms: rounded(Math.max(...steady)),
  };
}

/** CPU milliseconds for a placement with this number of waiting workloads, after the new fleet has been filled. */
function perPlacement(nodes: number, pending: number): number {
  const bench = waiting(nodes, pending);
  const running = [...bench.engine.state.attempts.keys()];
  const end = (attempts: readonly AttemptId[]): number =>
    attempts.reduce((placed, attemptId) => {
      bench.nowMs += 1000;
      const ended: Input = { kind: "attemptExited", attemptId, exits: [{ kind: "exited", worker: 0, code: 0 }] };
      return placed + placedCount(bench.receive(ended));
    }, 0);
  end(running.slice(0, 100));
  const { value: placed, cpuMs } = measured(() => end(running.slice(100, 300)));
  return cpuMs / Math.max(1, placed);
}

for (const [name, play] of Object.entries(cases)) {
  if (only !== "" && only !== name) continue;
  process.stdout.write(`${JSON.stringify({ case: name, ...play() })}\n`);
}
