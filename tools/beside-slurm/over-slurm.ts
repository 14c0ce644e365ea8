/**
 * `npm run bench:over-slurm`: runs the same jobs of one accelerator on one real Slurm cluster, once as an array of Slurm's own and once as
 * an array of Headroom over Slurm, in alternating runs on this machine. The time is from the submission to the last end; the figure is
 * Headroom's time in multiples of Slurm's of the same run. Options: `--jobs N` (2,000), `--seconds N` (5, of each job), `--nodes N` (4),
 * `--slots N` (8, on each node), `--runs N` (1), `--json`. 2,000 jobs of 5 s on 32 slots are some six minutes of each side at best.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { slurmControlPlane } from "../../packages/executors/src/slurm/testing/control-plane.ts";
import { SlurmCluster, whyNoCluster } from "../../packages/executors/src/slurm/testing/slurm-cluster.ts";

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "2000" },
    seconds: { type: "string", default: "5" },
    nodes: { type: "string", default: "4" },
    slots: { type: "string", default: "8" },
    runs: { type: "string", default: "1" },
    port: { type: "string", default: "25900" },
    json: { type: "boolean", default: false },
  },
});

/** Most that Headroom's time may be of Slurm's own. */
const BAR = 1.2;
const POLL_MS = 250;
/** Time in ms of one side, as a part that CI and people can wait for. */
const SIDE_TIMEOUT_MS = 30 * 60_000;

const jobCount = Number(values.jobs);
const seconds = Number(values.seconds);
const shape = {
  nodes: Number(values.nodes),
  gpusPerNode: Number(values.slots),
  cpusPerNode: 64,
  memoryMib: 500_000,
};

interface Pair {
  readonly slurmMs: number;
  readonly headroomMs: number;
  readonly ratio: number;
  readonly load: number;
}

const note = (text: string): void => void process.stderr.write(`${text}\n`);

/** Waits for the end, with a line every 30 s. `countDone`: jobs that have ended. */
async function timed(side: string, begin: () => Promise<unknown>, countDone: () => Promise<number>): Promise<number> {
  const beganMs = performance.now();
  await begin();
  let shownMs = beganMs;
  for (;;) {
    const done = await countDone();
    const nowMs = performance.now();
    if (done >= jobCount) return nowMs - beganMs;
    if (nowMs - beganMs > SIDE_TIMEOUT_MS) throw new Error(`${side}: ${done} of ${jobCount} jobs after 30 minutes`);
    if (nowMs - shownMs > 30_000) {
      shownMs = nowMs;
      note(`${side}: ${done} of ${jobCount} jobs after ${((nowMs - beganMs) / 1_000).toFixed(0)} s`);
    }
    await delay(POLL_MS);
  }
}

async function bySlurm(cluster: SlurmCluster, directory: string): Promise<number> {
  const script = path.join(directory, "job.sh");
  writeFileSync(script, `#!/bin/sh\nexec sleep ${seconds}\n`);
  chmodSync(script, 0o755);
  const completed = async (): Promise<number> => {
    const text = await cluster.call("squeue", "--noheader", "--array", "--states=PD,R,CG,S", "--format=%i");
    return jobCount - text.split("\n").filter((line) => line !== "").length;
  };
  // Without a limit of memory, a job takes all of its node.
  const args = ["--gres=gpu:1", "--ntasks=1", "--mem=1024", "--output=/dev/null", `--chdir=${directory}`];
  // Slurm's default limit of an array is 1,000 tasks (MaxArraySize 1001).
  const begin = async (): Promise<void> => {
    for (let left = jobCount; left > 0; left -= 1_000)
      await cluster.call("sbatch", `--array=0-${Math.min(left, 1_000) - 1}`, ...args, script);
  };
  return await timed("Slurm", begin, completed);
}

async function byHeadroom(cluster: SlurmCluster, root: string): Promise<number> {
  const plane = slurmControlPlane(root, Number(values.port), cluster);
  await plane.start();
  try {
    await plane.hasNodes(shape.nodes);
    const gang = { workers: 1, accelerators: 1, coresMilli: 1_000 };
    const work = { kind: "batch", name: "array", run: `exec sleep ${seconds}`, taskCount: jobCount, gang };
    let id = "";
    const begin = async (): Promise<void> => {
      id = await plane.submit(work);
    };
    const done = async (): Promise<number> => {
      const { tasks } = JSON.parse(await plane.describe(id)) as { tasks: { succeeded: number; failed: number } };
      if (tasks.failed > 0) throw new Error(`${tasks.failed} tasks of Headroom failed`);
      return tasks.succeeded;
    };
    return await timed("Headroom over Slurm", begin, done);
  } finally {
    await plane.kill();
  }
}

async function pair(): Promise<Pair> {
  const root = mkdtempSync(path.join(tmpdir(), "headroom-over-slurm-"));
  const cluster = await SlurmCluster.start(shape);
  try {
    mkdirSync(path.join(root, "own"));
    const load = loadavg()[0] ?? 0;
    const slurmMs = await bySlurm(cluster, path.join(root, "own"));
    note(`Slurm: ${jobCount} jobs in ${(slurmMs / 1_000).toFixed(1)} s`);
    const headroomMs = await byHeadroom(cluster, root);
    note(`Headroom over Slurm: ${jobCount} jobs in ${(headroomMs / 1_000).toFixed(1)} s`);
    return { slurmMs, headroomMs, ratio: headroomMs / slurmMs, load };
  } finally {
    await cluster.stop();
    rmSync(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

const missing = whyNoCluster(shape);
if (missing !== null) {
  note(`nothing was measured: ${missing}`);
  process.exit(1);
}
const pairs: Pair[] = [];
for (let run = 0; run < Number(values.runs); run++) pairs.push(await pair());
if (values.json) console.log(JSON.stringify({ jobCount, seconds, shape, bar: BAR, pairs }));
else
  for (const { slurmMs, headroomMs, ratio, load } of pairs)
    console.log(
      `${jobCount} jobs of ${seconds} s on ${shape.nodes * shape.gpusPerNode} slots: Slurm ${(slurmMs / 1_000).toFixed(1)} s, ` +
        `Headroom over Slurm ${(headroomMs / 1_000).toFixed(1)} s, ratio ${ratio.toFixed(2)} (bar ${BAR}: ${ratio <= BAR ? "kept" : "NOT kept"}), load before ${load.toFixed(1)}`,
    );
