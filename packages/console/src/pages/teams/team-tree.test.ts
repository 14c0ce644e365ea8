import type { Team } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { teamRows, typeUses } from "./team-tree.ts";

const team = (name: string, parent: string | null = null): Team => ({ name, parent, limit: {}, held: {} });

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

  it("sets what is held beside the limits", () => {
    expect(typeUses({ ...team("t"), limit: { H100: 8 }, held: { H100: 3, H200: 2, B200: 0 } })).toEqual([
      { type: "H100", heldCount: 3, limitCount: 8 },
      { type: "H200", heldCount: 2, limitCount: null },
    ]);
  });
});
