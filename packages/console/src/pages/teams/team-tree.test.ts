import type { Team } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { teamRows } from "./team-tree.ts";

const team = (name: string, parent: string | null = null): Team => ({
  name,
  parent,
  limit: {},
  held: {},
  heldInAll: { accelerators: 0, coresMilli: 0, memoryMib: 0 },
});

describe("the tree of teams", () => {
  it("puts children below their parents, whatever the order and the names", () => {
    const rows = teamRows([
      team("research/nlp", "research"),
      team("ops"),
      team("vision", "research"),
      team("research"),
    ]);
    expect(rows.map(({ label, depth }) => [label, depth])).toEqual([
      ["ops", 0],
      ["research", 0],
      ["nlp", 1],
      ["vision", 1],
    ]);
  });

  it("shows a team whose parent is not there", () => {
    expect(teamRows([team("a/b", "a")]).map(({ label, depth }) => [label, depth])).toEqual([["a/b", 0]]);
  });
});
