import { defaultPolicy } from "@headroom/engine";
import { describe, expect, it } from "vitest";
import { startingChangesView } from "./outlook-view.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

const kinds = (fleet: SmallFleet, id: string): string[] =>
  (startingChangesView(fleet.engine, id)?.items ?? []).map(({ change }) => change.kind);

it("does not say that tasks of an array would pass others of the same array by a higher priority", () => {
  const fleet = SmallFleet.withNodes(1, 4);
  fleet.command({ kind: "setPolicy", policy: defaultPolicy });
  const sweep = fleet.submit("sweep", { gang: { accelerators: 1 }, taskCount: 6, preemptible: true });
  const single = fleet.submit("single", { gang: { accelerators: 1 } });
  expect(kinds(fleet, sweep)).toContain("moreNodes");
  expect(kinds(fleet, sweep)).not.toContain("higherPriority");
  expect(kinds(fleet, single)).toContain("higherPriority");
});

const sentences = (fleet: SmallFleet, id: string): string[] =>
  (startingChangesView(fleet.engine, id)?.items ?? []).map(({ change }) => change.sentence);

describe("what keeps work from being asked at all", () => {
  const HOUR_MS = 3_600_000;

  it("is named with the command or the field that ends it", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    const held = fleet.submit("held", { hold: true });
    const later = fleet.submit("later", { notBeforeMs: 100 * HOUR_MS });
    expect(sentences(fleet, held)).toEqual(["Release it: headroom release default/held."]);
    expect(sentences(fleet, later)).toEqual([
      "Submit it without notBefore, for which it waits until 1970-01-05T04:00:00Z.",
    ]);
  });

  it("is no single change where there are two such things, or no room either", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    expect(kinds(fleet, fleet.submit("both", { hold: true, notBeforeMs: 100 * HOUR_MS }))).toEqual([]);
    expect(kinds(fleet, fleet.submit("large", { hold: true, gang: { accelerators: 8 } }))).toEqual([]);
  });

  it("is as few conditions on power as will do", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    const when = { kind: "once", startMs: 0, endMs: 100 * HOUR_MS } as const;
    fleet.apply({
      calendar: [{ kind: "tariff", name: "day", when, microUsdPerKwh: 300_000, gramsPerKwh: 200 }],
    });
    const picky = fleet.submit("picky", { offPeak: { microUsdPerKwhMax: 80_000, gramsPerKwhMax: 250 } });
    expect(sentences(fleet, picky)).toEqual(["Accept power dearer than 0.08 USD/kWh (maxPrice)."]);
  });

  it("is every budget that is used up, by whole GPU-hours and dollars", () => {
    const fleet = SmallFleet.withNodes(1, 4);
    const budget = { period: "total", over: "hold" } as const;
    fleet.define({ name: "lab", parent: null, limit: {}, budget: { ...budget, gpuHours: 10 } });
    fleet.define({ name: "nlp", parent: "lab", limit: {}, budget: { ...budget, gpuHours: 4, microUsd: 9_000_000 } });
    const first = fleet.submit("first", { team: "nlp", gang: { accelerators: 4 } });
    fleet.nowMs += 2.6 * HOUR_MS;
    fleet.finish(first, 0);
    const next = fleet.submit("next", { team: "nlp" });
    expect(sentences(fleet, next)).toEqual([
      "Raise the budget of team nlp from 4 GPU-hours to 11 GPU-hours and the budget of team lab from 10 GPU-hours to 11 GPU-hours.",
    ]);
  });
});
