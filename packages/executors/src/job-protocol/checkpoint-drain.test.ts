import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { attemptId, workloadId } from "@headroom/model";
import type { LaunchGang } from "@headroom/model";
import { readStore, StoreSet } from "@headroom/stores";
import { SmallS3Server } from "@headroom/stores/testing";
import { HostileFolder } from "../../../../tools/testing/hostile-folder.ts";
import type { ExecutorInput } from "../executor.ts";
import { taskDirName } from "./attempt-names.ts";
import { JobTransfers } from "./job-transfers.ts";

const WAIT = { timeout: 20_000 };
const folder = HostileFolder.forEachTest();
let server = new SmallS3Server();
let endpoint = "";
let transfers: JobTransfers;
/** Reports of copies in the store. */
let reports: (ExecutorInput & { readonly kind: "checkpointStored" })[] = [];
beforeEach(async () => {
  server = new SmallS3Server();
  endpoint = await server.listen();
  reports = [];
  transfers = open();
});
afterEach(async () => {
  await transfers.close();
  await server.close();
});

function open(): JobTransfers {
  const secrets = { accessKey: "env:KEY", secretKey: "env:KEY" };
  const reading = readStore({ kind: "store", name: "lake", type: "s3", bucket: "lake", endpoint, ...secrets });
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  return new JobTransfers({
    stores: new StoreSet({ declarations: () => [reading.declaration], readSecret: () => "key" }),
    dir: folder.at("state"),
    shared: folder.shared(),
    emit: (input) => {
      if (input.kind === "checkpointStored") reports.push(input);
    },
    onProblem: () => {},
  });
}

const id = attemptId("w1.1");
const effect = (resume?: object): LaunchGang => {
  const spec = { kind: "train", name: "ft", team: "default", checkpointStore: "lake" };
  return { attemptId: id, workloadId: workloadId("w1"), task: 0, spec, resume } as unknown as LaunchGang;
};
const checkpointDir = (): string => folder.shared("checkpoints", taskDirName(effect()));

/** Writes files of a checkpoint, after removing those that are there, as an attempt does that repeats a step. */
function write(step: number, ...parts: readonly string[]): string {
  const at = path.join(checkpointDir(), `step-${step}`);
  rmSync(at, { recursive: true, force: true });
  mkdirSync(at, { recursive: true });
  for (const part of parts) writeFileSync(path.join(at, part), `${part} of ${step}`);
  return at;
}

function report(step: number, at: string): void {
  transfers.order({ key: { name: "w1.1" } as never, jobDir: folder.shared("job") }, effect());
  transfers.offer("w1.1", { kind: "checkpointReported", attemptId: id, step, path: at } as never);
}

const restored = (step: number, reported: string): Promise<unknown> => {
  writeFileSync(folder.at("copy"), "stored");
  const stored = { uri: "s3://lake/x", version: "checkpoint:ft@1", digest: "sha256:0", path: "step-1", step: 1 };
  const resume = { reported: { step, path: reported }, stored };
  return transfers.restore(effect(resume), checkpointDir(), () => Promise.resolve(folder.at("copy")));
};

it("resumes from the bytes that were reported", async () => {
  const at = write(2, "a", "b");
  report(2, at);
  expect(await restored(2, at)).toEqual({ step: 2, path: at });
  await vi.waitFor(() => expect(reports[0]?.checkpoint.stored).toBeDefined());
  expect(await restored(2, at)).toEqual({ step: 2, path: at });
});

it("resumes from the store if a later attempt was killed while it wrote the reported step again", async () => {
  const at = write(2, "a", "b");
  report(2, at);
  await vi.waitFor(() => expect(reports).toHaveLength(1));
  write(2, "a");
  expect(await restored(2, at)).toMatchObject({ step: 1 });
});

it("copies no checkpoint to a store that was written again since its report, also in a later process", async () => {
  server.faultOf = ({ method }) => (method === "GET" || method === "HEAD" ? null : 503);
  const at = write(2, "a", "b");
  report(2, at);
  await vi.waitFor(
    () => expect(server.requests.some(({ method }) => method === "PUT" || method === "POST")).toBe(true),
    WAIT,
  );
  await transfers.close();
  write(2, "a");
  server.faultOf = () => null;
  transfers = open();
  transfers.start();
  await vi.waitFor(() => expect(reports).toHaveLength(1), WAIT);
  expect(reports[0]?.checkpoint.stored).toBeUndefined();
  expect(reports[0]?.checkpoint.problem).toMatch(/step-2 was written again after it was reported/);
});

it("copies a checkpoint that is reported in the turn in which a later process starts", async () => {
  const at = write(2, "a");
  report(2, at);
  await vi.waitFor(() => expect(reports).toHaveLength(1), WAIT);
  await transfers.close();
  transfers = open();
  transfers.start();
  report(3, write(3, "a"));
  await vi.waitFor(() => expect(reports.at(-1)).toMatchObject({ step: 3 }), WAIT);
  expect(reports.at(-1)?.checkpoint.problem).toBeUndefined();
});

/** Makes the link that frameworks keep beside the steps, as Lightning and NeMo do. */
function linkLast(to: string): string {
  const last = path.join(checkpointDir(), "last");
  rmSync(last, { force: true });
  symlinkSync(to, last);
  return last;
}

it("copies a checkpoint that is reported by a link, and resumes from it", async () => {
  write(2, "a");
  const last = linkLast("step-2");
  report(2, last);
  await vi.waitFor(() => expect(reports).toHaveLength(1), WAIT);
  expect(reports[0]?.checkpoint).toMatchObject({ path: last, stored: { store: "lake" } });
  expect(await restored(2, last)).toEqual({ step: 2, path: last });
});

it.each([
  ["another step", () => write(3, "a")],
  [
    "files outside the directories of the attempt",
    () => {
      mkdirSync(folder.at("elsewhere"), { recursive: true });
      return folder.at("elsewhere");
    },
  ],
])("resumes from the store if a link leads to %s since it was reported", async (_place, other) => {
  write(2, "a");
  const last = linkLast("step-2");
  report(2, last);
  await vi.waitFor(() => expect(reports).toHaveLength(1), WAIT);
  linkLast(other());
  expect(await restored(2, last)).toMatchObject({ step: 1 });
});
