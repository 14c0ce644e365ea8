import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";

import { attemptId } from "@headroom/model";
import { acceleratorSample } from "@headroom/views";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TelemetryDatabase } from "./telemetry-database.ts";
import type { AttemptSample, MetricsRequest, TelemetryRules } from "./telemetry-messages.ts";

let directory = "";
let file = "";
const rules: TelemetryRules = { keptMs: 1_000_000, bytesMax: 1024 ** 3 };

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "headroom-telemetry-"));
  file = path.join(directory, "telemetry.db");
});
afterEach(() => rmSync(directory, { recursive: true }));

const opened = (at: string = file): TelemetryDatabase => new TelemetryDatabase({ file: at, rules, isExpected: false });

const progress = (attempt: string, atMs: number, step = 1): AttemptSample => [
  attemptId(attempt),
  attempt.slice(0, attempt.indexOf(".")),
  { kind: "progress", atMs, step, totalSteps: 100, metrics: { loss: 1 } },
];

const reading = {
  busyMilli: 500,
  memoryUsedMib: null,
  memoryTotalMib: null,
  temperatureC: 60,
  powerMilliwatts: null,
  errorCount: null,
};

const of = (workloadId: string, more: Partial<MetricsRequest> = {}): MetricsRequest => ({
  workloadId,
  attemptId: null,
  after: 0,
  limit: 20,
  points: 300,
  ...more,
});

const stepsOf = (database: TelemetryDatabase, workloadId: string): readonly (readonly number[])[] =>
  database.read(of(workloadId)).items.map((each) => each.progress.map(({ step }) => step));

describe("the telemetry store", () => {
  it("writes past values among gathered ones of other names in the order of their times", async () => {
    const database = opened();
    const subject = "node:n1";
    database.addSubjects([10_000, 30_000].map((atMs) => ({ subject, atMs, values: { load: 1 } })));
    await database.addPast([5_000, 20_000, 40_000].map((atMs) => ({ subject, atMs, values: { inletC: 21 } })));
    database.flush(50_000, true);
    expect(database.series({ subject, points: 100 }).atMs).toEqual([5_000, 10_000, 20_000, 30_000, 40_000]);
    database.close();
  });

  it("is complete until now at most, whatever times samples have", () => {
    const database = opened();
    expect(database.completeUntilMs(1_000_000)).toBeNull();
    database.addSubjects([{ subject: "node:n1", atMs: 900_000, values: { load: 1 } }]);
    database.flush(900_000, true);
    expect(database.completeUntilMs(1_000_000)).toBe(600_000);
    database.addSubjects([{ subject: "node:n2", atMs: 4e15, values: { load: 1 } }]);
    database.flush(900_000, true);
    // A clock that was wrong once says nothing about the time until now.
    expect(database.completeUntilMs(1_000_000)).toBe(600_000);
    database.close();
  });

  it("gives what was reported, before and after it was written and opened again", () => {
    const database = opened();
    database.add([progress("w1.1", 0, 1), progress("w2.1", 0, 9), progress("w1.1", 2_000, 2)]);
    expect(stepsOf(database, "w1")).toEqual([[1, 2]]);
    database.add([progress("w1.1", 4_000, 3)]);
    database.flush(4_000, true);
    database.close();
    const again = opened();
    expect(stepsOf(again, "w1")).toEqual([[1, 2, 3]]);
    expect(again.newest([attemptId("w1.1"), attemptId("w7.1")])).toEqual([
      ["w1.1", { progress: { atMs: 4_000, step: 3, totalSteps: 100, metrics: { loss: 1 } }, utilization: null }],
    ]);
    again.close();
  });

  it("gives the series of a subject before and after it was written, and of accelerators by node", () => {
    const database = opened();
    const held = (atMs: number, value: number) => ({ subject: "team:research", atMs, values: { held: value } });
    database.addSubjects([held(60_000, 4), acceleratorSample("n1", 10, 60_000, reading), held(120_000, 6)]);
    database.addSubjects([acceleratorSample("n1", 2, 60_000, reading), acceleratorSample("n1#1", 0, 60_000, reading)]);
    const expected = {
      subject: "team:research",
      atMs: [60_000, 120_000],
      metrics: [{ name: "held", unit: "accelerators", values: [4, 6] }],
    };
    expect(database.series({ subject: "team:research", points: 300 })).toEqual(expected);
    database.close();
    const again = opened();
    expect(again.series({ subject: "team:research", points: 300 })).toEqual(expected);
    expect(again.series({ subject: "team:other", points: 300 }).atMs).toEqual([]);
    again.addSubjects([acceleratorSample("n1", 2, 62_000, reading)]);
    const history = again.readings({ node: "n1", points: 300 });
    expect(history.map(({ index }) => index)).toEqual([2]);
    again.close();
  });

  it("takes over the readings of a store of the release before", () => {
    const old = new DatabaseSync(file);
    const series = { names: ["temperatureC"], points: [[[60_000, 1, 0, 61]]] };
    old.exec(
      "CREATE TABLE accelerators (position INTEGER PRIMARY KEY, node TEXT, accelerator INTEGER, newest_ms INTEGER, series TEXT); PRAGMA user_version = 1",
    );
    old.prepare("INSERT INTO accelerators VALUES (1, 'n1', 3, 60000, ?)").run(JSON.stringify(series));
    old.close();
    const database = opened();
    expect(database.readings({ node: "n1", points: 300 })).toMatchObject([
      { index: 3, points: [{ temperatureC: 61 }] },
    ]);
    database.close();
  });

  it("pages through the attempts of a workload", () => {
    const database = opened();
    database.add(Array.from({ length: 5 }, (_, task) => progress(`w1.${task}.1`, 0, task)));
    const first = database.read(of("w1", { limit: 3 }));
    const rest = database.read(of("w1", { limit: 3, after: Number(first.nextCursor) }));
    expect([...first.items, ...rest.items].map((each) => each.attemptId)).toEqual(
      [0, 1, 2, 3, 4].map((task) => `w1.${task}.1`),
    );
    expect(rest.nextCursor).toBeNull();
    expect(database.read(of("w1", { attemptId: "w1.3.1" })).items).toHaveLength(1);
    database.close();
  });

  it("forgets what is old", () => {
    const database = opened();
    database.add([progress("w1.1", 0), progress("w2.1", 900_000)]);
    database.flush(1_100_000, true);
    expect([stepsOf(database, "w1"), stepsOf(database, "w2")]).toEqual([[], [[1]]]);
    database.close();
  });

  it("stays below its size: the attempts that reported longest ago go first", () => {
    const database = new TelemetryDatabase({ file, rules: { ...rules, bytesMax: 400_000 }, isExpected: false });
    for (let index = 0; index < 4_000; index++) database.add([progress(`w${index}.1`, index)]);
    database.flush(4_000, true);
    database.flush(4_001, true);
    expect(database.bytes()).toBeLessThanOrEqual(400_000);
    expect(stepsOf(database, "w0")).toEqual([]);
    expect(stepsOf(database, "w3999")).toEqual([[1]]);
    database.close();
  });

  it("stays below its size with series of subjects too: what was recorded longest ago goes first", () => {
    const database = new TelemetryDatabase({ file, rules: { ...rules, bytesMax: 400_000 }, isExpected: false });
    for (let index = 0; index < 4_000; index++)
      database.addSubjects([{ subject: `replica:w1/${index}`, atMs: index, values: { load: index } }]);
    database.add([progress("w1.1", 4_000)]);
    for (let turn = 0; turn < 3; turn++) database.flush(4_000 + turn, true);
    expect(database.bytes()).toBeLessThanOrEqual(400_000);
    expect(stepsOf(database, "w1")).toEqual([[1]]);
    const times = (index: number) => database.series({ subject: `replica:w1/${index}`, points: 10 }).atMs;
    expect([times(0), times(3_999)]).toEqual([[], [3_999]]);
    database.close();
  });

  it("reads and continues the series of a store with format 2, which has text", () => {
    const old = new DatabaseSync(file);
    const series = { names: ["held"], points: [[[60_000, 1, 0, 4]]] };
    old.exec(
      "CREATE TABLE series (position INTEGER PRIMARY KEY, subject TEXT NOT NULL UNIQUE, newest_ms INTEGER NOT NULL, series TEXT NOT NULL) STRICT; PRAGMA user_version = 2",
    );
    old.prepare("INSERT INTO series VALUES (1, 'team:a', 60000, ?)").run(JSON.stringify(series));
    old.close();
    const database = opened();
    expect(database.series({ subject: "team:a", points: 10 }).atMs).toEqual([60_000]);
    database.addSubjects([{ subject: "team:a", atMs: 120_000, values: { held: 6 } }]);
    database.flush(120_000, true);
    expect(database.series({ subject: "team:a", points: 10 }).metrics).toMatchObject([{ values: [4, 6] }]);
    expect(database.takeProblems()).toEqual([]);
    database.close();
  });

  it("is made new and says so where its file is damaged, at the start or later", () => {
    writeFileSync(file, "this is no database".repeat(1_000));
    const database = opened();
    expect(database.takeProblems()).toEqual([expect.stringMatching(/could not be used \(.*\); a new one was created/)]);
    expect(existsSync(`${file}.unusable`)).toBe(true);
    database.add([progress("w1.1", 0)]);
    database.flush(0, true);
    rmSync(file);
    database.add([progress("w1.1", 2_000, 2)]);
    database.flush(2_000, true);
    expect(database.takeProblems()).toEqual([expect.stringContaining("the file was removed")]);
    expect(stepsOf(database, "w1")).toEqual([[2]]);
    database.close();
  });

  it("says that it is missing where there should be one", () => {
    const database = new TelemetryDatabase({ file, rules, isExpected: true });
    expect(database.takeProblems()).toEqual([`the telemetry store ${file} is missing; a new one was created`]);
    database.close();
  });

  it("keeps reports in memory where no file can be made", () => {
    const database = opened(path.join(directory, "absent", "telemetry.db"));
    expect(database.takeProblems()).toEqual([expect.stringContaining("kept in memory until the next start")]);
    database.add([progress("w1.1", 0)]);
    database.flush(10_000, true);
    expect(stepsOf(database, "w1")).toEqual([[1]]);
    database.close();
  });
});
