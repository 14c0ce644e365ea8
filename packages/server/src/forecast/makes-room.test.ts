import { expect, it } from "vitest";
import { sharedAccelerator } from "../endpoints/testing/shared-accelerator.ts";
import { makesRoom } from "./makes-room.ts";

it("says whether the place of an idle endpoint would go to the one that waits", () => {
  const { simulation, waiting, command } = sharedAccelerator([]);
  const { engine } = simulation;
  const before = engine.digest();
  expect(makesRoom(engine, waiting, command)).toBe(true);
  expect(makesRoom(engine, waiting, { ...command, workloadId: waiting, from: 1 })).toBe(false);
  expect(engine.digest()).toBe(before);
});

it("says no where other work is ahead in the queue, or the endpoint is held", () => {
  const behind = sharedAccelerator([5]);
  expect(makesRoom(behind.simulation.engine, behind.waiting, behind.command)).toBe(false);
  const held = sharedAccelerator([]);
  held.send({ kind: "holdWorkload", workloadId: held.waiting });
  expect(makesRoom(held.simulation.engine, held.waiting, held.command)).toBe(false);
});
