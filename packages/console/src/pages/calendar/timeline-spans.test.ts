import type { CalendarItem, ScheduleItem } from "@headroom/protocol";
import { expect, it } from "vitest";
import { midnightsIn, spansIn } from "./timeline-spans.ts";

const window = (name: string, startMs: number, endMs: number): CalendarItem =>
  ({ entry: { kind: "maintenance", name, startMs, endMs }, sentence: "" }) as unknown as CalendarItem;

it("cuts windows to the range, and leaves out what lies beside it", () => {
  const items = [window("begun", -50, 10), window("over", -50, -1), window("later", 200, 300), window("long", 90, 300)];
  const schedule = { schedule: { name: "nightly" }, nextAtsMs: [20, 120] } as unknown as ScheduleItem;
  expect(spansIn({ items, schedules: [schedule], fromMs: 0, toMs: 100 })).toEqual([
    { name: "begun", kind: "maintenance", spans: [{ fromMs: 0, toMs: 10 }], moreAfterMs: null },
    { name: "long", kind: "maintenance", spans: [{ fromMs: 90, toMs: 100 }], moreAfterMs: null },
    { name: "nightly", kind: "schedule", spans: [{ fromMs: 20, toMs: 20 }], moreAfterMs: null },
  ]);
});

it("says that a schedule goes on after the due times that are known", () => {
  const moreOf = (nextAtsMs: readonly number[]): number | null | undefined =>
    spansIn({
      items: [],
      schedules: [{ schedule: { name: "often" }, nextAtsMs } as unknown as ScheduleItem],
      fromMs: 0,
      toMs: 100,
    })[0]?.moreAfterMs;
  expect([moreOf([1, 2, 3, 4, 5]), moreOf([1, 2, 3]), moreOf([60, 70, 80, 90, 110])]).toEqual([5, null, null]);
});

it("labels every second midnight of the reader's time zone", () => {
  const at = (day: number, hour: number): number => new Date(2026, 0, day, hour).getTime();
  expect(midnightsIn({ fromMs: at(6, 15), toMs: at(12, 15) }, 2)).toEqual([at(7, 0), at(9, 0), at(11, 0)]);
});
