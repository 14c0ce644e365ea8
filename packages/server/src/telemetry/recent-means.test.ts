import { describe, expect, it } from "vitest";
import { RecentMeans } from "./recent-means.ts";

const EVERY_MS = 15_000;

describe("recent means of readings", () => {
  it("follow the values of about an hour, and the growth of counters", () => {
    const means = new RecentMeans();
    let nowMs = 0;
    const read = (count: number, temperatureC: number, errorsEach: number, from: number): number => {
      let pcieReplayCount = from;
      for (let index = 0; index < count; index++) {
        nowMs += EVERY_MS;
        pcieReplayCount += errorsEach;
        means.add([{ subject: "accelerator:n1#0", atMs: nowMs, values: { temperatureC, pcieReplayCount } }]);
      }
      return pcieReplayCount;
    };
    const now = () =>
      [...means.fresh(nowMs)].map(({ values }) =>
        Object.fromEntries([...values.keys()].map((name) => [name, values.get(name)])),
      )[0];
    read(7, 60, 0, 500);
    expect(now()).toBeUndefined();
    read(1, 60, 0, 500);
    // A counter that stood at 500 before has not grown.
    expect(now()).toEqual({ temperatureC: 60, pcieReplayCount: 0 });
    const last = read(1_440, 80, 1, 500);
    expect(now()?.["temperatureC"]).toBeCloseTo(80, 0);
    expect(now()?.["pcieReplayCount"]).toBeCloseTo(240, -1);
    // The counter begins again with the node.
    read(1, 80, 1, 0);
    expect(now()?.["pcieReplayCount"]).toBeGreaterThan(200);
    expect(last).toBe(1_940);
    nowMs += 700_000;
    expect(now()).toBeUndefined();
  });

  it("are plain means until an hour has passed, so that no first value stays", () => {
    const means = new RecentMeans();
    const clockAfter = (from: number, to: number): number => {
      for (let index = from; index < to; index++)
        means.add([
          {
            subject: "accelerator:n1#0",
            atMs: index * EVERY_MS,
            values: {
              smClockMhz: index === 0 ? 1_200 : 1_900,
              pcieReplayCount: index === 0 ? 0 : 1,
              networkErrorsPerS: index === 1 ? 1 / 15 : 0,
            },
          },
        ]);
      const [found] = means.fresh(to * EVERY_MS);
      // One event is one in an hour, also after two minutes.
      expect(found?.values.get("pcieReplayCount")).toBeLessThanOrEqual(1);
      expect(found?.values.get("networkErrorsPerS")).toBeLessThanOrEqual(1 / 3_600);
      return found?.values.get("smClockMhz") ?? 0;
    };
    expect(clockAfter(0, 8)).toBeCloseTo(1_900 - 700 / 8, 6);
    expect(clockAfter(8, 60)).toBeCloseTo(1_900 - 700 / 60, 6);
    expect(clockAfter(60, 1_000)).toBeCloseTo(1_900, 0);
  });

  it("are kept of nodes and accelerators, and forgotten when nothing comes", () => {
    const means = new RecentMeans();
    for (let atMs = 1; atMs < 100_000; atMs += 10_000)
      means.add(["node:n1", "pool:h100", "endpoint:w1"].map((subject) => ({ subject, atMs, values: { load1: 1 } })));
    expect([...means.fresh(100_000)].map(({ subject }) => subject)).toEqual(["node:n1"]);
    means.trim(9_000_000);
    expect([...means.fresh(100_000)]).toEqual([]);
  });

  it("of values that depend on load are those of the samples in which the accelerator works", () => {
    const means = new RecentMeans();
    const add = (index: number, values: Readonly<Record<string, number>>): void =>
      means.add([{ subject: "accelerator:n1#0", atMs: index * EVERY_MS, values }]);
    const now = (index: number) => [...means.fresh(index * EVERY_MS)][0]?.values;
    for (let index = 0; index < 40; index++)
      add(index, index % 4 < 2 ? { busyMilli: 1_000, temperatureC: 70 } : { busyMilli: 0, temperatureC: 30 });
    expect(now(40)?.get("temperatureC")).toBe(70);
    expect(now(40)?.get("busyMilli")).toBeCloseTo(500, -2);
    // Idle for more than an hour: the value is of the past.
    for (let index = 40; index < 400; index++) add(index, { busyMilli: 0, temperatureC: 30 });
    expect(now(400)?.get("temperatureC")).toBeUndefined();
    // Sources that state no use of the accelerator are averaged as a whole.
    const plain = new RecentMeans();
    for (let index = 0; index < 10; index++)
      plain.add([{ subject: "accelerator:n2#0", atMs: index * EVERY_MS, values: { temperatureC: 50 } }]);
    expect([...plain.fresh(10 * EVERY_MS)][0]?.values.get("temperatureC")).toBe(50);
  });

  it.each([30, 60, 180])("of work that resumes after %i minutes are not those of its first sample", (pauseMinutes) => {
    const means = new RecentMeans();
    let atMs = 0;
    const clockAfter = (samples: number, busyMilli: number, smClockMhz: number): number | undefined => {
      for (let index = 0; index < samples; index++)
        means.add([{ subject: "accelerator:n1#0", atMs: (atMs += EVERY_MS), values: { busyMilli, smClockMhz } }]);
      return [...means.fresh(atMs)][0]?.values.get("smClockMhz");
    };
    expect(clockAfter(240, 1_000, 1_900)).toBeCloseTo(1_900, 6);
    clockAfter(4 * pauseMinutes, 0, 300);
    // The use of the accelerator is a mean of the time since the last sample, and its clock is that of this moment.
    expect(clockAfter(1, 1_000, 700) ?? 1_900).toBeCloseTo(1_900, 6);
    expect(clockAfter(1, 1_000, 1_780)).toBeCloseTo(1_900 - 120 / 240, 0);
  });
});
