/** Tests stops that come while a gang starts. They must reach workers that do not exist yet. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { attemptId, workloadId } from "@headroom/model";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LaunchRecord } from "../job-protocol/attempt-records.ts";
import { AttemptStore } from "../job-protocol/attempt-store.ts";
import { PipeSource } from "../processes/fifo.ts";
import { Gang } from "../processes/gang.ts";
import { findSurvivors } from "../processes/worker-processes.ts";

const WORKERS = 2;

let homeDir: string;
beforeEach(() => {
  homeDir = mkdtempSync(path.join(tmpdir(), "headroom-gang-"));
});
afterEach(() => rmSync(homeDir, { recursive: true, force: true }));

function gangOf(run: string): { readonly gang: Gang; readonly mark: string } {
  const files = new AttemptStore(homeDir, () => {}).filesOf(attemptId("w1.1"));
  for (let worker = 0; worker < WORKERS; worker++) mkdirSync(files.workerDir(worker), { recursive: true });
  mkdirSync(files.jobDir, { recursive: true });
  const [name = "", value = ""] = files.environmentMark.split(/=(.*)/su);
  const launch: LaunchRecord = {
    attemptId: attemptId("w1.1"),
    workloadId: workloadId("w1"),
    sequence: 1,
    bootId: "this boot",
    run,
    workingDir: files.jobDir,
    checkpointDir: files.jobDir,
    graceTimeoutMs: 0,
    log: { fileMaxBytes: 65_536, filesKept: 2 },
    environments: Array.from({ length: WORKERS }, () => ({ PATH: process.env["PATH"] ?? "", [name]: value })),
  };
  return { gang: new Gang(files, launch, new PipeSource()), mark: files.environmentMark };
}

describe("a gang that is stopped while it starts", () => {
  it.each([0, 60_000])("starts no worker, whether or not the grace period of %d ms is over", async (graceMs) => {
    const { gang, mark } = gangOf("exec sleep 600");
    const started = gang.start();
    gang.stop(graceMs);
    await expect(started).rejects.toThrow("stopped");
    expect(findSurvivors([], [mark])).toEqual([]);
  });

  it("ends within its grace period when the stop comes at any later point of the start", async () => {
    const { gang, mark } = gangOf("trap '' TERM; while :; do sleep 0.05; done");
    const started = gang.start();
    while (gang.workers.length < WORKERS) await new Promise((resolve) => setImmediate(resolve));
    gang.stop(0);
    await started;
    await expect(gang.ended).resolves.toMatchObject({ kind: "exited" });
    expect(findSurvivors([], [mark])).toEqual([]);
  });
});
