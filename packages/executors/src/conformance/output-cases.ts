/** Cases about the output of an attempt: logs, progress reports and resource usage. */
import assert from "node:assert/strict";
import path from "node:path";
import type { LogChunk } from "../executor.ts";
import type { ConformanceCase } from "./conformance.ts";
import { outputHas, readAll, readText } from "./conformance-world.ts";

/** Asserts that the chunks of a stream follow each other without gaps, and that their lengths match their offsets. */
function assertContiguous(chunks: readonly LogChunk[]): void {
  for (const [position, chunk] of chunks.entries()) {
    assert.equal(Buffer.byteLength(chunk.text), chunk.toByte - chunk.fromByte);
    const before = chunks[position - 1];
    if (before !== undefined) assert.equal(chunk.fromByte, before.toByte);
  }
}

const logCases: ConformanceCase[] = [
  {
    name: "both streams of every worker are kept apart, /dev/stderr can be opened, and the input is empty",
    about: "separateStreams",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch("read line; echo out $RANK $line; echo err $RANK > /dev/stderr", { workers: 2 });
      executor.perform(launch);
      await observer.exits(launch.attemptId);
      const chunks = await readAll(executor, launch.attemptId);
      assert.deepEqual(chunks.map(({ worker, stream, text }) => `${worker} ${stream} ${text}`).toSorted(), [
        "0 stderr err 0\n",
        "0 stdout out 0\n",
        "1 stderr err 1\n",
        "1 stdout out 1\n",
      ]);
    },
  },
  {
    name: "lines of several workers come in the order in which they were written, and from an instant on",
    async run(world) {
      const { executor, observer } = world.watched();
      const turns =
        "i=0; sleep 0.$((RANK * 15 + 10)); while [ $i -lt 4 ]; do echo $i $RANK; i=$((i+1)); sleep 0.3; done";
      const launch = world.launch(turns, { workers: 2 });
      executor.perform(launch);
      await observer.exits(launch.attemptId);
      const chunks = await readAll(executor, launch.attemptId, { stream: "stdout" });
      const times = chunks.map(({ atMs }) => atMs ?? 0);
      assert.ok(times.every((atMs) => Math.abs(Date.now() - atMs) < 60_000));
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      );
      assert.equal(
        chunks
          .map(({ text }) => text)
          .join("")
          .split("\n").length,
        9,
      );
      const sinceMs = times[4] ?? 0;
      const late = await readAll(executor, launch.attemptId, { stream: "stdout", sinceMs });
      assert.deepEqual(late, chunks.slice(times.indexOf(sinceMs)));
    },
  },
  {
    name: "following gives every byte once, ends with the attempt, and continues from where a reader was cut off",
    async run(world) {
      const { executor } = world.watched();
      const launch = world.launch("i=0; while [ $i -lt 300 ]; do echo line $i; i=$((i+1)); done; printf unfinished");
      executor.perform(launch);
      await until(async () => (await executor.attempts()).length === 1);
      const chunks = await readAll(executor, launch.attemptId, { stream: "stdout", follow: true });
      assertContiguous(chunks);
      const text = chunks.map((chunk) => chunk.text).join("");
      const expected = `${Array.from({ length: 300 }, (_, line) => `line ${line}\n`).join("")}unfinished`;
      assert.equal(text, expected);
      const rest = await readText(executor, launch.attemptId, {
        stream: "stdout",
        start: { kind: "byte", offset: 1000 },
      });
      assert.equal(rest, expected.slice(1000));
      const tail = await readText(executor, launch.attemptId, { stream: "stdout", start: { kind: "tail", lines: 3 } });
      assert.equal(tail, "line 298\nline 299\nunfinished");
    },
  },
  {
    name: "a follower that goes away is let go, and a line without its end is shown to one that stays",
    about: "unfinishedLines",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch("printf 'name: '; exec sleep 600");
      executor.perform(launch);
      await observer.running(launch.attemptId);
      const abort = new AbortController();
      let seen = "";
      const request = { worker: null, stream: null, start: { kind: "oldest" }, follow: true } as const;
      for await (const { text } of executor.logs(launch.attemptId, request, abort.signal)) {
        seen += text;
        abort.abort();
      }
      assert.equal(seen, "name: ");
      executor.perform(world.stop(launch, 0));
      await observer.end(launch.attemptId);
    },
  },
  {
    name: "logs are bounded: the oldest go, what is left is whole, and a follower is not disturbed",
    async run(world) {
      const { executor, observer } = world.watched();
      const count = 60_000;
      const launch = world.launch(`i=0; while [ $i -lt ${count} ]; do echo "this is line number $i"; i=$((i+1)); done`);
      executor.perform(launch);
      await until(async () => (await executor.attempts()).length === 1);
      const followed = await readAll(executor, launch.attemptId, { stream: "stdout", follow: true });
      await observer.exits(launch.attemptId);
      const total = Array.from({ length: count }, (_, line) => `this is line number ${line}\n`).join("");
      assert.equal(followed.at(-1)?.toByte, total.length);
      for (const { text, fromByte, toByte } of followed) assert.equal(text, total.slice(fromByte, toByte));
      const kept = await readAll(executor, launch.attemptId, { stream: "stdout" });
      assertContiguous(kept);
      const text = kept.map((chunk) => chunk.text).join("");
      assert.ok(total.endsWith(text));
      assert.ok(text.length > 64 * 1024 && text.length <= 5 * 64 * 1024, `${text.length} bytes kept`);
      const tail = await readText(executor, launch.attemptId, {
        stream: "stdout",
        start: { kind: "tail", lines: 4000 },
      });
      assert.equal(tail, total.split("\n").slice(-4001).join("\n"));
    },
  },
];

const progressCases: ConformanceCase[] = [
  {
    name: "progress and checkpoints are told, the newest progress before the end; broken lines are counted and passed over",
    async run(world) {
      const { executor, observer } = world.watched();
      const lines = [
        `{"kind":"progress","step":1,"totalSteps":9,"metrics":{"loss":2.5}}`,
        `not json`,
        `{"kind":"progress","step":-4}`,
        `{"kind":"checkpoint","step":1,"path":"step-1"}`,
        `{"kind":"checkpoint","step":2,"path":"/elsewhere/step-2"}`,
        `{"kind":"progress","step":3,"totalSteps":9,"metrics":{"loss":1.25}}`,
      ];
      const launch = world.launch(lines.map((line) => `echo '${line}' >> "$HEADROOM_PROGRESS_FILE"`).join("\n"), {
        checkpointDir: path.join(world.scratchDir, "ckpt"),
      });
      executor.perform(launch);
      const { attemptId } = launch;
      await observer.exits(attemptId);
      const told = observer.of(attemptId);
      assert.equal(told[0]?.kind, "attemptRunning");
      assert.equal(told.at(-1)?.kind, "attemptExited");
      assert.deepEqual(
        told.filter(({ kind }) => kind === "checkpointReported"),
        [
          { kind: "checkpointReported", attemptId, step: 1, path: path.join(world.scratchDir, "ckpt/step-1") },
          { kind: "checkpointReported", attemptId, step: 2, path: "/elsewhere/step-2" },
        ],
      );
      assert.deepEqual(
        told.findLast(({ kind }) => kind === "progressReported"),
        {
          kind: "progressReported",
          attemptId,
          step: 3,
          totalSteps: 9,
          metrics: { loss: 1.25 },
        },
      );
    },
  },
  {
    name: "progress is told while the workload runs",
    async run(world) {
      const { executor, observer } = world.watched();
      const launch = world.launch(`echo '{"kind":"progress","step":41}' >> "$HEADROOM_PROGRESS_FILE"; exec sleep 600`);
      executor.perform(launch);
      await observer.until(() =>
        observer.of(launch.attemptId).some((input) => input.kind === "progressReported" && input.step === 41),
      );
      executor.perform(world.stop(launch, 0));
      await observer.end(launch.attemptId);
    },
  },
];

const usageCases: ConformanceCase[] = [
  {
    name: "CPU time and memory are told for each worker while it runs and after its end",
    about: "usage",
    async run(world) {
      const { executor, observer } = world.watched();
      const burn =
        "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo burnt; until [ -e $HEADROOM_CHECKPOINT_DIR/go ]; do sleep 0.05; done";
      const launch = world.launch(`case $RANK in 0) ${burn};; 1) sleep 600;; esac`, { workers: 2 });
      executor.perform(launch);
      await outputHas(executor, launch.attemptId, "burnt");
      const running = await executor.usage(launch.attemptId);
      assert.deepEqual(
        running?.workers.map(({ worker }) => worker),
        [0, 1],
      );
      const [busy, idle] = running?.workers ?? [];
      assert.ok((busy?.cpuMs ?? 0) >= 20 && (busy?.cpuMs ?? 0) > (idle?.cpuMs ?? 0), JSON.stringify(running));
      assert.ok((busy?.peakRssMib ?? 0) >= (busy?.rssMib ?? 0));
      executor.perform(world.stop(launch, 0));
      await observer.end(launch.attemptId);
      const ended = await executor.usage(launch.attemptId);
      assert.ok((ended?.workers[0]?.cpuMs ?? 0) >= 20, JSON.stringify(ended));
    },
  },
];

async function until(isMet: () => Promise<boolean>): Promise<void> {
  while (!(await isMet())) await new Promise((resolve) => setImmediate(resolve));
}

export const outputCases: readonly ConformanceCase[] = [...logCases, ...progressCases, ...usageCases];
