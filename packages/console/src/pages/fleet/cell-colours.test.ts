import type { Node, NodeHolder } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import {
  categoriser,
  categoryOfTeams,
  cellsOf,
  freeCountOf,
  holderAt,
  nodeSentence,
  nodeStateText,
  nodeStateTone,
} from "./cell-colours.ts";

const holder = (change: Partial<NodeHolder>): NodeHolder => ({
  accelerators: "0",
  attemptId: "a1",
  worker: 0,
  workloadId: "w1",
  workloadName: "train",
  team: "research",
  phase: "running",
  ...change,
});

const node: Node = {
  id: "n1",
  pool: "h100",
  site: "s",
  fabric: ["leaf-1"],
  acceleratorType: "H100",
  acceleratorCount: 8,
  freeAccelerators: "4,6-7",
  coresMilli: 0,
  coresFreeMilli: 0,
  memoryMib: 0,
  memoryFreeMib: 0,
  phase: { name: "inService" },
  health: "up",
  draining: false,
  joinedAtMs: 0,
  labels: {},
  holders: [
    holder({ accelerators: "0-3" }),
    holder({ accelerators: "5", phase: "stopping", workloadName: "eval", team: "ops" }),
  ],
};

describe("cells of a node", () => {
  it("show the state of who holds them", () => {
    const cells = cellsOf(node, categoriser("state", new Map()));
    expect(cells).toEqual(["running", "running", "running", "running", "free", "stopping", "free", "free"]);
    expect(cellsOf({ ...node, health: "lost", holders: [] }, categoriser("state", new Map()))[0]).toBe("down");
  });

  it("show the team with a colour that does not depend on who runs now", () => {
    const teams = categoryOfTeams(["research", "ops", "research"]);
    const cells = cellsOf(node, categoriser("team", teams));
    expect([cells[0], cells[5], cells[4]]).toEqual([{ category: 1 }, { category: 0 }, "free"]);
  });

  it("give the first colours to teams that work is submitted for", () => {
    const teams = categoryOfTeams(["a", "a/x", "a/y", "b", "default"]);
    expect([...teams].toSorted(([, left], [, right]) => left - right).map(([team]) => team)).toEqual([
      "a/x",
      "a/y",
      "b",
      "a",
      "default",
    ]);
  });

  it("know their holder", () => {
    expect(holderAt(node, 5)?.workloadName).toBe("eval");
    expect(holderAt(node, 6)).toBeNull();
    expect(freeCountOf(node)).toBe(3);
  });

  it("are told in a sentence", () => {
    expect(nodeSentence(node)).toBe("n1, h100, leaf-1: Up, 3 of 8 free, running train, eval.");
    expect(nodeSentence({ ...node, draining: true, holders: [] })).toContain("Draining, 3 of 8 free, idle");
  });

  it("say that a node takes other accelerators over, unless it is lost", () => {
    const changing: Node = { ...node, acceleratorsChanged: true };
    expect([nodeStateText(changing), nodeStateTone(changing)]).toEqual(["Changing accelerators", "wait"]);
    const lost: Node = { ...changing, health: "lost" };
    expect([nodeStateText(lost), nodeStateTone(lost)]).toEqual(["Lost", "bad"]);
    expect([nodeStateText(node), nodeStateTone(node)]).toEqual(["Up", "good"]);
  });
});
