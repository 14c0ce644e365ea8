/** The run of the demo depends on its seed alone. */
import { expect, it } from "vitest";
import { sliceOf } from "../../../../tools/testing/rotating.ts";
import { DemoWorld } from "./demo-world.ts";
import { hoursMs, startAtMs, worldAfter } from "./testing/demo-worlds.ts";

/** One seed in a run: 3 hours in `npm test`, 12 in the long suite. */
const { index, share } = sliceOf({ size: 19, suiteParts: 5 });
const HOURS = share > 1 / 19 ? 12 : 3;
const seed = 10 + index;

it("is the same run for everybody, however its time is cut into slices", () => {
  const inOneGo = worldAfter(HOURS, seed);
  const inSlices = new DemoWorld({ seed, startAtMs });
  for (let minute = 7; minute <= HOURS * 60; minute += 7) {
    let turn = 0;
    const untilMs = startAtMs + minute * 60_000;
    while (inSlices.nowMs < untilMs) inSlices.advance(untilMs, () => turn++ % 3 === 2);
  }
  inSlices.advance(startAtMs + hoursMs(HOURS), () => false);
  expect(inSlices.engine.digest()).toBe(inOneGo.engine.digest());
  expect(inSlices.engine.state.chain).toBe(inOneGo.engine.state.chain);
  expect(worldAfter(HOURS, seed + 1).engine.digest()).not.toBe(inOneGo.engine.digest());
});
