import { nodeId } from "@headroom/model";
import type { EventOf } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { domainOfKey } from "./domains.ts";
import { IncidentFold } from "./incident-fold.ts";
import { keyOfLeaf, lostAt, PlantedFleet, plantedTrial } from "./planted-incidents.ts";

const summaryOf = (fold: IncidentFold): readonly string[] =>
  fold.incidents().map(({ id, domain, failures }) => {
    const { level, path } = domainOfKey(domain);
    return `${id} ${level} ${path.at(-1) ?? ""}: ${failures.length}`;
  });

const lose = (fleet: PlantedFleet, ids: readonly string[], atMs: number): void =>
  fleet.applyInOrder(ids.map((id) => lostAt(nodeId(id), atMs)));

const range = (first: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, at) => `n${first + at}`);

describe("incidents", () => {
  it("name the lost switch, its blast radius and the work hit, and single nodes apart", () => {
    const fleet = new PlantedFleet(64);
    fleet.place(1, [nodeId("n16"), nodeId("n40")]);
    lose(fleet, ["n50"], 1_000);
    lose(fleet, range(16, 16), 2_000);
    expect(summaryOf(fleet.fold)).toEqual(["i68 node n50: 1", "i69 leaf l1: 16"]);
    const leaf = fleet.fold.find("i72");
    expect(leaf).toMatchObject({ id: "i69", domain: keyOfLeaf(1), extent: { nodes: 16, accelerators: 128 } });
    expect(leaf?.failures.flatMap(({ hits }) => hits)).toMatchObject([
      { workloadId: "w1", workers: 1, accelerators: 8 },
    ]);
  });

  it("are one for the widest domain that explains all failures", () => {
    const fleet = new PlantedFleet(256);
    lose(fleet, range(0, 128), 1_000);
    expect(summaryOf(fleet.fold)).toEqual(["i259 spine s0: 128"]);
  });

  it("are two for two switches at one time, and not the spine above them", () => {
    const fleet = new PlantedFleet(256);
    lose(fleet, [...range(16, 16), ...range(64, 16)], 1_000);
    expect(summaryOf(fleet.fold)).toEqual(["i259 leaf l1: 16", "i275 leaf l4: 16"]);
  });

  it("are one for failures that no domain explains, so that no thousand alerts go out", () => {
    const fleet = new PlantedFleet(1_500);
    lose(
      fleet,
      range(0, 40).map((_, at) => `n${at * 37}`),
      1_000,
    );
    expect(summaryOf(fleet.fold)).toEqual(["i1503 fleet fleet: 40"]);
  });

  it("begin anew after the window, and keep what people recorded when they grow", () => {
    const fleet = new PlantedFleet(64);
    lose(fleet, ["n20"], 1_000);
    fleet.apply({
      kind: "incidentAnnotated",
      version: 1,
      atMs: 1_500,
      incident: "i67",
      annotation: { kind: "acknowledge" },
      actor: "ann",
    });
    lose(fleet, range(16, 4), 2_000);
    lose(fleet, range(21, 11), 3_000);
    lose(fleet, ["n60"], 400_000);
    const incidents = fleet.fold.incidents();
    expect(summaryOf(fleet.fold)).toEqual(["i67 leaf l1: 16", "i84 node n60: 1"]);
    expect(incidents[0]?.failures.flatMap(({ records }) => records)).toMatchObject([{ actor: "ann" }]);
  });

  it("end when all nodes are back, and an executor that is silent is one", () => {
    const fleet = new PlantedFleet(32);
    lose(fleet, range(0, 16), 1_000);
    for (const id of range(0, 16)) fleet.apply({ kind: "nodeReturned", version: 1, atMs: 9_000, nodeId: nodeId(id) });
    fleet.apply({ kind: "executorLost", version: 1, atMs: 10_000, executor: "hpc", detail: "refused" });
    const [executor, leaf] = fleet.fold.incidents();
    expect(leaf?.failures.every(({ backAtMs }) => backAtMs === 9_000)).toBe(true);
    expect([domainOfKey(executor?.domain ?? "").level, executor?.extent.nodes]).toEqual(["executor", 32]);
  });

  const annotate = (
    fleet: PlantedFleet,
    incident: string,
    annotation: EventOf<"incidentAnnotated">["annotation"],
    atMs = 2_000,
  ): void => fleet.apply({ kind: "incidentAnnotated", version: 1, atMs, incident, annotation, actor: "ann" });
  const fault = (fleet: PlantedFleet, id: string, atMs: number): void =>
    fleet.apply({
      kind: "faultsReported",
      version: 1,
      atMs,
      nodeId: nodeId(id),
      faults: [{ code: "xid-79", severity: "critical", detail: "fell off the bus" }],
      actor: "collector",
    });

  it("blame no switch for one node that fails again and again", () => {
    const fleet = new PlantedFleet(64);
    for (let at = 0; at < 16; at++) {
      lose(fleet, ["n20"], 1_000 + at * 60_000);
      fleet.apply({ kind: "nodeReturned", version: 1, atMs: 30_000 + at * 60_000, nodeId: nodeId("n20") });
    }
    expect(summaryOf(fleet.fold)).toEqual(["i67 node n20: 16"]);
  });

  it("stay open when a lost node is resumed", () => {
    const fleet = new PlantedFleet(32);
    lose(fleet, ["n1"], 1_000);
    fleet.apply({ kind: "nodeResumed", version: 1, atMs: 2_000, nodeId: nodeId("n1"), actor: "ann" });
    expect(fleet.fold.incidents()[0]?.failures[0]?.backAtMs).toBeNull();
    fleet.apply({ kind: "nodeReturned", version: 1, atMs: 3_000, nodeId: nodeId("n1") });
    expect(fleet.fold.incidents()[0]?.failures[0]?.backAtMs).toBe(3_000);
  });

  it("are new ones for faults after a resolution, also after a restart", () => {
    const fleet = new PlantedFleet(32);
    fault(fleet, "n1", 1_000);
    const [first] = fleet.fold.incidents();
    annotate(fleet, first?.id ?? "", { kind: "resolve" });
    const again = IncidentFold.restore(fleet.fold.stored());
    fault(fleet, "n1", 90_000_000);
    expect(fleet.fold.incidents().map(({ failures }) => failures.length)).toEqual([1, 1]);
    again.apply(fleet.fold.sequence, {
      kind: "faultsReported",
      version: 1,
      atMs: 90_000_000,
      nodeId: nodeId("n1"),
      faults: [{ code: "xid-79", severity: "critical", detail: "fell off the bus" }],
      actor: "collector",
    });
    expect(again.incidents()).toEqual(fleet.fold.incidents());
  });

  it("keep the acknowledgement and the newest record, however many notes there are", () => {
    const fleet = new PlantedFleet(32);
    lose(fleet, ["n1"], 1_000);
    const id = fleet.fold.incidents()[0]?.id ?? "";
    annotate(fleet, id, { kind: "acknowledge" });
    for (let at = 0; at < 250; at++) annotate(fleet, id, { kind: "note", text: `note ${at}` });
    annotate(fleet, id, { kind: "resolve" });
    const records = fleet.fold.find(id)?.failures[0]?.records ?? [];
    expect(records.length).toBe(200);
    expect([records[0], records.at(-1)].map((each) => each?.annotation.kind)).toEqual(["acknowledge", "resolve"]);
  });

  it("continue from what was stored", () => {
    const fleet = new PlantedFleet(64);
    lose(fleet, range(16, 10), 1_000);
    const again = IncidentFold.restore(fleet.fold.stored());
    for (const [at, id] of range(26, 6).entries()) {
      const { event } = lostAt(nodeId(id), 2_000);
      fleet.apply(event);
      again.apply(77 + at, event);
    }
    expect(again.incidents()).toEqual(fleet.fold.incidents());
    expect(summaryOf(again)).toEqual(["i67 leaf l1: 16"]);
  });

  it("find the planted domain among late and missing reports", () => {
    const trials = Array.from({ length: 12 }, (_, seed) => plantedTrial(seed + 1));
    expect(trials.filter(({ isRight }) => !isRight)).toEqual([]);
  });
});
