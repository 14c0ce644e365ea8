import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { removeHome, temporaryHome } from "../api/testing/live-control-plane.ts";
import { TriggerValues } from "./trigger-values.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
let home: string;
beforeEach(() => (home = temporaryHome()));
afterEach(() => removeHome(home));

it("keep the newest value and one each ten minutes at most, for 30 days and over a restart", () => {
  const values = new TriggerValues(home);
  for (let hour = 0; hour <= 32 * 24; hour += 1)
    for (const minute of [0, 1]) values.add(hour * HOUR_MS + minute * MINUTE_MS, { utilisation: hour + minute / 10 });
  const points = values.series("utilisation");
  expect(points.length).toBe(30 * 24 + 1);
  expect(points.slice(-2).map(({ value }) => value)).toEqual([768, 768.1]);
  expect(new TriggerValues(home).series("utilisation").at(-1)).toEqual(points.at(-1));
  expect(values.series("forecast")).toEqual([]);
});

it("forget what lies before a gap of more than two hours, and what is later than the clock", () => {
  const values = new TriggerValues(home);
  for (const hour of [0, 1, 2, 5, 6]) values.add(hour * HOUR_MS, { queueAge: hour });
  expect(values.series("queueAge").map(({ value }) => value)).toEqual([5, 6]);
  values.add(4.5 * HOUR_MS, { queueAge: 4.5 });
  expect(values.series("queueAge").map(({ value }) => value)).toEqual([4.5]);
});

it("begin again when the file cannot be read", () => {
  writeFileSync(path.join(home, "trigger-values.json"), '{"samples":[{"atMs":1,"values":{"heat":1}}]}');
  const values = new TriggerValues(home);
  expect(values.isEmpty).toBe(true);
  values.add(HOUR_MS, { pipeline: 2 });
  expect(new TriggerValues(home).series("pipeline")).toEqual([{ hour: 1, value: 2 }]);
});
