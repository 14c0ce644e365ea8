/** Cases about the start and the end of one attempt, which each happen once. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { ConformanceCase } from "./conformance.ts";
import { isReady, outputHas, readText } from "./conformance-world.ts";
import { Observer } from "./observer.ts";

const exited = (worker: number, code: number): object => ({ kind: "exited", worker, code });
const signalled = (worker: number, signal: string): object => ({ kind: "signalled", worker, signal });

const exitCases: ConformanceCase[] = [
  ...(
    [
      ["an exit code of 0", "exit 0", exited(0, 0)],
      ["an exit code of 7", "exit 7", exited(0, 7)],
      ["an end by a signal of its own", "kill -KILL $$", signalled(0, "SIGKILL")],
      ["a command that does not exist", "/no/such/command", exited(0, 127)],
    ] as const
  ).map(
    ([what, run, exit]) =>
      ({
        name: `${what} is told as it was, after running`,
        async run(world) {
          const { executor, observer } = world.watched();
          const launch = world.launch(run);
          executor.perform(launch);
          assert.deepEqual(await observer.exits(launch.attemptId), [exit]);
          assert.deepEqual(
            observer.of(launch.attemptId).map(({ kind }) => kind),
            ["attemptRunning", "attemptExited"],
          );
        },
      }) satisfies ConformanceCase,
  ),
  {
    name: "a working directory that is not there ends like a command that is not there, and says so",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch("echo never", { dir: path.join(world.scratchDir, "missing") });
      executor.perform(launch);
      assert.deepEqual(await observer.exits(launch.attemptId), [exited(0, 127)]);
      const stream = world.lacks("separateStreams") ? "stdout" : "stderr";
      assert.match(await readText(executor, launch.attemptId, { stream }), /missing/);
    },
  },
  {
    name: "a command too long for the operating system fails, and is not lost",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch(`: ${"x".repeat(3_000_000)}`);
      executor.perform(launch);
      assert.deepEqual(await observer.exits(launch.attemptId), [exited(0, 126)]);
      assert.match(await readText(executor, launch.attemptId), /refused/);
    },
  },
];

const stopCases: ConformanceCase[] = [
  {
    name: "a stop is a SIGTERM, and the workload has its grace",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch("trap 'echo saving; exit 9' TERM; echo ready; while :; do sleep 0.05; done");
      executor.perform(launch);
      await outputHas(executor, launch.attemptId, "ready");
      executor.perform(world.stop(launch, 30_000));
      assert.deepEqual(await observer.exits(launch.attemptId), [exited(0, 9)]);
      assert.match(await readText(executor, launch.attemptId), /saving/);
    },
  },
  {
    name: "a process that ignores SIGTERM is killed after the grace period",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch("trap '' TERM; echo ready; while :; do sleep 0.05; done");
      executor.perform(launch);
      await isReady(executor, observer, launch.attemptId);
      executor.perform(world.stop(launch, 200));
      assert.deepEqual(await observer.exits(launch.attemptId), [signalled(0, "SIGKILL")]);
    },
  },
  {
    name: "a child that outlives its shell in a stop keeps the grace",
    async run(world) {
      const { executor, observer } = world.watched();
      const child = `trap "sleep 0.3; echo saved; exit 0" TERM; echo ready; while :; do sleep 0.05; done`;
      const launch = world.launch(`/bin/sh -c '${child}'; echo unreachable`);
      executor.perform(launch);
      await outputHas(executor, launch.attemptId, "ready");
      executor.perform(world.stop(launch, 30_000));
      assert.deepEqual(await observer.exits(launch.attemptId), [signalled(0, "SIGTERM")]);
      const text = await readText(executor, launch.attemptId);
      assert.match(text, /saved/);
      assert.doesNotMatch(text, /unreachable/);
    },
  },
  {
    name: "of two stops, the earlier end of the grace holds",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch("trap '' TERM; echo ready; while :; do sleep 0.05; done");
      executor.perform(launch);
      await isReady(executor, observer, launch.attemptId);
      executor.perform(world.stop(launch, 3_600_000));
      executor.perform(world.stop(launch, 100));
      executor.perform(world.stop(launch, 3_600_000));
      assert.deepEqual(await observer.exits(launch.attemptId), [signalled(0, "SIGKILL")]);
    },
  },
  {
    name: "a stop on the heels of its launch ends the attempt",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch("echo started; exec sleep 600");
      executor.perform(launch);
      executor.perform(world.stop(launch, 0));
      await observer.end(launch.attemptId);
    },
  },
  {
    name: "stopping what was never launched tells that it is lost; stopping what has ended tells nothing",
    async run(world) {
      const { executor, observer } = world.watched();
      const never = world.launch("exit 0");
      executor.perform(world.stop(never, 0));
      assert.equal((await observer.end(never.attemptId)).kind, "attemptLost");
      const launch = world.launch("exit 0");
      executor.perform(launch);
      await observer.end(launch.attemptId);
      executor.perform(world.stop(launch, 0));
      const witness = world.launch("exit 0");
      executor.perform(witness);
      await observer.end(witness.attemptId);
      assert.equal(observer.of(launch.attemptId).length, 2);
    },
  },
];

/** The workload runs until a checkpoint is requested, writes it once, continues, and exits with 9 on SIGTERM. */
const SAVES_ON_REQUEST = `
  trap 'exit 9' TERM; echo ready
  until [ -e "$HEADROOM_CHECKPOINT_REQUEST_FILE" ]; do sleep 0.02; done
  echo '{"kind":"checkpoint","step":7,"path":"step-7"}' >> "$HEADROOM_PROGRESS_FILE"
  while :; do sleep 0.02; done`;

const checkpointCases: ConformanceCase[] = [
  {
    name: "a workload reports one checkpoint per request and runs on until it is stopped",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch(SAVES_ON_REQUEST);
      const { attemptId } = launch;
      executor.perform(launch);
      await outputHas(executor, attemptId, "ready");
      await observer.running(attemptId);
      executor.perform(world.checkpoint(launch));
      executor.perform(world.checkpoint(launch));
      await observer.until(() => observer.of(attemptId).some(({ kind }) => kind === "checkpointReported"));
      executor.perform(world.stop(launch, 30_000));
      assert.deepEqual(await observer.exits(attemptId), [exited(0, 9)]);
      const [checkpoint, ...others] = observer.of(attemptId).filter(({ kind }) => kind === "checkpointReported");
      assert.deepEqual(others, []);
      assert.ok(checkpoint?.kind === "checkpointReported" && checkpoint.step === 7);
      assert.match(checkpoint.path, /step-7$/);
    },
  },
  {
    name: "a checkpoint that was asked for and written while nobody watched is told by the next instance",
    async run(world) {
      const first = world.watched();
      const launch = world.launch(SAVES_ON_REQUEST.replace("echo '", "sleep 0.3; echo '"));
      const { attemptId } = launch;
      first.executor.perform(launch);
      await outputHas(first.executor, attemptId, "ready");
      await first.observer.running(attemptId);
      first.executor.perform(world.checkpoint(launch));
      await first.executor.close();
      const second = world.watched();
      second.executor.perform(world.checkpoint(launch));
      await second.observer.until(() =>
        second.observer.of(attemptId).some(({ kind }) => kind === "checkpointReported"),
      );
      second.executor.perform(world.stop(launch, 30_000));
      assert.deepEqual(await second.observer.exits(attemptId), [exited(0, 9)]);
    },
  },
  {
    name: "asking what has ended, or was never launched, for a checkpoint tells nothing",
    async run(world) {
      const { executor, observer } = world.watched();
      const [ended, never] = [world.launch("exit 0"), world.launch("exit 0")];
      executor.perform(ended);
      await observer.end(ended.attemptId);
      executor.perform(world.checkpoint(ended));
      executor.perform(world.checkpoint(never));
      const witness = world.launch("exit 0");
      executor.perform(witness);
      await observer.end(witness.attemptId);
      assert.equal(observer.of(ended.attemptId).length, 2);
      assert.deepEqual(observer.of(never.attemptId), []);
    },
  },
];

const onceCases: ConformanceCase[] = [
  {
    name: "launched again and again, by two instances at once and after its end, an attempt starts once",
    async run(world) {
      const first = world.watched();
      const second = world.watched();
      const launches = Array.from({ length: 6 }, () =>
        world.launch(`echo started >> ${world.scratchDir}/$HEADROOM_ATTEMPT_ID`),
      );
      for (const launch of launches) {
        for (const { executor } of [first, second, first]) executor.perform(launch);
      }
      for (const launch of launches) {
        assert.deepEqual(await first.observer.exits(launch.attemptId), [exited(0, 0)]);
        await second.observer.end(launch.attemptId);
        first.executor.perform(launch);
      }
      const witness = world.launch("exit 0");
      first.executor.perform(witness);
      await first.observer.end(witness.attemptId);
      for (const { attemptId } of launches) {
        if (!world.isSimulated) assert.deepEqual(await world.marks(attemptId), ["started"]);
        assert.equal(first.observer.of(attemptId).length, 2);
      }
    },
  },
  {
    name: "what runs is adopted by the next instance, with the sequence that launched it, and goes on unharmed",
    async run(world) {
      const first = world.watched();
      const launch = world.launch(
        `echo ready; until [ -e ${world.scratchDir}/go ]; do sleep 0.02; done; echo done; exit 4`,
      );
      first.executor.perform(launch);
      await outputHas(first.executor, launch.attemptId, "ready");
      await first.observer.running(launch.attemptId);
      await first.executor.close();
      const second = world.open();
      const { attemptId, workloadId, sequence } = launch;
      assert.deepEqual(await second.attempts(), [{ attemptId, workloadId, sequence, phase: { kind: "running" } }]);
      second.perform(launch);
      const observer = new Observer(second);
      await observer.running(attemptId);
      await writeFile(path.join(world.scratchDir, "go"), "");
      assert.deepEqual(await observer.exits(attemptId), [exited(0, 4)]);
      assert.equal(await readText(second, attemptId), "ready\ndone\n");
      assert.equal(observer.of(attemptId).length, 2);
      assert.equal(first.observer.of(attemptId).length, 1);
    },
  },
  {
    name: "what runs is found by the next instance, is not launched again, and is stopped by it",
    async run(world) {
      const first = world.watched();
      const launch = world.launch("exec sleep 600");
      const { attemptId, workloadId, sequence } = launch;
      first.executor.perform(launch);
      await first.observer.running(attemptId);
      await first.executor.close();
      const second = world.open();
      assert.deepEqual(await second.attempts(), [{ attemptId, workloadId, sequence, phase: { kind: "running" } }]);
      second.perform(launch);
      const observer = new Observer(second);
      await observer.running(attemptId);
      second.perform(world.stop(launch, 30_000));
      assert.deepEqual(await observer.exits(attemptId), [signalled(0, "SIGTERM")]);
      assert.equal(observer.of(attemptId).length, 2);
      assert.equal(first.observer.of(attemptId).length, 1);
    },
  },
  {
    name: "what ended while nobody watched is told by the next instance, and kept until it is forgotten",
    async run(world) {
      const first = world.watched();
      const launch = world.launch("exit 5");
      first.executor.perform(launch);
      await first.observer.end(launch.attemptId);
      await first.executor.close();
      const second = world.watched();
      assert.deepEqual(await second.observer.exits(launch.attemptId), [exited(0, 5)]);
      const known = await second.executor.attempts();
      assert.ok(known.every(({ phase }) => phase.kind === "ended" && phase.endedAtMs > 0));
      assert.deepEqual(
        known.map(({ phase }) => ({ ...phase, endedAtMs: null })),
        [{ kind: "ended", endedAtMs: null, exits: [exited(0, 5)] }],
      );
      await second.executor.forget(launch.attemptId);
      await second.executor.forget(launch.attemptId);
      assert.deepEqual(await second.executor.attempts(), []);
      assert.equal(await second.executor.usage(launch.attemptId), null);
      await assert.rejects(readText(second.executor, launch.attemptId), { code: "unknownAttempt" });
    },
  },
  {
    name: "while the listener has no space, nothing is told that can be read again; afterwards all of it is",
    async run(world) {
      const executor = world.open();
      const space = Promise.withResolvers<void>();
      const told: string[] = [];
      const isFirstTold = Promise.withResolvers<void>();
      const areAllTold = Promise.withResolvers<void>();
      executor.watch((input) => {
        if (!("attemptId" in input)) return undefined;
        told.push(`${input.kind} ${input.attemptId}`);
        isFirstTold.resolve();
        if (told.length === 4) areAllTold.resolve();
        return space.promise;
      });
      const [first, second] = [world.launch("exec sleep 600"), world.launch("exit 3")];
      executor.perform(first);
      await isFirstTold.promise;
      executor.perform(second);
      const hasEnded = async (): Promise<boolean> =>
        (await executor.attempts()).some(
          ({ attemptId, phase }) => attemptId === second.attemptId && phase.kind === "ended",
        );
      while (!(await hasEnded())) await new Promise((resolve) => setTimeout(resolve, 20));
      assert.deepEqual(told, [`attemptRunning ${first.attemptId}`]);
      executor.perform(world.stop(first, 0));
      space.resolve();
      await areAllTold.promise;
      assert.deepEqual(
        new Set(told.slice(1)),
        new Set([
          `attemptRunning ${second.attemptId}`,
          `attemptExited ${second.attemptId}`,
          `attemptExited ${first.attemptId}`,
        ]),
      );
    },
  },
  {
    name: "what runs is not forgotten",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch("exec sleep 600");
      executor.perform(launch);
      await observer.running(launch.attemptId);
      await assert.rejects(executor.forget(launch.attemptId), { code: "attemptActive" });
      executor.perform(world.stop(launch, 0));
      await observer.end(launch.attemptId);
    },
  },
];

export const lifeCases: readonly ConformanceCase[] = [...exitCases, ...stopCases, ...checkpointCases, ...onceCases];
