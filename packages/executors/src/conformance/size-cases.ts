/** Cases about gangs that grow and shrink while they run. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { LaunchGang, WorkerExit } from "@headroom/model";
import type { ExecutorInput } from "../executor.ts";
import type { ConformanceCase } from "./conformance.ts";
import type { ConformanceWorld } from "./conformance-world.ts";
import { outputHas, readText } from "./conformance-world.ts";
import type { Observer } from "./observer.ts";

/**
 * Each worker writes a line when it starts and runs until the file `done` exists. Then only the first worker exits
 * without a stop.
 */
const working = (world: ConformanceWorld, onTerm = "exit 143"): string =>
  `trap '${onTerm}' TERM; echo "$RANK of $WORLD_SIZE" >> ${world.scratchDir}/starts; echo ready $HEADROOM_WORKER_ID; until [ -e ${world.scratchDir}/done ]; do sleep 0.02; done`;

async function finish(world: ConformanceWorld): Promise<void> {
  await writeFile(path.join(world.scratchDir, "done"), "");
}

type ObservedSizeNews = Extract<ExecutorInput, { kind: "workersLeft" | "joinFailed" }>;

const newsOf = (observer: Observer, { attemptId }: LaunchGang): ObservedSizeNews[] =>
  observer
    .of(attemptId)
    .filter((input): input is ObservedSizeNews => input.kind === "workersLeft" || input.kind === "joinFailed");

const ranksOf = (exits: readonly WorkerExit[]): number[] => exits.map(({ worker }) => worker).toSorted((a, b) => a - b);

const isThere = async (
  observer: Observer,
  launch: LaunchGang,
  kind: ObservedSizeNews["kind"],
): Promise<ObservedSizeNews> => {
  const find = (): ObservedSizeNews | undefined => newsOf(observer, launch).find((news) => news.kind === kind);
  await observer.until(() => find() !== undefined);
  return find() as ObservedSizeNews;
};

const growingCases: ConformanceCase[] = [
  {
    name: "a gang that grows has each further worker once, with the next rank, however often it is asked",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch(working(world));
      executor.perform(launch);
      executor.perform(world.grow(launch, 2, 1));
      executor.perform(world.grow(launch, 2));
      await outputHas(executor, launch.attemptId, "ready", 1);
      executor.perform(world.grow(launch, 3, 2));
      await outputHas(executor, launch.attemptId, "ready", 2);
      await executor.close();
      const again = world.watched();
      again.executor.perform(world.grow(launch, 3));
      await again.observer.running(launch.attemptId);
      await finish(world);
      const exits = await again.observer.exits(launch.attemptId);
      assert.deepEqual(ranksOf(exits), [0, 1, 2]);
      assert.ok(exits.every((exit) => exit.kind === "exited" && exit.code === 0));
      assert.deepEqual((await world.marks("starts")).toSorted(), ["0 of 1", "1 of 2", "2 of 3"]);
      assert.deepEqual([...newsOf(observer, launch), ...newsOf(again.observer, launch)], []);
    },
  },
  {
    name: "a stop reaches those who joined, and their exits are told with the others'",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch(working(world, "exit 7"));
      executor.perform(launch);
      executor.perform(world.grow(launch, 3, 1));
      for (const worker of [0, 1, 2]) await outputHas(executor, launch.attemptId, "ready", worker);
      executor.perform(world.stop(launch, 30_000));
      const exits = await observer.exits(launch.attemptId);
      assert.deepEqual(
        exits.toSorted((a, b) => a.worker - b.worker),
        [0, 1, 2].map((worker) => ({ kind: "exited", worker, code: 7 })),
      );
    },
  },
  {
    name: "a further worker that fails as it joins is told of, with those behind it, and the gang goes on without them",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch(`if [ $RANK = 2 ]; then sleep 0.2; exit 3; fi; ${working(world)}`);
      executor.perform(launch);
      executor.perform(world.grow(launch, 4, 1));
      const news = await isThere(observer, launch, "joinFailed");
      assert.ok(news.kind === "joinFailed" && news.workers === 2 && /worker 2 exited with code 3/.test(news.detail));
      await executor.close();
      // A restarted control plane learns the size of the gang. No worker is started again.
      const again = world.watched();
      again.executor.perform(world.grow(launch, 4));
      assert.deepEqual(await isThere(again.observer, launch, "joinFailed"), news);
      await finish(world);
      const exits = await again.observer.exits(launch.attemptId);
      assert.deepEqual(ranksOf(exits), [0, 1]);
      assert.equal((await world.marks("starts")).filter((line) => line.startsWith("2 ")).length, 0);
    },
  },
];

const shrinkingCases: ConformanceCase[] = [
  {
    name: "a gang that shrinks goes on; who leaves has its grace, and nothing of it is left when that is told",
    async run(world) {
      const { executor, observer } = world.watched();
      const pids = path.join(world.scratchDir, "pids");
      const escaping = `setsid /bin/sh -c 'echo $$ >> ${pids}; exec ${world.longSleep}' & trap '' TERM; echo deaf; while :; do sleep 0.02; done`;
      const launch = world.launch(`if [ $RANK = 2 ]; then ${escaping}; fi; ${working(world)}`, { workers: 3 });
      executor.perform(launch);
      for (const worker of [0, 1]) await outputHas(executor, launch.attemptId, "ready", worker);
      await outputHas(executor, launch.attemptId, "deaf", 2);
      while ((await world.marks("pids")).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
      executor.perform(world.shrink(launch, 1, 300));
      assert.deepEqual(await isThere(observer, launch, "workersLeft"), {
        kind: "workersLeft",
        attemptId: launch.attemptId,
        workers: 1,
      });
      assert.equal(world.sleeperCount(), 0);
      await finish(world);
      assert.deepEqual(await observer.exits(launch.attemptId), [{ kind: "exited", worker: 0, code: 0 }]);
    },
  },
  {
    name: "the exits of a gang that grew and shrank are those of the workers that are left",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch("exec sleep 600", { workers: 2 });
      executor.perform(launch);
      await observer.running(launch.attemptId);
      executor.perform(world.grow(launch, 3, 2));
      executor.perform(world.shrink(launch, 1, 100));
      executor.perform(world.shrink(launch, 1, 100));
      await isThere(observer, launch, "workersLeft");
      executor.perform(world.stop(launch, 0));
      assert.deepEqual(ranksOf(await observer.exits(launch.attemptId)), [0]);
      assert.equal(newsOf(observer, launch).length, 1);
    },
  },
  {
    name: "a rank that was left may be taken again: by another process, which goes on in the same logs",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch(working(world), { workers: 2 });
      executor.perform(launch);
      await outputHas(executor, launch.attemptId, "ready", 1);
      executor.perform(world.shrink(launch, 1, 30_000));
      await isThere(observer, launch, "workersLeft");
      executor.perform(world.grow(launch, 2, 1));
      await outputHas(executor, launch.attemptId, `ready ${launch.attemptId}/1.1`, 1);
      await finish(world);
      assert.equal((await observer.exits(launch.attemptId)).length, 2);
      const told = await readText(executor, launch.attemptId, { worker: 1, stream: "stdout" });
      assert.equal(told, `ready ${launch.attemptId}/1.0\nready ${launch.attemptId}/1.1\n`);
    },
  },
  {
    name: "a shrinking that is asked again after a restart is answered once, whether it was done before or not",
    async run(world) {
      const first = world.watched();
      const launch = world.launch(working(world), { workers: 3 });
      first.executor.perform(launch);
      for (const worker of [0, 1, 2]) await outputHas(first.executor, launch.attemptId, "ready", worker);
      await first.executor.close();
      const second = world.watched();
      second.executor.perform(world.grow(launch, 2));
      second.executor.perform(world.shrink(launch, 2, 30_000));
      await isThere(second.observer, launch, "workersLeft");
      await second.executor.close();
      const third = world.watched();
      third.executor.perform(world.shrink(launch, 2, 30_000));
      await isThere(third.observer, launch, "workersLeft");
      await finish(world);
      const exits = await third.observer.exits(launch.attemptId);
      assert.deepEqual(ranksOf(exits), [0, 1]);
      assert.equal(newsOf(third.observer, launch).length, 1);
    },
  },
  {
    name: "where a checkpoint is to be written first, nobody leaves before it is reported, and the request is taken back",
    async run(world) {
      const { executor, observer } = world.watched();
      const marks = path.join(world.scratchDir, "marks");
      const saving = `until [ -e "$HEADROOM_CHECKPOINT_REQUEST_FILE" ]; do sleep 0.02; done; sleep 0.3; echo saved >> ${marks}; echo '{"kind":"checkpoint","step":7,"path":"step-7"}' >> "$HEADROOM_PROGRESS_FILE"; while [ -e "$HEADROOM_CHECKPOINT_REQUEST_FILE" ]; do sleep 0.02; done; echo taken back >> ${marks}; until [ -e ${world.scratchDir}/done ]; do sleep 0.02; done`;
      const leaving = `trap 'echo told to leave >> ${marks}; exit 143' TERM; echo ready; while :; do sleep 0.02; done`;
      const launch = world.launch(`case $RANK in 0) ${saving};; *) ${leaving};; esac`, { workers: 2 });
      executor.perform(launch);
      await outputHas(executor, launch.attemptId, "ready", 1);
      await observer.running(launch.attemptId);
      executor.perform({ ...world.shrink(launch, 1, 30_000), checkpointTimeoutMs: 30_000 });
      await isThere(observer, launch, "workersLeft");
      await finish(world);
      assert.deepEqual(await observer.exits(launch.attemptId), [{ kind: "exited", worker: 0, code: 0 }]);
      const [first, ...others] = await world.marks("marks");
      assert.equal(first, "saved");
      assert.deepEqual(others.toSorted(), ["taken back", "told to leave"]);
    },
  },
];

export const sizeCases: readonly ConformanceCase[] = [...growingCases, ...shrinkingCases];
