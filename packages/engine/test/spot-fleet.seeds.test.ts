/**
 * The long form of `spot-fleet.test.ts`: 1,000 nodes are replaced 250 times, with `HEADROOM_SLICE=all` 1,000 times, which
 * takes a minute.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { checkInvariants } from "@headroom/engine-oracle";
import { SpotFleet } from "./lab/spot-fleet.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function heapBytes(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const TIMES = process.env["HEADROOM_SLICE"] === "all" ? 1_000 : 250;

it("a spot fleet that replaces its 1,000 nodes again and again keeps its snapshot and its heap within 2%", () => {
  let last = -1;
  const fleet = new SpotFleet({ nodes: 1_000, groupSize: 250, gangs: 100 }, ({ events }) => {
    for (const event of events) if (event.kind === "nodeJoined") last++;
  });
  const { engine } = fleet;
  for (let times = 0; times < 20; times++) fleet.replaceAll();
  const before = { heap: heapBytes(), snapshot: engine.snapshot().length };
  for (let times = 20; times < TIMES; times++) {
    fleet.replaceAll();
    // The nodes of now are the last ones that joined, each with the next ordinal.
    const ordinals = [...engine.state.nodes.values()].map(({ ordinal }) => ordinal);
    expect(ordinals).toEqual(ordinals.map((_, index) => last - ordinals.length + 1 + index));
  }
  const after = { heap: heapBytes(), snapshot: engine.snapshot().length };
  expect(engine.state.joinedNodeCount).toBe(1_000 * (TIMES + 1));
  expect(Math.abs(after.snapshot - before.snapshot)).toBeLessThan(0.02 * before.snapshot);
  expect(after.heap - before.heap).toBeLessThan(0.02 * before.heap);
  expect(checkInvariants(engine)).toEqual([]);
  process.stdout.write(`snapshot ${before.snapshot} → ${after.snapshot} bytes, heap ${before.heap} → ${after.heap}\n`);
}, 600_000);
