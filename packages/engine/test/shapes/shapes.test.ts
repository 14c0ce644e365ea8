/** Cases of reserved topology. */
import { describe, expect, it } from "vitest";
import { attemptId, nodeId, siteName, workloadId } from "@headroom/model";
import type { Input, Team, ReservedTopology } from "@headroom/model";
import { explain } from "@headroom/explain";
import type { Ready } from "../../src/index.ts";
import { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, spec, team } from "../lab/make.ts";
import { shapePolicy } from "./shape-policy.ts";

const aNode = (count: number, more: Partial<ReservedTopology> = {}): ReservedTopology => ({
  within: "node",
  accelerators: 4,
  count,
  ...more,
});

/** Nodes with four accelerators in pairs, and teams with reserved topology, under lazy preemption. */
function opened(nodeCount: number, reservedTopology: Readonly<Record<string, readonly ReservedTopology[]>>): Drive {
  const drive = new Drive();
  const teams = Object.entries(reservedTopology).map(([name, owned]): Team => ({
    ...team(name),
    reservedTopology: owned,
  }));
  const nodes = Array.from({ length: nodeCount }, (_, index) =>
    node(`n${index}`, "G", { fabric: ["r"], acceleratorCount: 4, acceleratorGroups: [2] }),
  );
  drive.receive(
    applied({ sites: [{ name: siteName("dc"), fabricLevels: ["rack"] }], pools: [pool("G")], teams }),
    command({ kind: "setPolicy", policy: shapePolicy(true) }),
    ...nodes.map((each): Input => ({ kind: "nodeSeen", node: each })),
  );
  return drive;
}

interface Asked {
  readonly team: string;
  readonly priority: number;
  readonly workers?: number;
  readonly accelerators?: number;
}

function submit(drive: Drive, { team: name, priority, workers = 1, accelerators = 4 }: Asked): Ready {
  const ready = drive.receive(
    command({ kind: "submitWorkload", spec: spec("work", { team: name, priority, gang: { workers, accelerators } }) }),
  );
  const placed = ready.events.flatMap((event) => (event.kind === "gangPlaced" ? [event.attemptId] : []));
  if (placed.length > 0) drive.receive(...placed.map((attemptId): Input => ({ kind: "attemptRunning", attemptId })));
  return ready;
}

const kinds = ({ events }: Ready): string[] => events.map(({ kind }) => kind);
const placesOf = (drive: Drive, id: string): string[] =>
  [...drive.engine.state.attempts.values()]
    .filter(({ workloadId: owner }) => owner === id)
    .flatMap(({ workers }) => workers.map((worker) => `${worker.node}:${worker.accelerators}`));

describe("a team with shapes", () => {
  it("holds no more than it owns, though more is idle, and is told so", () => {
    const drive = opened(3, { a: [aNode(1)], b: [aNode(1)] });
    submit(drive, { team: "a", priority: 0 });
    submit(drive, { team: "a", priority: 0 });
    expect(placesOf(drive, "w2")).toEqual([]);
    expect(explain(drive.engine, workloadId("w2"))).toMatchObject({
      reasons: [{ kind: "reservedTopology", team: "a", neededCount: 4, ownedCount: 4, heldCount: 4 }],
    });
  });

  it("has a gang of one task group run as opportunistic work, beyond what it owns, until another team asks for its own", () => {
    const drive = opened(2, { a: [aNode(1)], b: [aNode(1)] });
    const shape = { accelerators: 4, coresMilli: 0, memoryMib: 0 };
    const gang = { ...shape, workers: 2, taskGroups: [{ ...shape, name: "all", workers: 2 }] };
    const { events } = drive.receive(
      command({ kind: "submitWorkload", spec: spec("work", { team: "a", priority: 0, gang }) }),
    );
    expect(events.map(({ kind }) => kind)).toEqual(["workloadSubmitted", "gangPlaced"]);
    expect(placesOf(drive, "w1").toSorted()).toEqual(["n0:0-3", "n1:0-3"]);
    drive.receive({ kind: "attemptRunning", attemptId: attemptId("w1.1") });
    expect(kinds(submit(drive, { team: "b", priority: 0 }))).toContain("evictionPlanned");
  });

  it("uses what is idle below the priority from which work is guaranteed, and gives it back", () => {
    const drive = opened(2, { a: [aNode(1)], b: [aNode(1)] });
    submit(drive, { team: "a", priority: -1 });
    submit(drive, { team: "a", priority: -1 });
    expect(kinds(submit(drive, { team: "b", priority: 0 }))).toEqual([
      "workloadSubmitted",
      "evictionPlanned",
      "attemptStopRequested",
      "placementNominated",
    ]);
  });

  it("keeps pairs of accelerators whole for a job of two workers", () => {
    const drive = opened(1, { a: [aNode(1)] });
    submit(drive, { team: "a", priority: 0, accelerators: 1 });
    submit(drive, { team: "a", priority: 0, workers: 2, accelerators: 1 });
    expect(placesOf(drive, "w2")).toEqual(["n0:2", "n0:3"]);
  });

  it("gives its cells to its own work of higher priority; the other runs on where something is idle, also after a restart", () => {
    const drive = opened(2, { a: [aNode(1)], b: [aNode(1)] });
    submit(drive, { team: "a", priority: 0 });
    expect(kinds(submit(drive, { team: "a", priority: 5 }))).toEqual([
      "workloadSubmitted",
      "opportunisticJobRelabelled",
      "gangPlaced",
    ]);
    const digest = drive.engine.digest();
    drive.restart();
    expect(drive.engine.digest()).toBe(digest);
    const ready = submit(drive, { team: "b", priority: 0 });
    expect(ready.events).toContainEqual(
      expect.objectContaining({ kind: "attemptStopRequested", attemptId: "w1.1", reason: "reclaimed" }),
    );
  });

  it("has its pinned nodes to itself, and nobody else's when its own hardware fails", () => {
    const drive = opened(2, { a: [aNode(1)], b: [aNode(1, { nodes: ["n0"] })] });
    drive.receive({ kind: "nodeUnreachable", nodeId: nodeId("n1"), detail: "gone" });
    submit(drive, { team: "a", priority: 0 });
    submit(drive, { team: "b", priority: 0 });
    expect(placesOf(drive, "w1")).toEqual([]);
    expect(placesOf(drive, "w2")).toEqual(["n0:0-3"]);
    const back = node("n1", "G", { fabric: ["r"], acceleratorCount: 4, acceleratorGroups: [2] });
    drive.receive({ kind: "nodeSeen", node: back });
    expect(placesOf(drive, "w1")).toEqual(["n1:0-3"]);
  });
});
