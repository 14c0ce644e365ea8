/**
 * Decision times of one large fleet: every node runs one job, others wait in a dozen shapes and eight teams, then jobs end one by
 * one. `node tools/bootstrap.mjs packages/engine/bench/large-fleet.ts [NODES] [WAITING]`; prints one JSON line. Memory is
 * the largest resident set of the whole process.
 */
import { presets } from "@headroom/model";
import type { Command, Input, Policy } from "@headroom/model";
import { Bench, measured, quantile, rounded, team } from "./fleet.ts";

const [nodes = 100_000, waiting = 900_000] = process.argv.slice(2).map(Number);
/** Submissions in one batch: the arguments of one call and the text of one journal group are bounded. */
const BATCH = 5000;
const ROUNDS = 300;

const teams = Array.from({ length: 8 }, (_, index) => `team${index}`);
const shapes = [1, 2, 4, 8].flatMap((accelerators) => [1, 2, 4].map((workers) => ({ workers, accelerators })));

function submit(bench: Bench, count: number, submission: (index: number) => Command): void {
  for (let from = 0; from < count; from += BATCH) {
    const size = Math.min(BATCH, count - from);
    bench.started(bench.receive(...Array.from({ length: size }, (_, index) => submission(from + index))));
  }
}

const bench = new Bench(
  presets.get("default") as Policy,
  { nodes, perNode: 8 },
  teams.map((name) => team(name, { weight: 1 })),
);
const filled = measured(() => {
  submit(bench, nodes, (index) =>
    bench.submission({ accelerators: 8 }, { team: teams[index % 8] as string, walltimeMs: 36_000_000 + index * 1000 }),
  );
  submit(bench, waiting, (index) =>
    bench.submission(shapes[index % shapes.length] as object, { team: teams[index % 8] as string }),
  );
});
const running = [...bench.engine.state.attempts.keys()];
const walls: number[] = [];
const cpus: number[] = [];
for (const attemptId of running.slice(0, ROUNDS)) {
  bench.nowMs += 1000;
  const ended: Input = { kind: "attemptExited", attemptId, exits: [{ kind: "exited", worker: 0, code: 0 }] };
  const run = measured(() => bench.receive(ended));
  walls.push(run.wallMs);
  cpus.push(run.cpuMs);
}
const snapshot = measured(() => {
  try {
    return bench.engine.snapshot().length;
  } catch (error) {
    return String(error);
  }
});
process.stdout.write(
  `${JSON.stringify({
    nodes,
    running: running.length,
    waiting: bench.engine.state.submittedCount - bench.engine.state.endedCount - bench.engine.state.attempts.size,
    fill_cpu_s: rounded(filled.cpuMs / 1000),
    round_p50_ms: rounded(quantile(walls, 0.5)),
    round_p99_ms: rounded(quantile(walls, 0.99)),
    round_max_ms: rounded(Math.max(...walls)),
    round_cpu_p99_ms: rounded(quantile(cpus, 0.99)),
    snapshot: snapshot.value,
    snapshot_cpu_s: rounded(snapshot.cpuMs / 1000),
    peak_mib: Math.round(process.resourceUsage().maxRSS / 1024),
  })}\n`,
);
