/** Verdicts of gangs that the fleet could hold, but not within one executor. */
import { checkInvariants } from "@headroom/engine-oracle";
import { describe, expect, it } from "vitest";
import { attemptId, poolName, workloadId } from "@headroom/model";
import type { GangSpec, WorkloadSpec } from "@headroom/model";
import { Drive, applied, command, node, pool, site, spec, team } from "@headroom/engine/testing";
import { explain } from "../src/reasons/explain.ts";

/** Two pools of equal nodes, each with its own executor. */
function scene(nodesOfEach: number): Drive {
  const drive = new Drive();
  const pools = ["east", "west"].map((name) => ({ ...pool("H100"), name: poolName(name), executor: name }));
  drive.receive(applied({ sites: [site], pools, teams: [team("default")] }));
  for (const { name } of pools)
    for (let index = 0; index < nodesOfEach; index++)
      drive.receive({
        kind: "nodeSeen",
        node: { ...node(`${name}-${index}`, "H100", { labels: { index: `${index}` } }), pool: name },
      });
  return drive;
}

function submit(
  drive: Drive,
  name: string,
  gang: Partial<GangSpec>,
  more: Pick<WorkloadSpec, "nodeSelector"> = {},
): void {
  drive.receive(command({ kind: "submitWorkload", spec: spec(name, { gang, ...more }) }));
  expect(checkInvariants(drive.engine)).toEqual([]);
}

function reasonsOf(drive: Drive, id: string): unknown {
  const verdict = explain(drive.engine, workloadId(id));
  return verdict.kind === "blocked" ? verdict.reasons : verdict.kind;
}

const whole = { accelerators: 8 };
const twoGroups = {
  workers: 2,
  ...whole,
  taskGroups: [
    { name: "learners", workers: 1, accelerators: 8, coresMilli: 0, memoryMib: 0 },
    { name: "actors", workers: 1, accelerators: 8, coresMilli: 0, memoryMib: 0 },
  ],
};

describe("a gang lies within one executor", () => {
  it("which is too small even if it were empty", () => {
    const drive = scene(1);
    submit(drive, "gang", { workers: 2, ...whole });
    expect(reasonsOf(drive, "w1")).toMatchObject([
      { kind: "exceedsFleet", workers: 2, placeableWorkers: 1, lack: { of: "executor" } },
    ]);
    submit(drive, "groups", twoGroups);
    expect(reasonsOf(drive, "w2")).toMatchObject([{ kind: "exceedsFleet", lack: { of: "executor" } }]);
  });

  it("and no executor has enough free now", () => {
    const drive = scene(2);
    for (const name of ["first", "second"]) submit(drive, name, whole, { nodeSelector: { index: "0" } });
    expect(drive.engine.state.attempts.size).toBe(2);
    submit(drive, "gang", { workers: 2, ...whole });
    submit(drive, "groups", twoGroups);
    const shortfall = { kind: "workerShortfall", workers: 2, binding: "executor", neededPerWorker: 8, freeCount: 16 };
    expect(reasonsOf(drive, "w3")).toMatchObject([{ ...shortfall, placeableWorkers: 1 }]);
    expect(reasonsOf(drive, "w4")).toMatchObject([shortfall]);
    drive.receive({
      kind: "attemptExited",
      attemptId: attemptId("w1.1"),
      exits: [{ kind: "exited", worker: 0, code: 0 }],
    });
    expect(reasonsOf(drive, "w3")).toBe("notWaiting");
  });
});
