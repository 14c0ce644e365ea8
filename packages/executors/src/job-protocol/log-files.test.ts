import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LogChunk, LogStart } from "../executor.ts";
import { workerDirOf } from "./attempt-files.ts";
import { readLogs } from "./log-reader.ts";
import { LogWriter } from "./log-writer.ts";

let recordsDir: string;
let workerDir: string;

beforeEach(() => {
  // Output at different times is read in different chunks.
  vi.useFakeTimers({ toFake: ["Date"] });
  recordsDir = mkdtempSync(path.join(tmpdir(), "headroom-logs-"));
  workerDir = workerDirOf(recordsDir, 0);
  mkdirSync(workerDir);
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(recordsDir, { recursive: true });
});

async function read(start: LogStart = { kind: "oldest" }): Promise<LogChunk[]> {
  const chunks: LogChunk[] = [];
  const request = { worker: 0, stream: "stdout", start, follow: false } as const;
  const source = { workerDir: () => workerDir, workerCount: 1, hasEnded: () => true };
  for await (const chunk of readLogs(source, request, new AbortController().signal)) chunks.push(chunk);
  return chunks;
}

const textOf = (chunks: readonly LogChunk[]): string => chunks.map(({ text }) => text).join("");

describe("log files", () => {
  it("are named by their first byte and dropped from the oldest on", async () => {
    const writer = new LogWriter(workerDir, "stdout", { fileMaxBytes: 10, filesKept: 3 });
    for (let line = 0; line < 10; line++) writer.write(Buffer.from(`line ${line}!\n`));
    writer.write(Buffer.from("end\n"));
    writer.close();
    const names = readdirSync(workerDir).toSorted();
    expect(names.filter((name) => name.startsWith("stdout.log"))).toEqual([
      "stdout.log.48",
      "stdout.log.64",
      "stdout.log.80",
    ]);
    expect(names.filter((name) => name.startsWith("stdout.times"))).toEqual([
      "stdout.times.48",
      "stdout.times.64",
      "stdout.times.80",
    ]);
    expect((await read())[0]).toMatchObject({ fromByte: 48, toByte: 64, text: "line 6!\nline 7!\n" });
    expect(textOf(await read())).toBe("line 6!\nline 7!\nline 8!\nline 9!\nend\n");
    expect(textOf(await read({ kind: "byte", offset: 3 }))).toBe("line 6!\nline 7!\nline 8!\nline 9!\nend\n");
    expect(textOf(await read({ kind: "byte", offset: 72 }))).toBe("line 9!\nend\n");
    expect(textOf(await read({ kind: "byte", offset: 4711 }))).toBe("");
    expect(textOf(await read({ kind: "tail", lines: 3 }))).toBe("line 8!\nline 9!\nend\n");
    expect(textOf(await read({ kind: "tail", lines: 300 }))).toBe("line 6!\nline 7!\nline 8!\nline 9!\nend\n");
  });

  it("never cut a character, even in a line without end", async () => {
    const writer = new LogWriter(workerDir, "stdout", { fileMaxBytes: 10_000_000, filesKept: 2 });
    const text = "aä€😀".repeat(30_000);
    writer.write(Buffer.from(text));
    writer.close();
    const chunks = await read();
    expect(chunks.length).toBeGreaterThan(4);
    expect(textOf(chunks)).toBe(text);
    for (const chunk of chunks) expect(Buffer.byteLength(chunk.text)).toBe(chunk.toByte - chunk.fromByte);
  });

  it("take a full disk without a word to whoever writes", () => {
    symlinkSync("/dev/full", path.join(workerDir, "stdout.log"));
    const writer = new LogWriter(workerDir, "stdout", { fileMaxBytes: 10, filesKept: 2 });
    expect(() => writer.write(Buffer.from("lost\n"))).not.toThrow();
    expect(() => writer.write(Buffer.from("lost\n"))).not.toThrow();
    writer.close();
  });
});
