/** Cases about several workers: their environment, and gangs that start and end together. */
import assert from "node:assert/strict";
import path from "node:path";
import type { ConformanceCase } from "./conformance.ts";
import { outputHas, readText } from "./conformance-world.ts";

type GangEnvironment = Readonly<Record<string, string>>;

function parseEnvironment(text: string): GangEnvironment {
  return Object.fromEntries(
    text.split("\n").flatMap((line) => {
      const at = line.indexOf("=");
      return at > 0 ? [[line.slice(0, at), line.slice(at + 1)]] : [];
    }),
  );
}

/** Variables that the shell itself adds to the environment of its commands. */
const SHELL_NAMES = ["PWD", "OLDPWD", "_", "SHLVL"];
const SESSION_NAMES = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR"];
const CONTRACT_NAMES = [
  "RANK",
  "WORLD_SIZE",
  "LOCAL_RANK",
  "LOCAL_WORLD_SIZE",
  "GROUP_RANK",
  "NODE_RANK",
  "NNODES",
  "NPROC_PER_NODE",
  "MASTER_ADDR",
  "MASTER_PORT",
  "CUDA_DEVICE_ORDER",
  "CUDA_VISIBLE_DEVICES",
  "ROCR_VISIBLE_DEVICES",
  "HEADROOM_WORKLOAD_ID",
  "HEADROOM_WORKLOAD_NAME",
  "HEADROOM_ATTEMPT_ID",
  "HEADROOM_TASK_INDEX",
  "HEADROOM_WORKER_ID",
  "HEADROOM_WORKERS_MIN",
  "HEADROOM_WORKERS_MAX",
  "HEADROOM_CHECKPOINT_DIR",
  "HEADROOM_CHECKPOINT_REQUEST_FILE",
  "HEADROOM_PROGRESS_FILE",
  "MLFLOW_RUN_CONTEXT",
];

const environmentCases: ConformanceCase[] = [
  {
    name: "a worker's environment holds the session, the workload's own and the contract, and nothing else",
    async run(world) {
      const { executor, observer } = world.watched();
      process.env["HEADROOM_TOKEN"] = "secret";
      process.env["npm_config_conformance"] = "leak";
      process.env["NODE_OPTIONS_CONFORMANCE"] = "leak";
      const launch = world.launch("env", { env: { MODEL: "small", RANK: "77" } });
      executor.perform(launch);
      await observer.exits(launch.attemptId);
      for (const name of ["HEADROOM_TOKEN", "npm_config_conformance", "NODE_OPTIONS_CONFORMANCE"])
        delete process.env[name];
      const environment = parseEnvironment(await readText(executor, launch.attemptId));
      const allowed = new Set([...SHELL_NAMES, ...SESSION_NAMES, ...CONTRACT_NAMES, ...world.imageVariables, "MODEL"]);
      assert.deepEqual(
        Object.keys(environment).filter((name) => !allowed.has(name)),
        [],
      );
      assert.deepEqual(
        CONTRACT_NAMES.filter((name) => !(name in environment)),
        [],
      );
      assert.equal(environment["MODEL"], "small");
      assert.equal(environment["RANK"], "0");
      assert.equal(environment["HEADROOM_ATTEMPT_ID"], launch.attemptId);
      assert.equal(environment["HEADROOM_WORKLOAD_ID"], launch.workloadId);
      assert.equal(environment["CUDA_VISIBLE_DEVICES"], "");
      assert.ok(!environment["PATH"]?.includes("node_modules/.bin"));
    },
  },
  {
    name: "each worker knows its rank, its accelerators and where to meet the others",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch("env", { accelerators: ["0-1", "2", "5,7"] });
      executor.perform(launch);
      await observer.exits(launch.attemptId);
      const workers = await Promise.all(
        [0, 1, 2].map(async (worker) => parseEnvironment(await readText(executor, launch.attemptId, { worker }))),
      );
      const column = (name: string): (string | undefined)[] => workers.map((environment) => environment[name]);
      assert.deepEqual(column("RANK"), ["0", "1", "2"]);
      const nodes = launch.workers.map(({ node }) => node);
      const localRanks = nodes.map((node, rank) => String(nodes.slice(0, rank).filter((each) => each === node).length));
      assert.deepEqual(column("LOCAL_RANK"), localRanks);
      assert.deepEqual(column("NODE_RANK"), ["0", "1", "2"]);
      assert.deepEqual(column("WORLD_SIZE"), ["3", "3", "3"]);
      assert.deepEqual(column("NNODES"), ["3", "3", "3"]);
      const devices = column("CUDA_VISIBLE_DEVICES");
      if (world.choosesDevices)
        assert.deepEqual(
          devices.map((text) => text?.split(",").length),
          [2, 1, 2],
        );
      else assert.deepEqual(devices, ["0,1", "2", "5,7"]);
      for (const name of ["MASTER_ADDR", "MASTER_PORT"]) assert.equal(new Set(column(name)).size, 1);
      assert.ok(Number(workers[0]?.["MASTER_PORT"]) > 1023);
    },
  },
  {
    // torchrun knows the agents of an elastic rendezvous by both.
    name: "no two workers of a gang have the same host name and process id",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch('read name < /proc/sys/kernel/hostname; echo "$name $$"', {
        accelerators: ["0", "1", "2"],
      });
      executor.perform(launch);
      await observer.exits(launch.attemptId);
      const read = [0, 1, 2].map((worker) => readText(executor, launch.attemptId, { worker }));
      const names = (await Promise.all(read)).map((text) => text.trim());
      for (const name of names) assert.match(name, /^\S+ \d+$/);
      assert.equal(new Set(names).size, 3, names.join(", "));
    },
  },
  {
    name: "variables of a workload reach every worker as they are, whatever their names",
    async run(world) {
      const { executor, observer } = world.watched();
      const env = { i: "one", go: "two", n: "three" };
      const launch = world.launch('echo "$i $go $n"', { accelerators: ["0", "1"], env });
      executor.perform(launch);
      await observer.exits(launch.attemptId);
      for (const worker of [0, 1])
        assert.equal(await readText(executor, launch.attemptId, { worker }), "one two three\n");
    },
  },
  {
    name: "checkpoints of a workload outlive its attempts, and a directory of its own choice is respected",
    async run(world) {
      const { executor, observer } = world.watched();
      const first = world.launch('echo 1 > "$HEADROOM_CHECKPOINT_DIR/step"');
      executor.perform(first);
      await observer.exits(first.attemptId);
      await executor.forget(first.attemptId);
      const second = { ...world.launch('cat "$HEADROOM_CHECKPOINT_DIR/step"'), workloadId: first.workloadId };
      executor.perform(second);
      await observer.exits(second.attemptId);
      assert.equal(await readText(executor, second.attemptId), "1\n");
      const own = path.join(world.scratchDir, "own");
      const third = world.launch('cd "$HEADROOM_CHECKPOINT_DIR" && pwd', { checkpointDir: own });
      executor.perform(third);
      await observer.exits(third.attemptId);
      assert.equal(await readText(executor, third.attemptId), `${own}\n`);
    },
  },
];

const byRank = (scripts: readonly string[]): string =>
  `case $RANK in ${scripts.map((script, rank) => `${rank}) ${script};;`).join(" ")} esac`;

const unityCases: ConformanceCase[] = [
  {
    name: "when one worker fails the others are stopped, and its exit comes first",
    async run(world) {
      const { executor, observer } = world.watched();
      const waiting = "trap 'exit 8' TERM; touch $HEADROOM_CHECKPOINT_DIR/$RANK; while :; do sleep 0.02; done";
      const failing =
        "until [ -e $HEADROOM_CHECKPOINT_DIR/0 ] && [ -e $HEADROOM_CHECKPOINT_DIR/2 ]; do sleep 0.02; done; exit 3";
      const launch = world.launch(byRank([waiting, failing, waiting]), { workers: 3 });
      executor.perform(launch);
      const exits = await observer.exits(launch.attemptId);
      assert.deepEqual(exits[0], { kind: "exited", worker: 1, code: 3 });
      assert.deepEqual(
        exits.slice(1).toSorted((a, b) => a.worker - b.worker),
        [0, 2].map((worker) => ({ kind: "exited", worker, code: 8 })),
      );
    },
  },
  {
    name: "a worker that outlasts the grace after another failed is killed",
    async run(world) {
      const { executor, observer } = world.watched();
      const deaf = "trap '' TERM; touch $HEADROOM_CHECKPOINT_DIR/deaf; while :; do sleep 0.02; done";
      const failing = "until [ -e $HEADROOM_CHECKPOINT_DIR/deaf ]; do sleep 0.02; done; kill -SEGV $$";
      const launch = world.launch(byRank([deaf, failing]), { workers: 2, graceTimeoutMs: 200 });
      executor.perform(launch);
      assert.deepEqual(await observer.exits(launch.attemptId), [
        { kind: "signalled", worker: 1, signal: "SIGSEGV" },
        { kind: "signalled", worker: 0, signal: "SIGKILL" },
      ]);
    },
  },
  {
    name: "a worker that is done lets the others finish",
    async run(world) {
      const { executor, observer } = world.watched();
      const first = "$HEADROOM_CHECKPOINT_DIR/first";
      // The first worker has ended by then.
      const after = `until [ -s ${first} ]; do sleep 0.02; done; sleep 0.5`;
      const launch = world.launch(byRank([`echo $$ > ${first}; exit 0`, `${after}; echo last; exit 0`]), {
        workers: 2,
      });
      executor.perform(launch);
      assert.deepEqual(await observer.exits(launch.attemptId), [
        { kind: "exited", worker: 0, code: 0 },
        { kind: "exited", worker: 1, code: 0 },
      ]);
      assert.equal(await readText(executor, launch.attemptId, { worker: 1, stream: "stdout" }), "last\n");
    },
  },
  {
    name: "what a worker leaves running is gone when its end is told, in its group or out of it",
    async run(world) {
      const { executor, observer } = world.watched();
      const pids = "$HEADROOM_CHECKPOINT_DIR/pids";
      const launch = world.launch(
        `${world.longSleep} & echo $! >> ${pids}; setsid /bin/sh -c 'echo $$ >> ${pids}; echo escaped; exec ${world.longSleep}' & wait_for() { until [ $(wc -l < ${pids}) = 2 ]; do sleep 0.02; done; }; wait_for; cat ${pids}`,
      );
      executor.perform(launch);
      await observer.exits(launch.attemptId);
      const text = await readText(executor, launch.attemptId);
      const left = text
        .split("\n")
        .map(Number)
        .filter((pid) => pid > 0);
      assert.equal(left.length, 2);
      assert.equal(world.sleeperCount(), 0);
    },
  },
  {
    name: "a stop reaches every worker of a gang and all they started",
    async run(world) {
      const { executor, observer } = world.watched();
      // The child prints its own pid, because between its fork and its exec a SIGTERM would reach the shell's trap
      // instead.
      const child = `/bin/sh -c 'echo pid $$; exec ${world.longSleep}'`;
      const launch = world.launch(`trap 'exit 0' TERM; ${child} & wait; wait`, { workers: 3 });
      executor.perform(launch);
      for (const worker of [0, 1, 2]) await outputHas(executor, launch.attemptId, "pid", worker);
      executor.perform(world.stop(launch, 30_000));
      const exits = await observer.exits(launch.attemptId);
      assert.deepEqual(
        exits.map(({ worker }) => worker).toSorted((a, b) => a - b),
        [0, 1, 2],
      );
      assert.equal(world.sleeperCount(), 0);
    },
  },
];

export const gangCases: readonly ConformanceCase[] = [...environmentCases, ...unityCases];
