/** Jobs that take further attempts: records in a directory, both sides in this process, no command of Slurm. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { workloadId } from "@headroom/model";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import type { ExitRecord, LaunchRecord } from "../../job-protocol/attempt-records.ts";
import { AttemptStore } from "../../job-protocol/attempt-store.ts";
import { canTakeNext, nextAttempt } from "../agent/next-attempt.ts";
import { launchRecord } from "../testing/launch-record.ts";
import { ReusableJobs } from "./reusable-jobs.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "headroom-reuse-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const launch: LaunchRecord = {
  ...launchRecord,
  parts: [{ node: "n1", ranks: [0], amounts: { accelerators: 1, cores: 1, memoryMib: 1 } }],
  reuse: { waitMs: 60_000, untilMs: 60_000, attemptMs: 10_000, account: null },
};

const end = (runMs: number, code = 0, agoMs = 0): ExitRecord => {
  const endedAtMs = Date.now() - agoMs;
  return {
    kind: "exited",
    startedAtMs: endedAtMs - runMs,
    endedAtMs,
    exits: [{ kind: "exited", worker: 0, code }],
    usage: [],
  };
};

/** Records of an attempt that has ended, whose job waits. */
function ended(name: string, claim: { readonly host?: string } = {}): AttemptFiles {
  const files = new AttemptStore(root, () => undefined).files(name);
  mkdirSync(files.recordsDir, { recursive: true });
  const supervisor = { pid: 1, startTime: "1" } as never;
  files.create("claim.json", { kind: "supervised", bootId: "", supervisor, takesNext: true, ...claim });
  files.create("exit.json", end(5_000));
  return files;
}

describe("a job whose attempt has ended", () => {
  it("runs the next attempt of the workload on its node, and is known by its first one", async () => {
    const jobs = new ReusableJobs();
    const first = ended("w1.1");
    jobs.note(first, launch);
    expect(jobs.passOn("w1.2", launch)).toBe("w1.1");
    expect(await nextAttempt(first, 60_000)).toBe("w1.2");
    expect(jobs.passOn("w1.3", launch)).toBeNull();
    jobs.note(ended("w1.2", { host: "w1.1" }), launch);
    expect(jobs.passOn("w1.4", launch)).toBe("w1.1");
  });

  it("is not passed on after it has stopped waiting", async () => {
    const jobs = new ReusableJobs();
    const first = ended("w1.1");
    jobs.note(first, launch);
    expect(await nextAttempt(first, 0)).toBeNull();
    expect(jobs.passOn("w1.2", launch)).toBeNull();
  });

  it("ends as soon as other work goes to its node", async () => {
    const jobs = new ReusableJobs();
    const first = ended("w1.1");
    jobs.note(first, launch);
    jobs.endOn(new Set(["n2"]));
    expect(first.has("next.json")).toBe(false);
    jobs.endOn(new Set(["n1"]));
    expect(await nextAttempt(first, 60_000)).toBeNull();
    expect(jobs.passOn("w1.2", launch)).toBeNull();
  });

  it.each<[string, Partial<LaunchRecord>]>([
    ["of another workload", { workloadId: workloadId("w2") }],
    ["of another account", { reuse: { waitMs: 1, untilMs: 1, attemptMs: 1, account: "ml" } }],
    [
      "with other amounts",
      { parts: [{ node: "n1", ranks: [0], amounts: { accelerators: 2, cores: 1, memoryMib: 1 } }] },
    ],
    ["on another node", { parts: [{ node: "n2", ranks: [0], amounts: { accelerators: 1, cores: 1, memoryMib: 1 } }] }],
    ["of another user", { runAs: { user: "ada", submitter: "ada", uid: 7, gid: 7 } }],
  ])("takes no attempt %s", (_, other) => {
    const jobs = new ReusableJobs();
    jobs.note(ended("w1.1"), launch);
    expect(jobs.passOn("w2.1", { ...launch, ...other })).toBeNull();
  });

  it.each([
    ["has run for long", end(10_001)],
    ["has failed", end(1, 1)],
    ["has ended long ago", end(1, 0, 120_000)],
  ])("is not passed on if its attempt %s", (_, record) => {
    const files = new AttemptStore(root, () => undefined).files("w1.1");
    mkdirSync(files.recordsDir, { recursive: true });
    const supervisor = { pid: 1, startTime: "1" } as never;
    files.create("claim.json", { kind: "supervised", bootId: "", supervisor, takesNext: true });
    files.create("exit.json", record);
    const jobs = new ReusableJobs();
    jobs.note(files, launch);
    expect(jobs.passOn("w1.2", launch)).toBeNull();
  });

  it("waits only after a short attempt that nobody stopped", () => {
    const files = ended("w1.1");
    expect(canTakeNext(files, launch, end(5_000), 1)).toBe(true);
    expect(canTakeNext(files, launch, end(5_000), 60_001)).toBe(false);
    expect(canTakeNext(files, launch, end(10_001), 1)).toBe(false);
    expect(canTakeNext(files, launch, end(1, 1), 1)).toBe(false);
    files.create("stop.json", { requestedAtMs: 1, graceTimeoutMs: 1, reason: { kind: "user" } as never });
    expect(canTakeNext(files, launch, end(5_000), 1)).toBe(false);
  });
});
