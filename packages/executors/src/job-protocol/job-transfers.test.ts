/** Uploads of jobs whose records may be forged: a job of the same user can write to the whole shared directory. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { attemptId, workloadId } from "@headroom/model";
import type { LaunchGang } from "@headroom/model";
import { readStore, StoreSet } from "@headroom/stores";
import { HostileFolder } from "../../../../tools/testing/hostile-folder.ts";
import type { ExitRecord, LaunchRecord } from "./attempt-records.ts";
import { partFiles } from "./attempt-parts.ts";
import { taskDirName } from "./attempt-names.ts";
import { AttemptStore } from "./attempt-store.ts";
import { makeAttemptDirectories } from "./attempt-directories.ts";
import { JobTransfers } from "./job-transfers.ts";

const folder = HostileFolder.forEachTest();
let lake = "";
let transfers: JobTransfers;
beforeEach(() => {
  lake = folder.at("lake");
  mkdirSync(lake);
  transfers = open();
});
afterEach(() => transfers.close());

function open(...namedBelow: readonly string[]): JobTransfers {
  const reading = readStore({ kind: "store", name: "lake", type: "shared", path: lake, writers: ["nlp"] });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  const stores = new StoreSet({ declarations: () => [reading.declaration], readSecret: () => "" });
  return new JobTransfers({
    stores,
    dir: folder.at("state"),
    shared: folder.shared(),
    namedBelow,
    emit: () => {},
    onProblem: () => {},
  });
}

const succeeded = { kind: "exited", exits: [{ kind: "exited", code: 0 }], usage: [] } as unknown as ExitRecord;

const effect = (team: string, more: object = {}): LaunchGang =>
  ({
    attemptId: attemptId("w1.1"),
    workloadId: workloadId("w1"),
    task: 0,
    spec: { kind: "train", team, data: { store: "lake" } },
    ...more,
  }) as unknown as LaunchGang;

/** A job that has reported a model at the path in its directory. */
function reported(name: string) {
  const store = new AttemptStore(folder.shared(), () => {});
  const files = store.filesOf(attemptId("w1.1"));
  const part = partFiles(files.key, 0);
  for (const each of [files, part]) makeAttemptDirectories(each, 1);
  const report = { kind: "artifact", name: "model:chat", path: path.resolve(files.jobDir, name) };
  writeFileSync(part.progressFile, `${JSON.stringify(report)}\n`);
  writeFileSync(path.join(files.jobDir, "model"), "weights");
  const parts = [{ node: "n1", ranks: [0] }];
  const places = { workingDir: files.jobDir, checkpointDir: files.jobDir };
  const launch = { attemptId: attemptId("w1.1"), ...places, parts, environments: [{}] };
  return { files, launch: launch as unknown as LaunchRecord };
}

it("uploads what the job made, also by a later process, and nothing without an order", async () => {
  const { files, launch } = reported("model");
  expect(await transfers.collect(files, launch, succeeded)).toEqual([]);
  transfers.order(files, effect("nlp"));
  await transfers.close();
  transfers = open();
  const [made] = await transfers.collect(files, launch, succeeded);
  expect(readFileSync((made?.stored?.uri ?? "").slice("file://".length), "utf8")).toBe("weights");
  transfers.forget(files.key.name, attemptId("w1.1"));
  expect(await transfers.collect(files, launch, succeeded)).toEqual([]);
});

it("takes directories and team from its own note, whatever the record of the launch says", async () => {
  const { files, launch } = reported("../../../../token");
  writeFileSync(folder.at("token"), "secret");
  transfers.order(
    files,
    effect("nlp", { spec: { kind: "train", team: "nlp", dir: folder.root, data: { store: "lake" } } }),
  );
  const forged = { ...launch, workingDir: folder.root, upload: { store: "lake", team: "nlp" } };
  const [outside] = await transfers.collect(files, forged, succeeded);
  expect(outside?.problem).toMatch(/outside the working directory/);
  transfers.order(files, effect("other"));
  const own = reported("model");
  const [closed] = await transfers.collect(own.files, own.launch, succeeded);
  expect(closed?.problem).toMatch(/does not let the team other write/);
  expect(readdirSync(lake)).toEqual([]);
});

it("uploads from a directory that the job names only below a shared one, and follows no link out of it", async () => {
  const home = folder.at("home");
  mkdirSync(folder.at("home", "a"), { recursive: true });
  writeFileSync(path.join(home, "a", "model"), "named");
  writeFileSync(folder.private("model"), "secret");
  symlinkSync(folder.private(), path.join(home, "link"));
  await transfers.close();
  transfers = open(home, folder.shared());
  const collected = async (dir: string) => {
    const { files, launch } = reported(path.join(dir, "model"));
    transfers.order(files, effect("nlp", { spec: { kind: "train", team: "nlp", dir, data: { store: "lake" } } }));
    return (await transfers.collect(files, launch, succeeded))[0];
  };
  const made = await collected(path.join(home, "a"));
  expect(readFileSync((made?.stored?.uri ?? "").slice("file://".length), "utf8")).toBe("named");
  // Directories of other attempts are in the shared one.
  const others = folder.shared("work", "w2.1", "dir");
  mkdirSync(others, { recursive: true });
  writeFileSync(path.join(others, "model"), "secret");
  for (const dir of [path.join(home, "link"), folder.private(), others])
    expect((await collected(dir))?.problem, dir).toMatch(/outside the working directory/);
});

it("reads nothing through a link that the job put in the place of its directory", async () => {
  const { files, launch } = reported("token");
  transfers.order(files, effect("nlp"));
  writeFileSync(folder.private("token"), "secret");
  folder.exchange(files.jobDir);
  const [made] = await transfers.collect(files, launch, succeeded);
  expect(made?.problem).toMatch(/outside the working directory/);
  expect(readdirSync(lake)).toEqual([]);
});

it("writes a checkpoint over what is there, and removes that", async () => {
  const stored = { uri: "file:///x", version: "checkpoint:c@1", digest: "sha256:0", path: "step", step: 1 };
  const launch = effect("nlp", { resume: { stored } });
  const own = folder.shared("checkpoints", taskDirName(launch));
  mkdirSync(path.join(own, "step"), { recursive: true });
  writeFileSync(path.join(own, "step", "old"), "old");
  mkdirSync(folder.at("bytes", "deep"), { recursive: true });
  writeFileSync(folder.at("bytes", "deep", "weights"), "new", { mode: 0o400 });
  const resume = await transfers.restore(launch, own, () => Promise.resolve(folder.at("bytes")));
  expect(resume).toMatchObject({ step: 1 });
  expect(readdirSync(own)).toEqual(["step"]);
  expect(readdirSync(path.join(own, "step"), { recursive: true })).toEqual(["deep", "deep/weights"]);
  expect(readFileSync(path.join(own, "step", "deep", "weights"), "utf8")).toBe("new");
});

it("keeps what is there if its place is taken again while a checkpoint is put there", async () => {
  const stored = { uri: "file:///x", version: "checkpoint:c@1", digest: "sha256:0", path: "step", step: 1 };
  const launch = effect("nlp", { resume: { stored } });
  const own = folder.shared("checkpoints", taskDirName(launch));
  mkdirSync(path.join(own, "step"), { recursive: true });
  writeFileSync(path.join(own, "step", "old"), "old");
  writeFileSync(folder.at("bytes"), "new");
  const { rename } = files;
  let count = 0;
  const contested: typeof rename = async (from, to) => {
    // A process of an earlier attempt writes the step again.
    if (++count === 2) mkdirSync(path.join(own, "step", "again"), { recursive: true });
    return rename(from, to);
  };
  Object.assign(files, { rename: contested });
  syncBuiltinESMExports();
  try {
    await expect(transfers.restore(launch, own, () => Promise.resolve(folder.at("bytes")))).rejects.toThrow(/EISDIR/);
  } finally {
    Object.assign(files, { rename });
    syncBuiltinESMExports();
  }
  const names = readdirSync(own, { recursive: true }) as string[];
  expect(names).toContain(path.join("step", "again"));
  expect(names.filter((name) => name.endsWith("/old"))).toHaveLength(1);
  expect(names).toHaveLength(4);
});

it("leaves nothing of a checkpoint that cannot be copied, and waits for no pipe", async () => {
  const stored = { uri: "file:///x", version: "checkpoint:c@1", digest: "sha256:0", path: "deep/step", step: 1 };
  const launch = effect("nlp", { resume: { stored } });
  const own = folder.shared("checkpoints", taskDirName(launch));
  mkdirSync(own, { recursive: true });
  mkdirSync(folder.at("bytes"));
  writeFileSync(folder.at("bytes", "a"), "copied first");
  execFileSync("mkfifo", [folder.at("bytes", "b")]);
  const restored = transfers.restore(launch, own, () => Promise.resolve(folder.at("bytes")));
  await expect(restored).rejects.toThrow(/b is no regular file/);
  expect(readdirSync(own, { recursive: true })).toEqual(["deep"]);
});

it("brings no checkpoint through a link in the place of the checkpoint directory, or to a named directory", async () => {
  const stored = { uri: "file:///x", version: "checkpoint:c@1", digest: "sha256:0", path: "step", step: 1 };
  const launch = effect("nlp", { resume: { stored } });
  const own = folder.shared("checkpoints", taskDirName(launch));
  mkdirSync(path.dirname(own), { recursive: true });
  symlinkSync(folder.private(), own);
  const bring = (): Promise<string> => Promise.resolve(folder.at("bytes"));
  writeFileSync(folder.at("bytes"), "forged");
  await expect(transfers.restore(launch, own, bring)).rejects.toThrow(/is a link or was moved/);
  await expect(transfers.restore(launch, folder.private(), bring)).rejects.toThrow(/Leave out checkpoint.dir/);
  expect(folder.leaked()).toEqual([]);
});
