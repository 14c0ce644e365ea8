import { expect, it } from "vitest";
import { Gathering } from "./gathering.ts";
import { SnapshotSchedule } from "./snapshot-schedule.ts";

it("lets nothing wait when idle, and most of the last batch come back under load", () => {
  const gathering = new Gathering();
  expect(gathering.isEnough(1, 0)).toBe(true);
  gathering.closed(1);
  gathering.began(0);
  expect(gathering.isEnough(0, 0)).toBe(true);
  gathering.closed(32);
  gathering.began(0);
  expect([1, 23, 24].map((count) => gathering.isEnough(count, 0.1))).toEqual([false, false, true]);
  expect(gathering.isEnough(1, 2)).toBe(true);
});

it("joins the clients that were just answered with those that came meanwhile", () => {
  const gathering = new Gathering();
  gathering.closed(16);
  gathering.began(16);
  expect([16, 23, 24].map((count) => gathering.isEnough(count, 0.1))).toEqual([false, false, true]);
});

it("makes a snapshot after enough events or enough time, one at a time, never of nothing new", () => {
  const schedule = new SnapshotSchedule({ everyEvents: 100, pauseMinMs: 1_000, everyMs: 60_000 }, 50, 0);
  expect(schedule.isDue(149, 59_999)).toBe(false);
  expect(schedule.isDue(150, 999)).toBe(false);
  expect(schedule.isDue(150, 1_000)).toBe(true);
  expect(schedule.isDue(51, 60_000)).toBe(true);
  expect(schedule.isDue(50, 600_000)).toBe(false);
  schedule.begin(150, 1_000);
  expect(schedule.isDue(1_000, 600_000)).toBe(false);
  schedule.done(150, 1_200);
  expect(schedule.newest).toEqual({ sequence: 150, atMs: 1_200 });
  expect(schedule.isDue(250, 2_000)).toBe(true);
});
