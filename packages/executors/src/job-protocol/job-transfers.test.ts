/** Uploads of jobs whose records may be forged: a job of the same user can write to the whole shared directory. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { attemptId, workloadId } from "@headroom/model";
import type { LaunchGang } from "@headroom/model";
import { readStore, StoreSet } from "@headroom/stores";
import type { ExitRecord, LaunchRecord } from "./attempt-records.ts";
import { partFiles } from "./attempt-parts.ts";
import { AttemptStore } from "./attempt-store.ts";
import { makeAttemptDirectories } from "./attempt-directories.ts";
import { JobTransfers } from "./job-transfers.ts";

let root = "";
let lake = "";
let transfers: JobTransfers;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "headroom-transfers-"));
  lake = path.join(root, "lake");
  mkdirSync(lake);
  transfers = open();
});
afterEach(async () => {
  await transfers.close();
  rmSync(root, { recursive: true });
});

function open(): JobTransfers {
  const reading = readStore({ kind: "store", name: "lake", type: "shared", path: lake, writers: ["nlp"] });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  const stores = new StoreSet({ declarations: () => [reading.declaration], readSecret: () => "" });
  return new JobTransfers({ stores, dir: path.join(root, "state"), emit: () => {}, onProblem: () => {} });
}

const succeeded = { kind: "exited", exits: [{ kind: "exited", code: 0 }], usage: [] } as unknown as ExitRecord;

const effect = (team: string): LaunchGang =>
  ({
    attemptId: attemptId("w1.1"),
    workloadId: workloadId("w1"),
    spec: { team, data: { store: "lake" } },
  }) as unknown as LaunchGang;

/** A job that has reported the path as its model. */
function reported(at: string) {
  const store = new AttemptStore(path.join(root, "shared"), () => {});
  const files = store.filesOf(attemptId("w1.1"));
  const part = partFiles(files.key, 0);
  for (const each of [files, part]) makeAttemptDirectories(each, 1);
  writeFileSync(part.progressFile, `${JSON.stringify({ kind: "artifact", name: "model:chat", path: at })}\n`);
  const workingDir = path.join(root, "work");
  mkdirSync(workingDir, { recursive: true });
  writeFileSync(path.join(workingDir, "model"), "weights");
  writeFileSync(path.join(root, "secret"), "secret");
  const parts = [{ node: "n1", ranks: [0] }];
  const launch = { attemptId: attemptId("w1.1"), workingDir, checkpointDir: workingDir, parts, environments: [{}] };
  return { files, launch: launch as unknown as LaunchRecord };
}

it("uploads what the job made, also by a later process, and nothing without an order", async () => {
  const { files, launch } = reported(path.join(root, "work", "model"));
  expect(await transfers.collect(files, launch, succeeded)).toEqual([]);
  transfers.order(files.key.name, effect("nlp"), launch);
  await transfers.close();
  transfers = open();
  const [made] = await transfers.collect(files, launch, succeeded);
  expect(readFileSync((made?.stored?.uri ?? "").slice("file://".length), "utf8")).toBe("weights");
  transfers.forget(files.key.name, attemptId("w1.1"));
  expect(await transfers.collect(files, launch, succeeded)).toEqual([]);
});

it("takes directories and team from its own note, whatever the record of the launch says", async () => {
  const { files, launch } = reported(path.join(root, "secret"));
  transfers.order(files.key.name, effect("nlp"), launch);
  const forged = { ...launch, workingDir: root, upload: { store: "lake", team: "nlp" } };
  const [outside] = await transfers.collect(files, forged, succeeded);
  expect(outside?.problem).toMatch(/outside the working directory/);
  transfers.order(files.key.name, effect("other"), { ...launch, workingDir: root });
  const [closed] = await transfers.collect(files, { ...launch, upload: { store: "lake", team: "nlp" } }, succeeded);
  expect(closed?.problem).toMatch(/does not let the team other write/);
  expect(readdirSync(lake)).toEqual([]);
});
