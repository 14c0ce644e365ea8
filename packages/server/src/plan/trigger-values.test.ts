import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { removeHome, temporaryHome } from "../api/testing/live-control-plane.ts";
import { TriggerValues } from "./trigger-values.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
let home: string;
const warned: string[] = [];
const log = { warn: (message: string) => void warned.push(message) };
beforeEach(() => (home = temporaryHome()));
afterEach(() => removeHome(home));

it("keep 30 days, with every dip and peak, over a restart", () => {
  const values = new TriggerValues(home, log);
  for (let hour = 0; hour <= 32 * 24; hour += 1)
    for (const minute of [0, 1, 2])
      values.add(hour * HOUR_MS + minute * MINUTE_MS, { utilisation: minute === 1 ? hour / 2 : hour });
  const points = values.series("utilisation");
  expect(points.length).toBe(3 * 30 * 24);
  expect(points.slice(-3).map(({ value }) => value)).toEqual([384, 768, 768]);
  // The newest ten minutes are saved when the next ones begin.
  expect(new TriggerValues(home, log).series("utilisation").slice(-4, -1)).toEqual(points.slice(-6, -3));
  expect(values.series("forecast")).toEqual([]);
});

it("forget what lies before a gap of more than two hours, and what is later than the clock", () => {
  const values = new TriggerValues(home, log);
  for (const hour of [0, 1, 2, 5, 6]) values.add(hour * HOUR_MS, { queueAge: hour });
  expect(values.series("queueAge").map(({ value }) => value)).toEqual([5, 6]);
  values.add(4.5 * HOUR_MS, { queueAge: 4.5 });
  expect(values.series("queueAge").map(({ value }) => value)).toEqual([4.5]);
});

it("begin again when the file cannot be read, and keep it aside", () => {
  const target = path.join(home, "trigger-values.json");
  writeFileSync(target, '{"slots":[{"fromMs":1,"toMs":1,"values":{"heat":1}}]}');
  const values = new TriggerValues(home, log);
  expect([values.isEmpty, existsSync(`${target}.unreadable`)]).toEqual([true, true]);
  expect(warned).toEqual([expect.stringContaining("begin again")]);
  values.add(HOUR_MS, { pipeline: 2 });
  expect(new TriggerValues(home, log).series("pipeline")).toEqual([{ hour: 1, value: 2 }]);
});
