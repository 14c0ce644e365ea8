/**
 * The amount by which a team's limit or guarantee must grow, with waiting work of the team ahead and preemptible work
 * beside it.
 */
import { describe, expect, it } from "vitest";
import { presets, workloadId } from "@headroom/model";
import type { Policy, Team } from "@headroom/model";
import { Drive, applied, command, node, pool, site, spec, team } from "@headroom/engine/testing";
import { smallestChanges } from "../../src/index.ts";
import type { Change } from "../../src/index.ts";

const byDefault = presets.get("default") as Policy;
const withinGuarantees: Policy = {
  ...byDefault,
  teams: { order: [], usageHalfLifeMs: null, ...byDefault.teams, nonPreemptible: "guarantee" },
};
const borrowing: Policy = {
  ...byDefault,
  name: "borrowing",
  strategy: "kueue-fair-sharing",
};

type Work = Parameters<typeof spec>[1];
const accelerators = (count: number): Work => ({ gang: { workers: 1, accelerators: count, coresMilli: 0 } });

/** One node with eight accelerators; work of team `t` is named `w1`, `w2`, … in order. */
function fleet(changes: Partial<Team>, work: readonly Work[], policy = byDefault): Drive {
  const drive = new Drive();
  drive.receive(
    command({ kind: "setPolicy", policy }),
    applied({ sites: [site], pools: [pool("H100")], teams: [{ ...team("t"), ...changes }, team("other")] }),
    { kind: "nodeSeen", node: node("n0", "H100", { acceleratorCount: 8, coresMilli: 8000 }) },
    ...work.map((each, index) =>
      command({ kind: "submitWorkload", spec: spec(`each-${index}`, { team: "t", ...each }) }),
    ),
  );
  return drive;
}

const changesFor = ({ engine }: Drive, id: string): readonly Change[] =>
  smallestChanges(engine, workloadId(id)).map(({ change }) => change);

const changeOf = (drive: Drive, id: string, kind: Change["kind"]): Change | undefined =>
  changesFor(drive, id).find((change) => change.kind === kind);

const waitingLine = [accelerators(2), accelerators(1), accelerators(2), accelerators(3)];

describe("a larger amount of a team", () => {
  it("is a limit for all who are ahead as well", () => {
    const drive = fleet({ limit: { H100: 2 } }, waitingLine);
    const limit = { kind: "largerLimit", team: "t", resource: "H100", from: 2 };
    expect(changeOf(drive, "w2", "largerLimit")).toEqual({ ...limit, to: 3 });
    expect(changeOf(drive, "w3", "largerLimit")).toEqual({ ...limit, to: 5 });
    expect(changeOf(drive, "w4", "largerLimit")).toEqual({ ...limit, to: 8 });
  });

  it("is a limit for a user for all of that user's who are ahead", () => {
    const drive = fleet({ userLimit: { H100: 2 } }, waitingLine);
    const limit = { kind: "largerLimit", team: "t", user: "ann", resource: "H100", from: 2 };
    expect(changeOf(drive, "w4", "largerLimit")).toEqual({ ...limit, to: 8 });
  });

  it("is a guarantee for all who are ahead, where teams borrow", () => {
    const drive = fleet({ guarantee: { H100: 2 } }, waitingLine, borrowing);
    const guarantee = { kind: "largerGuarantee", team: "t", resource: "H100", from: 2 };
    expect(changeOf(drive, "w4", "largerGuarantee")).toEqual({ ...guarantee, to: 8 });
  });

  it("is a guarantee of the type that others state, where teams borrow and it states none", () => {
    const drive = fleet({}, [accelerators(1)], borrowing);
    expect(changeOf(drive, "w1", "largerGuarantee")).toBeUndefined();
    const beside = fleet({ guarantee: { H100: 1 } }, [{ ...accelerators(1), team: "other" }], borrowing);
    expect(changeOf(beside, "w1", "largerGuarantee")).toEqual({
      kind: "largerGuarantee",
      team: "other",
      resource: "H100",
      from: null,
      to: 1,
    });
  });

  it("is a guarantee of the type, of work that may not be preempted, where the team names other types alone", () => {
    const byType = { kind: "largerGuarantee", team: "t", resource: "H100", from: null, to: 2 };
    const fixed = [{ ...accelerators(2), preemptible: false }];
    const alone = fleet({ guarantee: { A100: 8 } }, fixed, withinGuarantees);
    expect(changesFor(alone, "w1").filter(({ kind }) => kind === "largerGuarantee")).toEqual([byType]);
    const beside = fleet({ guarantee: { A100: 8, accelerators: 1 } }, fixed, withinGuarantees);
    const ofAny = { ...byType, resource: "accelerators", from: 1 };
    expect(changesFor(beside, "w1").filter(({ kind }) => kind === "largerGuarantee")).toEqual([ofAny]);
    const ofCores = fleet({ guarantee: { cores: 8000 } }, fixed, withinGuarantees);
    expect(changesFor(ofCores, "w1")).toEqual([]);
  });

  it("is a guarantee up to its own size, of work that must leave what other teams are guaranteed", () => {
    const fixed = { ...accelerators(2), preemptible: false };
    const drive = fleet({ guarantee: { accelerators: 1 } }, []);
    drive.receive(applied({ teams: [{ ...team("other"), guarantee: { accelerators: 7 } }] }));
    drive.receive(command({ kind: "submitWorkload", spec: spec("each", { team: "t", ...fixed }) }));
    const guarantee = { kind: "largerGuarantee", team: "t", resource: "accelerators", from: 1, to: 2 };
    expect(changeOf(drive, "w1", "largerGuarantee")).toEqual(guarantee);
    expect(changeOf(drive, "w1", "preemptible")).toEqual({ kind: "preemptible" });
    expect(changeOf(drive, "w1", "moreNodes")).toMatchObject({ count: 1, acceleratorType: "H100" });
  });

  it("leaves the other changes as they are, where a user's work could leave", () => {
    const held = { ...accelerators(1), preemptible: true, priority: 50 };
    const drive = fleet({ guarantee: { H100: 4 }, userLimit: { H100: 2, cores: 3000 } }, [held, accelerators(2)]);
    expect(changesFor(drive, "w2").map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["largerLimit", "fewerAccelerators", "higherPriority", "afterEnds"]),
    );
  });
});
