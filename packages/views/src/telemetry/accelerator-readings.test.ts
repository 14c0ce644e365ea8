import { workloadId } from "@headroom/model";
import type { AcceleratorReading, NodeReadings } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { SmallFleet } from "../testing/small-fleet.ts";
import { AcceleratorReadings, measuredAttempts, READINGS_FRESH_MS } from "./accelerator-readings.ts";
import { AcceleratorSeries } from "./accelerator-series.ts";
import { SERIES_POINTS_MAX } from "./series.ts";

const reading = (index: number, busyMilli: number | null): AcceleratorReading => ({
  index,
  busyMilli,
  memoryUsedMib: 1_000 * (index + 1),
  memoryTotalMib: 80_000,
  temperatureC: 40,
  powerMilliwatts: 100_000,
  errorCount: 0,
  fault: null,
});

const node = (name: string, ...busy: readonly (number | null)[]): NodeReadings => ({
  node: name,
  source: "nvidia-smi",
  atMs: 1_000,
  problem: null,
  accelerators: busy.map((milli, index) => reading(index, milli)),
});

function running(fleet: SmallFleet, name: string, gang: object): string {
  const id = fleet.submit(name, { gang });
  const attemptId = fleet.engine.state.workloads.get(workloadId(id))?.activeAttempts[0];
  if (attemptId === undefined) throw new Error(`${name} was not placed`);
  fleet.receive({ kind: "attemptRunning", attemptId });
  return attemptId;
}

describe("readings of accelerators", () => {
  it("measure a gang over its nodes, and leave out work of which one accelerator is not known", () => {
    const fleet = SmallFleet.withNodes(3, 2);
    const gang = running(fleet, "gang", { workers: 2, accelerators: 2 });
    running(fleet, "partly", { workers: 1, accelerators: 2 });
    const readings = new AcceleratorReadings();
    const places = fleet.engine.state.attempts.get(gang as never)?.workers.map((worker) => worker.node) ?? [];
    const rest = ["n0", "n1", "n2"].filter((each) => !places.includes(each as never));
    readings.record(
      [node(places[0] ?? "", 900, 40), node(places[1] ?? "", 500, 0), ...rest.map((each) => node(each, 100, null))],
      fleet.engine,
    );
    const nodes = ["n0", "n1", "n2"];
    const at = (nowMs: number) => ({ readings, nodes, nowMs, isRecent: () => false });
    expect(measuredAttempts(fleet.engine, at(1_000))).toEqual([
      {
        attemptId: gang,
        report: {
          accelerators: 4,
          busyAccelerators: 2,
          busyMilli: 360,
          peakMemoryMib: 2_000,
          capacityMib: 80_000,
        },
      },
    ]);
    expect(measuredAttempts(fleet.engine, at(1_000 + READINGS_FRESH_MS + 1))).toEqual([]);
    // A gang is measured whole when one of its nodes is read, and once in a while.
    const [one] = places;
    expect(measuredAttempts(fleet.engine, { ...at(1_000), nodes: [one ?? ""] })).toHaveLength(1);
    expect(measuredAttempts(fleet.engine, { ...at(1_000), isRecent: (id) => id === gang })).toEqual([]);
  });

  it("leave out work that shares an accelerator", () => {
    const fleet = SmallFleet.withNodes(1, 1);
    running(fleet, "half", { accelerators: 1, shareMilli: 500 });
    const readings = new AcceleratorReadings();
    readings.record([node("n0", 900)], fleet.engine);
    const measured = measuredAttempts(fleet.engine, { readings, nodes: ["n0"], nowMs: 1_000, isRecent: () => false });
    expect(measured).toEqual([]);
  });

  it("are paged in the order of the nodes, with a line for those that were never read", () => {
    const fleet = SmallFleet.withNodes(3, 1);
    const readings = new AcceleratorReadings();
    readings.record([node("n1", 5), node("gone", 5)], fleet.engine);
    const first = readings.page(fleet.engine, { limit: 2 });
    expect(first.items.map(({ node: name, atMs }) => [name, atMs])).toEqual([
      ["n0", null],
      ["n1", 1_000],
    ]);
    const rest = readings.page(fleet.engine, { limit: 2, cursor: first.nextCursor });
    expect(rest.items.map(({ node: name }) => name)).toEqual(["n2"]);
    expect(rest.nextCursor).toBe(null);
    expect(() => readings.page(fleet.engine, { cursor: "9" })).toThrow(/cursor/);
    expect(readings.all.map(({ node: name }) => name)).toEqual(["n1"]);
  });

  it("stay bounded however long they are taken, and keep unknown values unknown", () => {
    let series = new AcceleratorSeries();
    for (let turn = 0; turn < 40_000; turn++) series.add(turn * 15_000, reading(0, null));
    series = AcceleratorSeries.fromText(series.toText());
    const { points } = series.view(0, { points: 10_000 });
    expect(points.length).toBeLessThanOrEqual(SERIES_POINTS_MAX);
    expect(points.reduce((sum, each) => sum + each.readings, 0)).toBe(40_000);
    expect(points[0]).toMatchObject({ busyMilli: null, temperatureC: 40, powerMilliwatts: 100_000, errorCount: 0 });
  });
});
