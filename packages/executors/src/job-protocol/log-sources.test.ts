import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AttemptFiles } from "./attempt-files.ts";
import type { LaunchRecord, RecordName, Records } from "./attempt-records.ts";
import { LogSources } from "./log-sources.ts";

let homeDir = "";
beforeEach(() => {
  homeDir = mkdtempSync(path.join(tmpdir(), "headroom-logs-"));
});
afterEach(() => rmSync(homeDir, { recursive: true }));

/** Counts how often records are read. */
class CountedFiles extends AttemptFiles {
  reads = 0;

  override readIfSound<Name extends RecordName>(name: Name): Records[Name] | null {
    this.reads++;
    return super.readIfSound(name);
  }
}

/** Records of an attempt with three workers in two parts. */
function launched(name: string): CountedFiles {
  const files = new CountedFiles({ homeDir, name, secret: "s".repeat(64) });
  mkdirSync(files.recordsDir, { recursive: true });
  const parts = [
    { node: "a", ranks: [0, 2] },
    { node: "b", ranks: [1] },
  ];
  files.write("launch.json", { environments: [{}, {}, {}], parts } as unknown as LaunchRecord);
  return files;
}

describe("the directories of logs", () => {
  it("are found by rank in the parts, with one read of the launch record while it exists", () => {
    const sources = new LogSources();
    const files = launched("w1.1");
    const dirs = [0, 1, 2].map((rank) => path.relative(homeDir, sources.sourceOf(files)?.workerDir(rank) ?? ""));
    expect(dirs).toEqual(["attempts/w1.1,0/worker-0", "attempts/w1.1,1/worker-0", "attempts/w1.1,0/worker-1"]);
    expect(files.reads).toBe(1);
    rmSync(files.recordsDir, { recursive: true });
    expect(sources.sourceOf(files)).toBeNull();
  });

  it("are kept of few attempts", () => {
    const sources = new LogSources();
    const all = Array.from({ length: 65 }, (_, index) => launched(`w${index}.1`));
    for (const files of [...all, ...all.slice(1), ...all.slice(0, 1)]) sources.sourceOf(files);
    expect([all[0]?.reads, all[64]?.reads]).toEqual([2, 1]);
  });

  it("are kept of few ranks, and of the newest attempt in any case", () => {
    const sources = new LogSources(7);
    const all = ["w1.1", "w2.1", "w3.1"].map(launched);
    for (const files of [...all, ...all.slice(1), ...all.slice(0, 1)]) sources.sourceOf(files);
    expect(all.map(({ reads }) => reads)).toEqual([2, 1, 1]);
    const small = new LogSources(1);
    const files = launched("w4.1");
    for (let time = 0; time < 3; time++) small.sourceOf(files);
    expect(files.reads).toBe(1);
  });
});
