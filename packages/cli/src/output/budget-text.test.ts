import type { Team } from "@headroom/protocol";
import { expect, it } from "vitest";
import { budgetLines } from "./budget-text.ts";
import type { Paint } from "./style.ts";

const tagged: Paint = (tone, text) => `<${tone}>${text}</>`;
const DAY_MS = 86_400_000;

const team = (gpuHours: number, forecast: NonNullable<Team["account"]>["forecast"]): Team => ({
  name: "lab",
  parent: null,
  limit: {},
  held: {},
  heldInAll: { accelerators: 0, coresMilli: 0, memoryMib: 0 },
  budget: { gpuHours: 100, period: "month", over: "warn" },
  account: {
    gpuHours,
    microUsd: 0,
    periodStartMs: 0,
    renewsAtMs: 31 * DAY_MS,
    isSpent: gpuHours >= 100,
    atMs: 10 * DAY_MS,
    ...(forecast === undefined ? {} : { forecast }),
  },
});

it("tells when a budget will be used up, and warns once it is", () => {
  const pace = { gpuHoursPerDay: 12, microUsdPerDay: 0, usedUpAtMs: 15 * DAY_MS };
  expect(budgetLines(team(40, { now: pace, lately: null }), tagged)).toEqual([
    "budget of lab: 40 GPU-hours of 100 GPU-hours (40%), 60 GPU-hours left; this month, renewed at 1970-02-01T00:00:00Z; soft: no effect on work when it is used up",
    "  At the rate of running work, 12 GPU-hours a day, it will be used up at 1970-01-16T00:00:00Z.",
  ]);
  expect(budgetLines(team(112, undefined), tagged)).toEqual([
    "<yellow>budget of lab is used up:</> 112 GPU-hours of 100 GPU-hours (112%), 12 GPU-hours over; this month, renewed at 1970-02-01T00:00:00Z; soft: no effect on work when it is used up",
  ]);
  expect(budgetLines({ ...team(0, undefined), budget: undefined }, tagged)).toEqual([]);
});
