import { nodeId } from "@headroom/model";
import { expect, it } from "vitest";
import { SmallFleet } from "./testing/small-fleet.ts";
import { verdictView } from "./verdict-view.ts";

const sentenceOf = (fleet: SmallFleet, id: string): string | undefined => verdictView(fleet.engine, id)?.sentence;

it("names the drained nodes that would hold the work", () => {
  const fleet = SmallFleet.withNodes(2, 8);
  for (const id of ["n0", "n1"]) fleet.command({ kind: "drainNode", nodeId: nodeId(id), running: "wait" });
  const wide = fleet.submit("wide", { gang: { workers: 2, accelerators: 8 } });
  expect(sentenceOf(fleet, wide)).toContain("2 suitable nodes are drained: n0, n1. Resume them.");
  const huge = fleet.submit("huge", { gang: { workers: 3, accelerators: 8 } });
  expect(sentenceOf(fleet, huge)).not.toContain("drained");
});

it("names the labels that no node carries, where the nodes would do without", () => {
  const fleet = SmallFleet.withNodes(2, 8);
  const nodeSelector = { rack: "r9" };
  const picky = fleet.submit("picky", { gang: { accelerators: 8 }, nodeSelector });
  expect(sentenceOf(fleet, picky)).toContain(
    "Exceeds the fleet: it needs 8 accelerators on one node. Even if they were empty, the nodes that take work now would hold only 0 of 1 worker. None of the 2 nodes that could hold a worker carries rack=r9, as its nodeSelector requires.",
  );
  const huge = fleet.submit("huge", { gang: { accelerators: 16 }, nodeSelector });
  expect(sentenceOf(fleet, huge)).not.toContain("rack=r9");
});
