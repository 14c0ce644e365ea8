import { teamName } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { stragglerFindings, type ComparedGang } from "./straggler-findings.ts";

const HOUR_MS = 3_600_000;
const gang = (ranks: ComparedGang["ranks"]): ComparedGang => ({
  workloadId: "w1",
  name: "llm",
  team: teamName("research"),
  comparedRanks: 64,
  comparedAtMs: HOUR_MS,
  ranks,
});

describe("slow ranks", () => {
  it("of one node are one finding, which advises to prove the node", () => {
    const ranks = [9, 8].map((rank) => ({ rank, nodeId: "n1", slowerPercent: 10 + rank, sinceMs: rank }));
    expect(stragglerFindings([gang(ranks)])).toMatchObject([
      {
        id: "straggler:w1:n1",
        sinceMs: 8,
        reason: "ranks 8, 9 of llm (w1) on n1 are slower than the others",
        change: { kind: "advice", about: "ranks of w1 on node n1", text: "prove the node: headroom nodes qualify n1" },
        ground: [{ valueMilli: 19_000 }, { valueMilli: 2_000 }, { valueMilli: 64_000 }],
      },
    ]);
  });

  it("of a slow part of the step are a finding that names the node, the part and the factor", () => {
    const rank = { rank: 3, nodeId: "n1", slowerPercent: 2, sinceMs: 0, part: { name: "input", slowerPercent: 21 } };
    expect(stragglerFindings([gang([rank])])).toMatchObject([
      {
        reason: "ranks 3 of llm (w1) on n1 are slower than the others in part input, 1.21 times the median of it",
        ground: [{ valueMilli: 2_000 }, { measure: "part input slower than the median", valueMilli: 21_000 }, {}, {}],
      },
    ]);
    expect(stragglerFindings([gang([{ ...rank, part: { name: "input", slowerPercent: 8 } }])])).toEqual([]);
  });

  it("are none if they were named for a moment alone, however long ago, or a little slow", () => {
    const slow = { rank: 1, nodeId: "n1", slowerPercent: 30, sinceMs: 0 };
    const ranks = [
      { ...slow, sinceMs: HOUR_MS - 60_000 },
      { ...slow, slowerPercent: 6 },
    ];
    expect(stragglerFindings([gang(ranks)])).toEqual([]);
  });
});
