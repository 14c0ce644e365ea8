import { expect, it } from "vitest";
import { seededDraw } from "@headroom/routing";
import { RateRise } from "./rate-rise.ts";

/** Whether the rate counts as risen at some look in ten minutes after a fall. `perSecond`: mean arrivals by seconds after the fall. */
function isRisenOnce(seed: number, perSecond: (afterS: number) => number): boolean {
  const draw = seededDraw(seed);
  const rise = new RateRise();
  const recent: number[] = [];
  let isRisen = false;
  for (let second = -600; second < 600; second += 1) {
    // Independent arrivals: tenths of a second have one or none.
    let arrived = 0;
    for (let tenth = 0; tenth < 100; tenth += 1) if (draw() / 4_294_967_296 < perSecond(second) / 100) arrived += 1;
    recent.push(arrived);
    if (recent.length > 15) recent.shift();
    if (second % 2 !== 0) continue;
    rise.add(1000 * second, recent.reduce((sum, each) => sum + each, 0) / recent.length);
    if (second === 0) rise.fell(0);
    isRisen ||= second > 0 && rise.isRisen(1000 * second);
  }
  return isRisen;
}

const seeds = Array.from({ length: 60 }, (_, seed) => seed);

it("sees a slow rise by a third over some minutes", () => {
  const risen = seeds.filter((seed) => isRisenOnce(seed, (afterS) => 7 + Math.min(2.5, Math.max(0, afterS / 120))));
  expect(risen.length).toBeGreaterThanOrEqual(54);
});

it("sees a jump, and no rise in the noise of a constant rate", () => {
  for (const seed of seeds) expect(isRisenOnce(seed, (afterS) => (afterS < 100 ? 7 : 20))).toBe(true);
  expect(seeds.filter((seed) => isRisenOnce(seed, () => 7))).toEqual([]);
});

/** Looks at a steady rate every two seconds. Returns the seconds after the last fall at which it counts as risen first. */
function firstRisen(perSecond: (atS: number) => number, fallsAtS: readonly number[], untilS = 600): number | null {
  const rise = new RateRise();
  for (let second = -600; second <= untilS; second += 2) {
    rise.add(1000 * second, perSecond(second));
    if (fallsAtS.includes(second)) rise.fell(1000 * second);
    else if (second > fallsAtS.at(-1)! && rise.isRisen(1000 * second)) return second;
  }
  return null;
}

it("sees soon that a load returns which had dropped before the fall", () => {
  const dropped = (atS: number): number => (atS < -40 ? 20 : atS < 120 ? 7 : 15);
  expect(firstRisen(dropped, [0, 60])).toBeLessThanOrEqual(140);
  expect(firstRisen(dropped, [0])).toBeLessThanOrEqual(180);
});

it("sees no rise in a load that rose before the fall and stays", () => {
  for (const sinceS of [-300, -200, -100, -60]) expect(firstRisen((atS) => (atS < sinceS ? 5 : 10), [0])).toBeNull();
  expect(firstRisen((atS) => (atS >= -200 && atS < -100 ? 20 : 5), [0])).toBeNull();
});
