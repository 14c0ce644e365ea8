import { appendFileSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { settleUsage, SpendingReader, usageStart } from "./reader.ts";
import type { UsageRecord } from "./record.ts";
import { segmentName } from "./segments.ts";
import { UsageLog } from "./usage-log.ts";

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

function folder(): string {
  const directory = mkdtempSync(path.join(tmpdir(), "headroom-usage-"));
  directories.push(directory);
  return directory;
}

function record(id: string, outcome: UsageRecord["outcome"] = "completed"): Omit<UsageRecord, "seq"> {
  return {
    id,
    atMs: 1000,
    team: 'te"am',
    key: "k",
    model: "m",
    pool: "p",
    operation: "chat",
    outcome,
    status: 200,
    promptTokens: 3,
    completionTokens: 4,
    cachedTokens: 0,
    isPromptEstimated: false,
    nanoUsd: 7,
  };
}

function logIn(directory: string): UsageLog {
  return new UsageLog({ directory, segmentBytes: 600, sync: "interval" });
}

const append = (log: UsageLog, id: string, outcome?: UsageRecord["outcome"]): Promise<void> =>
  new Promise((resolve) => log.append(record(id, outcome), { usageWritten: resolve }));

describe("usage files", () => {
  it("give every record once, however often and wherever the reader stops", async () => {
    const directory = folder();
    const log = logIn(directory);
    let cursor = usageStart;
    const seen: UsageRecord[] = [];
    for (let at = 0; at < 20; at++) {
      await append(log, `r${at}`);
      if (at % 3 !== 0) continue;
      const { records, cursor: next } = settleUsage(directory, JSON.parse(JSON.stringify(cursor)) as typeof cursor);
      expect(settleUsage(directory, cursor).records).toEqual(records);
      seen.push(...records);
      cursor = next;
    }
    seen.push(...settleUsage(directory, cursor).records);
    log.close();
    expect(seen.map(({ seq }) => seq)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
    expect(readdirSync(directory).length).toBeGreaterThan(3);
    expect(seen[0]?.team).toBe('te"am');
  });

  it("settle a stream by its last record when the gateway was killed, and go on with the sequence", async () => {
    const directory = folder();
    const first = logIn(directory);
    await append(first, "a", "open");
    await append(first, "a", "open");
    await append(first, "b", "open");
    await append(first, "b");
    // Simulates a kill that cuts off the line that was being written.
    const [segment] = readdirSync(directory).slice(-1);
    appendFileSync(path.join(directory, segment!), '{"seq":5,"id":"c"');
    const held = settleUsage(directory, usageStart);
    expect(held.records.map(({ id }) => id)).toEqual(["b"]);
    const second = logIn(directory);
    await append(second, "d");
    const { records, cursor } = settleUsage(directory, held.cursor);
    expect(records.map(({ id, outcome, seq }) => [id, outcome, seq])).toEqual([
      ["a", "aborted", 2],
      ["d", "completed", 5],
    ]);
    expect(settleUsage(directory, cursor, { isOver: true }).records).toEqual([]);
    const spending = new SpendingReader(directory, 0);
    while (spending.readBlock());
    expect(spending.spent().get('te"am')).toBe(21);
    await append(second, "e");
    // The next block has the records that were written meanwhile.
    while (spending.readBlock());
    expect(spending.spent().get('te"am')).toBe(28);
    first.close();
    second.close();
  });
});

describe("a disk that fails", () => {
  it("by deleting the file that is written loses no later record", async () => {
    const directory = folder();
    const log = logIn(directory);
    await append(log, "before");
    rmSync(directory, { recursive: true });
    // The file is looked at once a second.
    await expect.poll(() => readdirSync(path.dirname(directory)).includes(path.basename(directory))).toBe(true);
    await append(log, "after");
    log.close();
    const { records, cursor } = settleUsage(directory, usageStart);
    expect(records.map(({ id }) => id)).toEqual(["after"]);
    expect(cursor.missingCount).toBe(1);
  });

  it("by being full holds what has ended, and says so", async () => {
    const directory = folder();
    const lines: string[] = [];
    const log = new UsageLog({ directory, segmentBytes: 1, sync: "interval", log: (line) => lines.push(line) });
    symlinkSync("/dev/full", path.join(directory, segmentName(2, 1)));
    await append(log, "one");
    let isWritten = false;
    void append(log, "two").then(() => (isWritten = true));
    await expect.poll(() => log.isFailing).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(isWritten).toBe(false);
    expect(lines).toEqual([expect.stringContaining("ENOSPC")]);
    log.close();
  });
});
