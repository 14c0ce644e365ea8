/**
 * Tests jobs that overwrite, remove or forge every file that they can reach. At most their own attempt may be lost, its
 * devices must be freed, and the control plane must always start.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { LaunchGang } from "@headroom/model";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ConformanceWorld, outputHas, readText } from "../conformance/conformance-world.ts";
import { Observer } from "../conformance/observer.ts";
import type { AttemptFiles } from "../job-protocol/attempt-files.ts";
import { AttemptStore } from "../job-protocol/attempt-store.ts";
import { createLocalExecutor } from "./local-executor.ts";

let world: ConformanceWorld;
const problems: string[] = [];

beforeEach(async () => {
  problems.length = 0;
  world = await ConformanceWorld.create({
    id: "local",
    open: (homeDir) =>
      createLocalExecutor({ homeDir, accelerators: "declared", onProblem: (message) => problems.push(message) }),
  });
});
afterEach(() => world.dispose());

const filesOf = ({ attemptId }: LaunchGang): AttemptFiles =>
  new AttemptStore(world.homeDir, () => {}).filesOf(attemptId);

const succeeded = [{ kind: "exited", worker: 0, code: 0 }];
/** A command that prints that it is ready, then runs until it is stopped. */
const hold = "echo ready; exec sleep 600";

/** Number of running processes with this attempt's progress file in their environment. */
function runningOf(launch: LaunchGang): number {
  const { stdout } = spawnSync("grep", ["-lsaF", filesOf(launch).progressFile, ...environments()], {
    encoding: "utf8",
  });
  return stdout.split("\n").filter((line) => line !== "").length;
}

function environments(): string[] {
  return spawnSync("sh", ["-c", "ls -d /proc/[0-9]*/environ"], { encoding: "utf8" }).stdout.trim().split("\n");
}

describe("a job that writes into its directory", () => {
  it.each([
    ["damages", "echo { > exit.json"],
    ["damages", "echo { > ../exit.json; echo { > ../launch.json"],
    ["writes another version into", `echo '{"version":2}' > exit.json`],
    ["forges", `echo '{"version":1,"kind":"exited","startedAtMs":1,"endedAtMs":2,"exits":[],"usage":[]}' > exit.json`],
    ["removes", "rm -rf ./*"],
    ["removes what is beside", "rm -rf ../*"],
    ["removes itself and all directories of jobs", 'cd ../..; rm -rf "$PWD"'],
  ])("%s no record: %s", async (_, command) => {
    const { executor, observer } = world.watched();
    const launch = world.launch(`${command}; exit 0`);
    executor.perform(launch);
    expect(await observer.exits(launch.attemptId)).toEqual(succeeded);
    const failing = world.launch(`${command}; exit 3`);
    executor.perform(failing);
    expect(await observer.exits(failing.attemptId)).toEqual([{ kind: "exited", worker: 0, code: 3 }]);
    expect((await world.open().attempts()).map(({ phase }) => phase.kind)).toEqual(["ended", "ended"]);
    expect(problems).toEqual([]);
  });

  it("starts away from the records, and is told nothing of where they are", async () => {
    const { executor, observer } = world.watched();
    const launch = world.launch('pwd; echo "OLDPWD=$OLDPWD"; env');
    executor.perform(launch);
    await observer.exits(launch.attemptId);
    const files = filesOf(launch);
    const said = await readText(executor, launch.attemptId);
    expect(said.split("\n")[0]).toBe(files.jobDir);
    expect(said).not.toContain(path.join(world.homeDir, "attempts"));
    expect(said).not.toContain(files.key.secret);
    const key = path.join(world.homeDir, "attempts", ".key");
    expect([world.homeDir + "/attempts", files.recordsDir, key].map((each) => statSync(each).mode & 0o777)).toEqual([
      0o700, 0o700, 0o600,
    ]);
    for (const record of ["launch.json", "claim.json", "exit.json"])
      expect(readFileSync(path.join(files.recordsDir, record), "utf8")).not.toContain(files.key.secret);
  });

  it("puts a FIFO or a directory in the place of its reports, and holds up nobody", async () => {
    const { executor, observer } = world.watched();
    const launches = ["mkfifo", "mkdir"].flatMap((make) =>
      Array.from({ length: 4 }, () =>
        world.launch(
          `echo '{"kind":"progress","step":1}' > "$HEADROOM_PROGRESS_FILE"; sleep 0.1; rm "$HEADROOM_PROGRESS_FILE"
          ${make} "$HEADROOM_PROGRESS_FILE" "$HEADROOM_CHECKPOINT_REQUEST_FILE"; echo ready; exec sleep 600`,
        ),
      ),
    );
    for (const launch of launches) executor.perform(launch);
    for (const launch of launches) await outputHas(executor, launch.attemptId, "ready");
    for (const launch of launches) executor.perform(world.checkpoint(launch));
    for (const launch of launches) executor.perform(world.stop(launch, 5_000));
    for (const launch of launches) await observer.exits(launch.attemptId);
    const next = world.launch("exit 0");
    executor.perform(next);
    expect(await observer.exits(next.attemptId)).toEqual(succeeded);
  });
});

describe("a record that somebody tampered with", () => {
  /** Tests attacks by a process of the same user that finds the records by their absolute path. */
  const deeds: readonly (readonly [string, (files: AttemptFiles, other: AttemptFiles) => void])[] = [
    ["a damaged end", ({ recordsDir }) => writeFileSync(path.join(recordsDir, "exit.json"), "{")],
    [
      "an end of another version",
      ({ recordsDir }) => writeFileSync(path.join(recordsDir, "exit.json"), '{"version":7}'),
    ],
    [
      "an end under another attempt's secret",
      ({ recordsDir }, other) => {
        const record = { kind: "exited", startedAtMs: 1, endedAtMs: 2, exits: [], usage: [] } as const;
        other.write("exit.json", record);
        writeFileSync(
          path.join(recordsDir, "exit.json"),
          readFileSync(path.join(other.recordsDir, "exit.json"), "utf8"),
        );
      },
    ],
    [
      "an end that is a directory",
      ({ recordsDir }) => mkdirSync(path.join(recordsDir, "exit.json", "x"), { recursive: true }),
    ],
    ["a damaged launch", ({ recordsDir }) => writeFileSync(path.join(recordsDir, "launch.json"), "{")],
    ["a removed launch", ({ recordsDir }) => rmSync(path.join(recordsDir, "launch.json"))],
    ["no records at all", ({ recordsDir }) => rmSync(recordsDir, { recursive: true })],
  ];

  it.each(deeds)("while it runs: %s is one lost attempt, and nothing of it runs on", async (_, tamper) => {
    const { executor, observer } = world.watched();
    const launch = world.launch(`setsid sleep 600 & ${hold}`);
    const other = world.launch(hold);
    for (const each of [launch, other]) executor.perform(each);
    for (const each of [launch, other]) await outputHas(executor, each.attemptId, "ready");
    const decoy = filesOf({ ...launch, attemptId: "decoy" as LaunchGang["attemptId"] });
    mkdirSync(decoy.recordsDir);
    tamper(filesOf(launch), decoy);
    rmSync(decoy.recordsDir, { recursive: true });
    // The monitor's sweep does not notice all damage. The next request for the attempt does.
    if (filesOf(launch).has("launch.json") && !filesOf(launch).has("exit.json"))
      executor.perform(world.stop(launch, 0));
    expect(await observer.end(launch.attemptId)).toMatchObject({ kind: "attemptLost", cause: "records" });
    expect(runningOf(launch)).toBe(0);
    expect(runningOf(other)).toBeGreaterThan(0);
    expect(problems.join("\n")).toContain(`Attempt ${launch.attemptId} is lost`);
    // A repeated launch must not start the attempt again.
    executor.perform(launch);
    executor.perform(world.stop(other, 0));
    await observer.end(other.attemptId);
    expect(runningOf(launch)).toBe(0);
  });

  it.each(deeds)(
    "while no control plane runs: %s is found by the next start, which does not fail",
    async (_, tamper) => {
      const first = world.watched();
      const launch = world.launch(`setsid sleep 600 & ${hold}`);
      const other = world.launch(hold);
      for (const each of [launch, other]) first.executor.perform(each);
      for (const each of [launch, other]) await outputHas(first.executor, each.attemptId, "ready");
      await first.executor.close();
      const decoy = filesOf({ ...launch, attemptId: "decoy" as LaunchGang["attemptId"] });
      mkdirSync(decoy.recordsDir);
      tamper(filesOf(launch), decoy);
      rmSync(decoy.recordsDir, { recursive: true });
      const second = world.open();
      const phases = new Map((await second.attempts()).map(({ attemptId, phase }) => [attemptId, phase]));
      expect(phases.get(launch.attemptId)).toMatchObject({ kind: "lost", cause: "records" });
      expect(phases.get(other.attemptId)).toEqual({ kind: "running" });
      expect(runningOf(launch)).toBe(0);
    },
  );

  it("a damaged claim: the supervisor is not known any more, and its workers are ended all the same", async () => {
    const first = world.watched();
    const launch = world.launch(`setsid sleep 600 & ${hold}`);
    first.executor.perform(launch);
    await outputHas(first.executor, launch.attemptId, "ready");
    await first.executor.close();
    writeFileSync(path.join(filesOf(launch).recordsDir, "claim.json"), "[]");
    const [known] = await world.open().attempts();
    // The supervisor may have recorded that its workers were killed.
    expect(known?.phase).toSatisfy(
      ({ kind, exits }: { kind: string; exits?: object[] }) =>
        kind === "lost" || (kind === "ended" && exits?.[0] !== undefined && "signal" in exits[0]),
    );
    expect(runningOf(launch)).toBe(0);
  });

  it.each([
    ["all records", (files: AttemptFiles) => rmSync(files.recordsDir, { recursive: true })],
    ["its claim", (files: AttemptFiles) => rmSync(path.join(files.recordsDir, "claim.json"))],
  ])("%s removed between two lives: a launch that is asked for again starts nobody", async (_, remove) => {
    const first = world.watched();
    const launch = world.launch(`echo started >> ${world.scratchDir}/marks`);
    first.executor.perform(launch);
    await first.observer.exits(launch.attemptId);
    await first.executor.close();
    rmSync(path.join(filesOf(launch).recordsDir, "exit.json"));
    remove(filesOf(launch));
    const second = world.watched();
    second.executor.perform(launch);
    expect(await second.observer.end(launch.attemptId)).toMatchObject({ kind: "attemptLost", cause: "records" });
    expect(await world.marks("marks")).toEqual(["started"]);
  });

  it("after the end: a forged exit is not believed", async () => {
    const { executor, observer } = world.watched();
    const launch = world.launch("exit 3");
    executor.perform(launch);
    await observer.exits(launch.attemptId);
    const file = path.join(filesOf(launch).recordsDir, "exit.json");
    writeFileSync(file, readFileSync(file, "utf8").replace('"code":3', '"code":0'));
    const [known] = await world.open().attempts();
    expect(known?.phase).toMatchObject({
      kind: "lost",
      cause: "records",
      detail: expect.stringContaining("authentic"),
    });
  });

  it("a key that is gone loses the attempts and not the start", async () => {
    const { executor, observer } = world.watched();
    const launch = world.launch("exit 0");
    executor.perform(launch);
    await observer.exits(launch.attemptId);
    await executor.close();
    writeFileSync(path.join(world.homeDir, "attempts", ".key"), "short");
    const [known] = await world.open().attempts();
    expect(known?.phase).toMatchObject({ kind: "lost", cause: "records" });
    expect(problems.join("\n")).toContain("key of the attempts' records");
  });

  it("records of an earlier format are lost attempts, and what runs of them is ended", async () => {
    const old = path.join(world.homeDir, "attempts", "w9.1");
    mkdirSync(old, { recursive: true });
    writeFileSync(path.join(old, "launch.json"), '{"version":1,"attemptId":"w9.1"}');
    const [known] = await world.open().attempts();
    expect(known).toMatchObject({ attemptId: "w9.1", workloadId: null, phase: { kind: "lost", cause: "records" } });
  });
});

it("a job that kills its supervisor is lost by its own cause", async () => {
  const { executor, observer } = world.watched();
  const launch = world.launch("kill -KILL $PPID; exec sleep 600");
  executor.perform(launch);
  expect(await observer.end(launch.attemptId)).toMatchObject({ kind: "attemptLost", cause: "supervisor" });
  expect(runningOf(launch)).toBe(0);
});

it("what an attempt leaves is removed with it, also what its job wrote", async () => {
  const { executor, observer } = world.watched();
  const launch = world.launch("echo x > left; mkdir -p deep/er");
  executor.perform(launch);
  await observer.exits(launch.attemptId);
  const files = filesOf(launch);
  expect(existsSync(path.join(files.jobDir, "left"))).toBe(true);
  await executor.forget(launch.attemptId);
  expect([files.recordsDir, path.dirname(files.jobDir)].map((each) => existsSync(each))).toEqual([false, false]);
});

it("an observer of a start is told of a tampered attempt once", async () => {
  const first = world.watched();
  const launch = world.launch("exit 0");
  first.executor.perform(launch);
  await first.observer.exits(launch.attemptId);
  await first.executor.close();
  writeFileSync(path.join(filesOf(launch).recordsDir, "exit.json"), "{");
  const second = world.open();
  const observer = new Observer(second);
  expect(await observer.end(launch.attemptId)).toMatchObject({ kind: "attemptLost", cause: "records" });
  expect(observer.of(launch.attemptId).filter(({ kind }) => kind === "attemptLost")).toHaveLength(1);
});
