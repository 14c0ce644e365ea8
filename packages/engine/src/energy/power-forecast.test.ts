import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Tariff } from "@headroom/model";
import { emptyState } from "../state/empty-state.ts";
import { asWritable } from "../state/mutable-state.ts";
import { PowerForecast } from "./power-forecast.ts";
import { figuresAt } from "./tariffs.ts";

const once = (name: string, [startMs, endMs, microUsdPerKwh]: readonly [number, number, number]): Tariff => ({
  kind: "tariff",
  name,
  when: { kind: "once", startMs, endMs },
  microUsdPerKwh,
});
const series = (startMs: number, stepMs: number, microUsdPerKwh: readonly number[]): Tariff => ({
  kind: "tariff",
  name: "forecast",
  when: { kind: "series", startMs, stepMs, microUsdPerKwh },
});

function stateWith(tariffs: readonly Tariff[]) {
  const state = asWritable(emptyState());
  for (const entry of tariffs) state.calendar.set(entry.name, { entry });
  return state;
}

const price = (tariffs: readonly Tariff[], atMs: number): number | null =>
  figuresAt(stateWith(tariffs), atMs).microUsdPerKwh;

describe("a forecast", () => {
  it("says one figure after another from its beginning on, and counts before other tariffs as far as it goes", () => {
    const forecast = series(10, 5, [7, 8]);
    expect([9, 10, 14, 15, 19, 20].map((atMs) => price([forecast], atMs))).toEqual([null, 7, 7, 8, 8, null]);
    const [early, late] = [once("early", [0, 100, 50]), once("late", [12, 100, 60])];
    expect([9, 12, 19, 20].map((atMs) => price([early, late, forecast], atMs))).toEqual([50, 7, 8, 60]);
  });
});

describe("what is to come", () => {
  const figure = fc.integer({ min: 1, max: 5 });
  const times = fc.record({
    forecast: fc.array(figure, { minLength: 1, maxLength: 8 }),
    stepMs: fc.integer({ min: 1, max: 4 }),
    startMs: fc.integer({ min: 0, max: 10 }),
    others: fc.array(fc.tuple(fc.nat({ max: 20 }), fc.integer({ min: 21, max: 30 }), figure), { maxLength: 3 }),
  });

  it("is told piece by piece as it is instant by instant, and so is what is among the least of it", () => {
    let [least, more] = [0, 0];
    fc.assert(
      fc.property(
        times,
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 35 }),
        (world, leastMs, untilMs) => {
          const others = world.others.map((each, index) => once(`other-${index}`, each));
          const state = stateWith([...others, series(world.startMs, world.stepMs, world.forecast)]);
          const forecast = new PowerForecast(state, 0);
          const at = (atMs: number): number | null => figuresAt(state, atMs).microUsdPerKwh;
          for (let index = 0, piece = forecast.at(0); piece !== undefined; piece = forecast.at(++index)) {
            const { fromMs } = piece;
            for (let atMs = fromMs; atMs < Math.min(40, piece.untilMs); atMs++)
              expect(at(atMs)).toBe(piece.figures.microUsdPerKwh);
            const now = at(fromMs);
            const eventual = Array.from({ length: Math.max(0, untilMs - fromMs) }, (_, ms) => at(fromMs + ms));
            const lessMs = eventual.filter((then) => then !== null && now !== null && then < now).length;
            const isLeast = forecast.isAmongLeast(index, "microUsdPerKwh", { leastMs, untilMs });
            expect(isLeast).toBe(now !== null && lessMs < leastMs);
            if (isLeast) least++;
            else if (now !== null) more++;
          }
        },
      ),
    );
    expect(Math.min(least, more)).toBeGreaterThan(20);
  });
});
