/** Tests what a control plane reads from an attempt's records while the supervisor writes them. */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { attemptId, workloadId } from "@headroom/model";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LaunchRecord, RecordName, Records } from "../job-protocol/attempt-records.ts";
import { AttemptFiles } from "../job-protocol/attempt-files.ts";
import { inspectAttempt } from "./attempt-inspection.ts";
import { identityOf, readBootId } from "../processes/process-table.ts";

const supervisor = identityOf(process.pid)!;
const bootId = readBootId();
const launch: LaunchRecord = {
  attemptId: attemptId("w1.1"),
  workloadId: workloadId("w1"),
  sequence: 1,
  bootId,
  run: "true",
  workingDir: "/",
  checkpointDir: "/",
  graceTimeoutMs: 1_000,
  log: { fileMaxBytes: 1, filesKept: 1 },
  environments: [{}],
};

/** Runs a write of the supervisor after the first read of a record, before the reader's next step. */
class InterruptedFiles extends AttemptFiles {
  readonly #after: Partial<Record<RecordName, () => void>> = {};

  interruptAfter(name: RecordName, write: () => void): void {
    this.#after[name] = write;
  }

  override read<Name extends RecordName>(name: Name): Records[Name] | null {
    const record = super.read(name);
    const write = this.#after[name];
    delete this.#after[name];
    write?.();
    return record;
  }
}

let homeDir: string;
let files: InterruptedFiles;

beforeEach(() => {
  homeDir = mkdtempSync(path.join(tmpdir(), "headroom-inspection-"));
  files = new InterruptedFiles({ homeDir, name: "w1.1", secret: "secret" });
  mkdirSync(files.recordsDir, { recursive: true });
});
afterEach(() => rmSync(homeDir, { recursive: true, force: true }));

const claim = (): unknown => files.create("claim.json", { kind: "supervised", bootId, supervisor });
const start = (): void => {
  claim();
  files.write("workers.json", { workers: [supervisor] });
};

describe("an attempt whose supervisor starts its workers during the inspection", () => {
  it("is starting if its claim was not there at the first read", () => {
    files.write("launch.json", launch);
    files.interruptAfter("claim.json", start);
    expect(inspectAttempt(files, bootId).kind).toBe("starting");
  });

  it("is starting if its launch was not there at the first read", () => {
    files.interruptAfter("launch.json", () => {
      files.write("launch.json", launch);
      start();
    });
    expect(inspectAttempt(files, bootId).kind).toBe("starting");
  });
});

describe("an attempt whose workers started", () => {
  it.each(["claim.json", "launch.json"] as const)("is lost if its %s was removed", (name) => {
    files.write("launch.json", launch);
    start();
    rmSync(path.join(files.recordsDir, name));
    expect(inspectAttempt(files, bootId)).toMatchObject({
      kind: "orphaned",
      cause: "records",
      detail: expect.stringContaining(`${name} was removed`),
    });
  });
});
