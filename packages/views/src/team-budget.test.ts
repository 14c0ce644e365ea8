import { expect, it } from "vitest";
import {
  budgetAsOf,
  budgetBounds,
  budgetPaces,
  budgetSentence,
  forecastSentences,
  isUsedUp,
  leftText,
} from "./team-budget.ts";
import { teamList } from "./team-view.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

it("says when a budget is used up: by running work, and by the mean of the last days", () => {
  const fleet = SmallFleet.withNodes(1, 8);
  fleet.nowMs = 2 * DAY_MS;
  fleet.define({ name: "lab", parent: null, limit: {}, budget: { gpuHours: 200, period: "month", over: "hold" } });
  const lab = () => {
    fleet.receive({ kind: "tick" });
    const team = teamList(fleet.engine, {}).items.find(({ name }) => name === "lab");
    if (team === undefined) throw new Error("no team");
    return team;
  };
  expect(forecastSentences(lab())).toEqual([
    "At the rate of running work, 0 GPU-hours a day, 0% of it will be used when it is renewed.",
  ]);
  const first = fleet.submit("a", { team: "lab", gang: { accelerators: 2 } });
  fleet.nowMs += DAY_MS;
  fleet.finish(first, 0);
  fleet.submit("b", { team: "lab", gang: { accelerators: 4 } });
  fleet.nowMs += DAY_MS / 2;
  // The usage is 48 hours on the first day and 48 in the first half of the second. 104 hours are left for four
  // accelerators, or for 64 hours a day.
  expect(budgetSentence(lab())).toBe(
    "96 GPU-hours of 200 GPU-hours (48%), 104 GPU-hours left; this month, renewed at 1970-02-01T00:00:00Z; hard: when it is used up, no work starts",
  );
  expect(forecastSentences(lab())).toEqual([
    "At the rate of running work, 96 GPU-hours a day, it will be used up at 1970-01-05T14:00:00Z.",
    "At the rate of the last day, 64 GPU-hours a day, it will be used up at 1970-01-06T03:00:00Z.",
  ]);
  const later = budgetAsOf(lab(), fleet.nowMs + 2 * HOUR_MS);
  expect(budgetBounds(later).map(leftText)).toEqual(["96 GPU-hours left"]);
  expect(budgetAsOf(lab(), fleet.nowMs - HOUR_MS)).toEqual(lab());
  expect(budgetAsOf(lab(), fleet.nowMs + 99 * DAY_MS).account?.atMs).toBe(31 * DAY_MS);
  fleet.nowMs += 30 * HOUR_MS;
  const spent = lab();
  expect([isUsedUp(spent), budgetBounds(spent).map(leftText), budgetPaces(spent)]).toEqual([
    true,
    ["16 GPU-hours over"],
    [],
  ]);
});

it("says how much will have been used up when the budget begins anew before that, and nothing of one that never does", () => {
  const fleet = SmallFleet.withNodes(1, 8);
  for (const [name, period] of [
    ["a", "month"],
    ["b", "total"],
  ] as const)
    fleet.define({
      name,
      parent: null,
      limit: {},
      budget: { gpuHours: 1488, microUsd: 1_000_000, period, over: "warn" },
    });
  fleet.submit("w", { team: "a", gang: { accelerators: 1 } });
  const [a, b] = teamList(fleet.engine, {}).items;
  if (a === undefined || b === undefined) throw new Error("no teams");
  expect(budgetPaces(a)).toEqual([
    { basis: "running work", pace: "24 GPU-hours and $0 a day", usedUpAtMs: null, percentAtRenewal: 49 },
  ]);
  expect(forecastSentences(b)).toEqual([
    "At the rate of running work, 0 GPU-hours and $0 a day, it will never be used up.",
  ]);
});
