import { chownSync, mkdirSync, mkdtempSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { attemptId, workloadId } from "@headroom/model";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AttemptFiles, maxBytesOf, OWNED_LAUNCH_MAX_BYTES } from "./attempt-files.ts";
import type { LaunchRecord } from "./attempt-records.ts";
import { readState } from "./recorded-state.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(path.join(tmpdir(), "headroom-records-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const launchOf = (parts: number): LaunchRecord => ({
  attemptId: attemptId("w1.1"),
  workloadId: workloadId("w1"),
  sequence: 1,
  bootId: "",
  run: "true",
  workingDir: "",
  checkpointDir: "",
  graceTimeoutMs: 1,
  log: { fileMaxBytes: 1, filesKept: 2 },
  environments: [{}],
  parts: Array.from({ length: parts }, () => ({ node: "n", ranks: [] })),
});

/** The user of a job on Slurm has the key of the own attempt, and can write such a record. */
const forged = (parts: number): AttemptFiles => {
  const files = new AttemptFiles({ homeDir: home, name: "w1.1", secret: "s" });
  mkdirSync(files.recordsDir, { recursive: true });
  files.write("launch.json", launchOf(parts));
  return files;
};

describe("a launch record with more parts than a gang can have", () => {
  it("is unreadable, so that no look reads the parts", () => {
    expect(readState(forged(20_000)).kind).toBe("unclaimed");
    expect(readState(forged(20_001))).toMatchObject({
      kind: "unreadable",
      detail: expect.stringMatching(/20001 workers/),
    });
  });

  it("hides no end of the attempt", () => {
    const files = forged(20_001);
    files.write("exit.json", { kind: "lost", endedAtMs: 1, detail: "x" });
    expect(readState(files)).toMatchObject({ kind: "ended", launch: null });
  });
});

describe("a record that belongs to the user of a job", () => {
  it("is read up to a bound far below that of Headroom's own records", () => {
    const own = process.geteuid?.() ?? 0;
    expect(maxBytesOf("launch.json", own + 1)).toBe(OWNED_LAUNCH_MAX_BYTES);
    expect(maxBytesOf("alive.json", own + 1)).toBeLessThanOrEqual(2 ** 20);
    expect(maxBytesOf("launch.json", own)).toBeGreaterThan(OWNED_LAUNCH_MAX_BYTES);
  });

  it.skipIf(process.geteuid?.() !== 0)("is unreadable beyond it", () => {
    const files = forged(1);
    const launch = path.join(files.recordsDir, "launch.json");
    truncateSync(launch, OWNED_LAUNCH_MAX_BYTES + 1);
    chownSync(launch, 65_534, 65_534);
    expect(readState(files)).toMatchObject({
      kind: "unreadable",
      detail: expect.stringMatching(/at most 67108864 are/),
    });
  });
});

it("does not read again what is written once", () => {
  const files = forged(1);
  const known = { launch: null, isRunning: false };
  expect(readState(files, known).kind).toBe("unclaimed");
  rmSync(path.join(files.recordsDir, "launch.json"));
  files.create("claim.json", { kind: "supervised", bootId: "", supervisor: { pid: 1, startTicks: 0 }, jobId: "b" });
  expect(readState(files, known).kind).toBe("starting");
  expect(readState(files).kind).toBe("absent");
});

it("is absent when its records were removed, also for those who know the launch", () => {
  const files = forged(1);
  const known = { launch: null, isRunning: false };
  files.create("claim.json", { kind: "supervised", bootId: "", supervisor: { pid: 1, startTicks: 0 }, jobId: "b" });
  expect(readState(files, known).kind).toBe("starting");
  rmSync(files.recordsDir, { recursive: true });
  expect(readState(files, known).kind).toBe("absent");
});
