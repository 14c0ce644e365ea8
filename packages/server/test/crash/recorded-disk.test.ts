import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, it } from "vitest";
import { losesAll, losesNothing, RecordedDisk } from "./recorded-disk.ts";
import { parseTrace } from "./system-calls.ts";
import { settleUnreturned } from "./unreturned-calls.ts";

const home = mkdtempSync(path.join(tmpdir(), "headroom-recorded-"));
const targets: string[] = [];

afterEach(() => {
  for (const target of targets.splice(0)) rmSync(target, { recursive: true });
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
});

const hex = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
const wal = path.join(home, "wal");
const made = [
  `7 openat(AT_FDCWD<${hex("/")}>, "${hex(wal)}", O_RDWR|O_CREAT|O_CLOEXEC, 0644) = 3<${hex(wal)}>`,
  `7 fsync(4<${hex(home)}>) = 0`,
  `7 pwrite64(3<${hex(wal)}>, "${hex("one.")}", 4, 0) = 4`,
];
const writesTwo = `7 pwrite64(3<${hex(wal)}>, "${hex("two.")}", 4, 4`;
const nextLife = [
  `8 fsync(3<${hex(wal)}>) = 0`,
  `8 pwrite64(3<${hex(wal)}>, "${hex("three.")}", 6, 8) = 6`,
  `8 fdatasync(3<${hex(wal)}>) = 0`,
];

/**
 * The disk after a power cut right after line `at` of two runs, if the kill of the first run left `left` in the file.
 */
function afterCut(killed: readonly string[], left: string, at: number, fate = losesAll): string {
  writeFileSync(wal, left);
  const first = [...made, ...killed, "7 +++ killed by SIGKILL +++"];
  const calls = settleUnreturned(parseTrace(first.join("\n"), [home]), home, first.length);
  const second = parseTrace(nextLife.join("\n"), [home]).map((call) => ({
    ...call,
    enter: call.enter + first.length + 1,
    exit: call.exit + first.length + 1,
  }));
  const target = mkdtempSync(path.join(tmpdir(), "headroom-rebuilt-"));
  targets.push(target);
  new RecordedDisk(home, [...calls, ...second]).rebuild(at, fate, target);
  return readFileSync(path.join(target, "wal"), "utf8");
}

const kills = {
  "an answer nobody saw": [`${writesTwo}) = ?`],
  "no answer": [`${writesTwo} <unfinished ...>`],
  "an answer nobody saw, later": [
    `${writesTwo} <unfinished ...>`,
    "9 fsync(5</>) = 0",
    "7 <... pwrite64 resumed>) = ?",
  ],
};

it.each(Object.entries(kills))(
  "a write in which its process was killed (%s) is synced by the next life if it happened",
  (_, killed) => {
    expect(afterCut(killed, "one.two.", 100)).toBe("one.two.three.");
    const beforeTheSync = made.length + killed.length;
    expect(afterCut(killed, "one.two.", beforeTheSync)).toBe("");
    expect(afterCut(killed, "one.two.", beforeTheSync, losesNothing)).toBe("one.two.");
  },
);

it.each(Object.entries(kills))(
  "of a write in which its process was killed (%s) there is no more than was found",
  (_, killed) => {
    expect(afterCut(killed, "one.", 100)).toBe("one.\0\0\0\0three.");
    expect(afterCut(killed, "one.tw", 100)).toBe("one.tw\0\0three.");
  },
);

it("a name may be lost until it and the way to it are synced, whatever was found there", () => {
  const attempt = path.join(home, "attempt");
  const record = path.join(attempt, "launch.json");
  const partial = `${record}.partial`;
  const trace = [
    `7 mkdir("${hex(attempt)}", 0700) = 0`,
    `7 openat(AT_FDCWD<${hex("/")}>, "${hex(partial)}", O_WRONLY|O_CREAT, 0600) = 3<${hex(partial)}>`,
    `7 fsync(3<${hex(partial)}>) = 0`,
    `7 rename("${hex(partial)}", "${hex(record)}") = 0`,
    `7 fsync(3<${hex(attempt)}>) = 0`,
    `7 fsync(3<${hex(home)}>) = 0`,
  ];
  const disk = new RecordedDisk(home, parseTrace(trace.join("\n"), [home]));
  expect(trace.map((_, at) => disk.mayLose(record, at))).toEqual([true, true, true, true, true, false]);
});

it("names that a killed call may have made, moved or removed are as they were found", () => {
  const file = (name: string): string => hex(path.join(home, name));
  const trace = [
    ...["old", "gone", "kept", "same"].map(
      (name, index) =>
        `7 openat(AT_FDCWD<${hex("/")}>, "${file(name)}", O_WRONLY|O_CREAT, 0644) = ${index + 3}<${file(name)}>`,
    ),
    `7 rename("${file("old")}", "${file("new")}") = ?`,
    `8 unlink("${file("gone")}") = ?`,
    `9 unlink("${file("kept")}") = ?`,
    `10 mkdir("${file("made")}", 0755) = ?`,
    `11 mkdir("${file("unmade")}", 0755) = ?`,
    `12 rename("${file("same")}", "${file("other")}") = ?`,
  ];
  for (const name of ["new", "kept", "same"]) writeFileSync(path.join(home, name), "");
  mkdirSync(path.join(home, "made"));
  const calls = settleUnreturned(parseTrace(trace.join("\n"), [home]), home, trace.length);
  expect(calls.slice(4).map(({ kind, path: name }) => [kind, path.basename(name)])).toEqual([
    ["rename", "old"],
    ["unlink", "gone"],
    ["mkdir", "made"],
  ]);
});

it("a call that was entered before another made its directory, and took effect after it, comes after it", () => {
  const [work, attempt] = [path.join(home, "work"), path.join(home, "work", "w1.1")];
  const record = path.join(attempt, "launch.json");
  const trace = [
    `7 mkdir("${hex(attempt)}", 0700 <unfinished ...>`,
    `8 mkdir("${hex(work)}", 0700 <unfinished ...>`,
    "7 <... mkdir resumed>) = 0",
    "8 <... mkdir resumed>) = 0",
    `7 openat(AT_FDCWD<${hex("/")}>, "${hex(record)}", O_WRONLY|O_CREAT, 0600) = 3<${hex(record)}>`,
    ...[attempt, work, home].map((directory) => `7 fsync(3<${hex(directory)}>) = 0`),
  ];
  const disk = new RecordedDisk(home, parseTrace(trace.join("\n"), [home]));
  expect(disk.mayLose(record, trace.length)).toBe(false);
  // Without an overlap of the two calls, the recording would contradict itself.
  const late = [`7 mkdir("${hex(attempt)}", 0700) = 0`, `8 mkdir("${hex(work)}", 0700) = 0`];
  expect(() => new RecordedDisk(home, parseTrace(late.join("\n"), [home]))).toThrow(/returned before/);
  const never = [`7 mkdir("${hex(attempt)}", 0700) = 0`];
  expect(() => new RecordedDisk(home, parseTrace(never.join("\n"), [home]))).toThrow(/before it, or its directory/);
});

it("a read that overlaps the removal of its file may have seen it, a later one cannot", () => {
  const snapshot = path.join(home, "600.snapshot");
  const read = `8 openat(AT_FDCWD<${hex("/")}>, "${hex(snapshot)}", O_RDONLY) = 4<${hex(snapshot)}>`;
  const written = `7 openat(AT_FDCWD<${hex("/")}>, "${hex(snapshot)}", O_WRONLY|O_CREAT, 0600) = 3<${hex(snapshot)}>`;
  const removed = `7 unlink("${hex(snapshot)}"`;
  const diskOf = (...trace: string[]) => new RecordedDisk(home, parseTrace(trace.join("\n"), [home]));
  const overlapping = diskOf(written, `${removed} <unfinished ...>`, read, "7 <... unlink resumed>) = 0");
  expect(overlapping.mayLose(snapshot, 4)).toBe(true);
  expect(() => diskOf(written, `${removed}) = 0`, read)).toThrow(/is read and was not made by then/);
});

it("a path through a descriptor is the path of the directory that its thread has opened", () => {
  const opens = `openat(AT_FDCWD<${hex("/")}>, "${hex("/state/attempts")}", O_RDONLY) = 34<${hex("/state/attempts")}>`;
  const makes = `mkdir("${hex("/proc/self/fd/34/w1.1")}", 0700) = 0`;
  const calls = parseTrace([`7 ${opens}`, `8 ${makes}`, `7 ${makes}`].join("\n"), ["/state"]);
  expect(calls.map(({ kind, path: name }) => [kind, name])).toEqual([
    ["open", "/state/attempts"],
    ["mkdir", "/state/attempts/w1.1"],
  ]);
});
