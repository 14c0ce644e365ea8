import type { CalendarItem, ScheduleItem } from "@headroom/protocol";
import { expect, it } from "vitest";
import { spansIn } from "./timeline-spans.ts";

const window = (name: string, startMs: number, endMs: number): CalendarItem =>
  ({ entry: { kind: "maintenance", name, startMs, endMs }, sentence: "" }) as unknown as CalendarItem;

it("cuts windows to the range, and leaves out what lies beside it", () => {
  const items = [window("begun", -50, 10), window("over", -50, -1), window("later", 200, 300), window("long", 90, 300)];
  const schedule = { schedule: { name: "nightly" }, nextAtsMs: [20, 120] } as unknown as ScheduleItem;
  expect(spansIn({ items, schedules: [schedule], fromMs: 0, toMs: 100 })).toEqual([
    { name: "begun", kind: "maintenance", spans: [{ fromMs: 0, toMs: 10 }] },
    { name: "long", kind: "maintenance", spans: [{ fromMs: 90, toMs: 100 }] },
    { name: "nightly", kind: "schedule", spans: [{ fromMs: 20, toMs: 20 }] },
  ]);
});
