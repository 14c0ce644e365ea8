/** Network bandwidth of a node as a resource that workers reserve. */
import { checkInvariants } from "@headroom/engine-oracle";
import { describe, expect, it } from "vitest";
import { smallestChanges, explain } from "@headroom/explain";
import { workloadId } from "@headroom/model";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "./lab/make.ts";

const fleet = (networkGbps: number) => ({ sites: [site], pools: [{ ...pool("H100"), networkGbps }] });

function scene(...teams: readonly ReturnType<typeof team>[]): Drive {
  const drive = new Drive();
  drive.receive(applied({ ...fleet(400), teams: [team("default"), ...teams] }));
  drive.receive({ kind: "nodeSeen", node: node("n1", "H100") });
  return drive;
}

function submit(drive: Drive, name: string, networkGbps: number, teamOf = "default"): void {
  drive.receive(command({ kind: "submitWorkload", spec: spec(name, { team: teamOf, gang: { networkGbps } }) }));
  expect(checkInvariants(drive.engine)).toEqual([]);
}

const reasonOf = (drive: Drive, id: string) => {
  const verdict = explain(drive.engine, workloadId(id));
  return verdict.kind === "blocked" ? verdict.reasons[0] : verdict.kind;
};

describe("network bandwidth", () => {
  it("is reserved by the workers of a node, and missing from the next one's verdict", () => {
    const drive = scene();
    submit(drive, "one", 250);
    submit(drive, "two", 200);
    expect(drive.engine.state.attempts.size).toBe(1);
    expect(reasonOf(drive, "w2")).toMatchObject({
      kind: "workerShortfall",
      binding: "networkGbps",
      neededPerWorker: 200,
    });
    submit(drive, "three", 150);
    expect(drive.engine.state.attempts.size).toBe(2);
  });

  it("is more than any node has", () => {
    const drive = scene();
    submit(drive, "wide", 800);
    const lack = { of: "networkGbps", perWorker: 800, perNodeMax: 400 };
    expect(reasonOf(drive, "w1")).toMatchObject({ kind: "exceedsFleet", lack });
    drive.receive(applied(fleet(800)));
    expect(drive.engine.state.attempts.size).toBe(1);
  });

  it("is lowered by a counterfactual, by no more than is needed", () => {
    const drive = scene();
    submit(drive, "one", 250);
    submit(drive, "two", 200);
    expect(smallestChanges(drive.engine, workloadId("w2")).map(({ change }) => change)).toContainEqual({
      kind: "lessNetwork",
      fromGbps: 200,
      toGbps: 150,
    });
  });

  it("is limited by the quotas of teams", () => {
    const drive = scene(team("small", null, { networkGbps: 100 }));
    submit(drive, "first", 80, "small");
    submit(drive, "second", 40, "small");
    const limit = { kind: "teamLimit", resource: "networkGbps", limitCount: 100, usedCount: 80, neededCount: 40 };
    expect(reasonOf(drive, "w2")).toMatchObject(limit);
  });

  it("may be stated as less than is reserved: what runs stays, and nothing more is reserved", () => {
    const drive = scene();
    submit(drive, "one", 250);
    drive.receive(applied(fleet(100)));
    submit(drive, "two", 50);
    expect(drive.engine.state.attempts.size).toBe(1);
    drive.restart();
    expect(reasonOf(drive, "w2")).toMatchObject({ binding: "networkGbps" });
  });
});
