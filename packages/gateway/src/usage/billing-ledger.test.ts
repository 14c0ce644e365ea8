import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { emptyLedger, readLedger, settleInto, writeLedger } from "./billing-ledger.ts";
import type { UsageRecord } from "./record.ts";
import { UsageLog } from "./usage-log.ts";

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

function folder(): string {
  const directory = mkdtempSync(path.join(tmpdir(), "headroom-ledger-"));
  directories.push(directory);
  return directory;
}

const day = Date.UTC(2026, 10, 23);

function record(id: string, own: Partial<UsageRecord> = {}): Omit<UsageRecord, "seq"> {
  return {
    id,
    atMs: day,
    team: "search",
    key: "laptop",
    model: "chat",
    pool: "local",
    operation: "chat",
    outcome: "completed",
    status: 200,
    promptTokens: 3,
    completionTokens: 4,
    cachedTokens: 1,
    isPromptEstimated: false,
    nanoUsd: 7,
    ...own,
  };
}

function logOf(state: string, id: string, segmentBytes = 1_000_000): UsageLog {
  return new UsageLog({ directory: path.join(state, id, "usage"), segmentBytes, sync: "interval" });
}

function write(log: UsageLog, records: readonly Omit<UsageRecord, "seq">[]): void {
  for (const each of records) log.append(each, undefined);
  log.flush();
}

describe("the billing ledger", () => {
  it("adds up by day, team, key and model over gateways and runs", () => {
    const state = folder();
    const first = logOf(state, "first");
    const second = logOf(state, "second");
    write(first, [record("a"), record("b", { outcome: "aborted", completionTokens: 1, nanoUsd: 2 })]);
    write(second, [record("c", { team: 'o"ther' }), record("d", { atMs: day + 86_400_000 })]);
    const one = settleInto(emptyLedger, state);
    write(first, [
      record("e", { outcome: "failed", promptTokens: 0, completionTokens: 0, cachedTokens: 0, nanoUsd: 0 }),
    ]);
    const two = settleInto(one.ledger, state);
    const again = settleInto(two.ledger, state);
    expect([one.settledCount, two.settledCount, again.settledCount]).toEqual([4, 1, 0]);
    expect(again.ledger).toEqual(two.ledger);
    expect(
      two.ledger.totals.map(({ day: on, team, requests, aborted, failed, promptTokens, completionTokens, nanoUsd }) =>
        [on, team, requests, aborted, failed, promptTokens, completionTokens, nanoUsd].join(" "),
      ),
    ).toEqual(['2026-11-23 o"ther 1 0 0 3 4 7', "2026-11-23 search 3 1 1 6 5 9", "2026-11-24 search 1 0 0 3 4 7"]);
    first.close();
    second.close();
  });

  it("counts a stream once: at its end, after its gateway was killed, or when all gateways are over", () => {
    const state = folder();
    const killed = logOf(state, "g");
    write(killed, [record("a", { outcome: "open", completionTokens: 1 }), record("b", { outcome: "open" })]);
    const held = settleInto(emptyLedger, state);
    expect([held.settledCount, held.openCount]).toEqual([0, 2]);
    write(killed, [record("a", { completionTokens: 9 })]);
    const next = logOf(state, "g");
    write(next, [record("c", { outcome: "open" })]);
    const later = settleInto(held.ledger, state);
    expect([later.settledCount, later.openCount]).toEqual([2, 1]);
    const over = settleInto(later.ledger, state, { isOver: true });
    expect([over.settledCount, over.openCount]).toEqual([1, 0]);
    const [total] = over.ledger.totals;
    expect([total?.requests, total?.aborted, total?.completionTokens]).toEqual([3, 2, 9 + 4 + 4]);
    killed.close();
    next.close();
  });

  it("settles every record once, however often the reader is killed", async () => {
    const state = folder();
    const file = path.join(state, "ledger.json");
    const log = logOf(state, "g", 4000);
    let written = 0;
    for (let kill = 0; kill < 8; kill++) {
      const child = spawn(
        process.execPath,
        [path.join(import.meta.dirname, "../../test/settle-usage.ts"), state, file],
        {
          stdio: ["ignore", "pipe", "inherit"],
        },
      );
      const ended = once(child, "exit");
      await once(child.stdout, "data");
      for (let at = 0; at < 40; at++) {
        write(log, [record(`r${written++}`)]);
        await new Promise((resolve) => setImmediate(resolve));
      }
      // The reader is killed at an arbitrary system call, not at a step chosen by the test.
      const steps = 1 + ((kill * 7) % 5);
      for (let step = 0; step < steps; step++) await once(child.stdout, "data");
      child.kill("SIGKILL");
      await ended;
    }
    const { ledger, isComplete } = settleInto(readLedger(file), state);
    expect(isComplete).toBe(true);
    expect(ledger.totals.map(({ requests, nanoUsd }) => [requests, nanoUsd])).toEqual([[written, 7 * written]]);
    expect(ledger.gateways["g"]).toMatchObject({ seq: written, missingCount: 0 });
    log.close();
  });

  it("reports records that were deleted before they were settled, and refuses files that were replaced", () => {
    const state = folder();
    const usage = path.join(state, "g", "usage");
    const log = logOf(state, "g", 600);
    write(log, [record("a"), record("b"), record("c"), record("d")]);
    write(log, [record("e")]);
    const [oldest] = readdirSync(usage).toSorted();
    const settled = settleInto(emptyLedger, state).ledger;
    rmSync(path.join(usage, oldest!));
    expect(settleInto(emptyLedger, state).missingCount).toBe(4);
    expect(settleInto(settled, state).missingCount).toBe(0);
    log.close();
    rmSync(usage, { recursive: true });
    const fresh = logOf(state, "g");
    write(fresh, [record("x")]);
    expect(() => settleInto(settled, state)).toThrow(/state was replaced/);
    const [segment] = readdirSync(usage);
    const after = settleInto(emptyLedger, state).ledger;
    truncateSync(path.join(usage, segment!), 3);
    expect(() => settleInto(after, state)).toThrow(/is shorter than/);
    fresh.close();
  });

  it("keeps the old file when the new one cannot be written, and refuses a file that is no ledger", () => {
    const state = folder();
    const file = path.join(state, "ledger.json");
    writeLedger(file, emptyLedger);
    expect(readLedger(file)).toEqual(emptyLedger);
    expect(readdirSync(state)).toEqual(["ledger.json"]);
    writeFileSync(file, '{"version":1}');
    expect(() => readLedger(file)).toThrow(/is not a usage ledger/);
  });
});
