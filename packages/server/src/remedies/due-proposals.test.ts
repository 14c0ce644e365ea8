import { describe, expect, it } from "vitest";
import type { ReadonlyState } from "@headroom/engine";
import type { Finding } from "@headroom/health";
import type { Proposal, ProposedChange } from "@headroom/model";
import { dueOf } from "./due-proposals.ts";

const advice = (index: number): ProposedChange => ({
  kind: "advice",
  about: `checkpoints of w${index}`,
  text: "set checkpoint.every to 30m",
});
const drain = (node: string): ProposedChange => ({ kind: "drain", nodeId: node as never, running: "wait" });
const request = (index: number): ProposedChange => ({
  kind: "request",
  workloadId: `w${index}` as never,
  walltimeMs: 60_000,
});

const findingOf = (change: ProposedChange): Finding => ({
  id: JSON.stringify(change),
  kind: "fault",
  sinceMs: 0,
  change,
  team: null,
  reason: "",
  ground: [],
});

/** A state in which the service has made these proposals; `phase` of all of them. */
function stateWith(changes: readonly ProposedChange[], phase: Proposal["phase"] = "simulated"): ReadonlyState {
  const proposals = changes.map((change, index) => {
    const id = `p${index}`;
    return [id, { id, change, team: null, phase, actor: "headroom", agent: "health", steps: [] }] as const;
  });
  return { proposals: new Map(proposals) } as unknown as ReadonlyState;
}

const many = (count: number, changeOf: (index: number) => ProposedChange): ProposedChange[] =>
  Array.from({ length: count }, (_, index) => changeOf(index));

describe("findings become proposals", () => {
  it("of faulty nodes first, however much advice is open or found", () => {
    const advised = many(30, advice);
    const findings = [...advised, drain("n1")].map(findingOf);
    for (const open of [0, 8, 20, 30]) {
      const { fresh } = dueOf(stateWith(advised.slice(0, open)), findings, []);
      expect(fresh[0]?.change).toEqual(drain("n1"));
      // Advice has the rest of the four of one look, within its own bound.
      expect(fresh).toHaveLength(open === 0 ? 4 : 1);
    }
  });

  it("for the readers of the team alone, although an earlier one was for all", () => {
    const finding = { ...findingOf(advice(1)), team: "research" as never };
    expect(dueOf(stateWith([advice(1)]), [finding], [])).toMatchObject({ over: ["p0"], fresh: [finding] });
    expect(dueOf(stateWith([advice(1)], "rejected"), [finding], []).fresh).toEqual([finding]);
  });

  it("of sizes before advice, and of neither beyond its bound", () => {
    const findings = [...many(30, advice), ...many(30, request)].map(findingOf);
    const kindsWith = (open: readonly ProposedChange[]): readonly string[] =>
      dueOf(stateWith(open), findings, []).fresh.map(({ change }) => change.kind);
    expect(kindsWith([])).toEqual(["request", "request", "request", "request"]);
    expect(kindsWith(many(6, request))).toEqual(["request", "request", "advice", "advice"]);
    expect(kindsWith([...many(8, request), ...many(8, advice)])).toEqual([]);
  });

  it("that are simulated in the same order", () => {
    const open = [...many(8, advice), drain("n1")];
    const { unsimulated } = dueOf(stateWith(open, "advised"), open.map(findingOf), []);
    expect(unsimulated).toEqual(["p8", "p0", "p1", "p2"]);
  });
});
