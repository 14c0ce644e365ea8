/** Fractions of an accelerator that are requested by memory: the node's memory determines the share. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { smallestChanges, explain } from "@headroom/explain";
import { workloadId } from "@headroom/model";
import type { Pool, Team } from "@headroom/model";
import type { Engine } from "../src/index.ts";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "./lab/make.ts";

const GIB = 1024;

const poolWith = (type: string, gib: number | null): Pool => ({
  ...pool(type),
  ...(gib === null ? {} : { acceleratorMemoryMib: gib * GIB }),
});

/** An engine with one node for each of these pools, with one accelerator or more. */
function fleet(pools: readonly Pool[], teams: readonly Team[] = [], acceleratorCount = 1): Drive {
  const drive = new Drive();
  drive.receive(applied({ sites: [site], pools, teams: [team("default"), ...teams] }));
  for (const { acceleratorType } of pools)
    drive.receive({ kind: "nodeSeen", node: node(`n-${acceleratorType}`, acceleratorType, { acceleratorCount }) });
  return drive;
}

const submit = (drive: Drive, name: string, gib: number, more: Parameters<typeof spec>[1] = {}) =>
  drive.receive(
    command({
      kind: "submitWorkload",
      spec: spec(name, { ...more, gang: { acceleratorMemoryMib: gib * GIB, ...more.gang } }),
    }),
  );

const reasonOf = (drive: Drive, id: string) => {
  const verdict = explain(drive.engine, workloadId(id));
  return verdict.kind === "blocked" ? verdict.reasons[0] : verdict.kind;
};

const workersOf = ({ state }: Engine) => [...state.attempts.values()].flatMap(({ workers }) => workers);

describe("accelerator memory", () => {
  it("takes the share that the node's accelerator makes of it, beside others", () => {
    const drive = fleet([poolWith("H100", 80)]);
    for (const name of ["a", "b", "c", "d"]) submit(drive, name, 20);
    expect(workersOf(drive.engine)).toEqual(
      Array.from({ length: 4 }, () => ({ node: "n-H100", accelerators: "0", shareMilli: 250 })),
    );
    submit(drive, "e", 20);
    expect(reasonOf(drive, "w5")).toMatchObject({
      kind: "workerShortfall",
      binding: "accelerators",
      neededPerWorker: 0.25,
      placeableWorkers: 0,
    });
  });

  it("is what no node has whose pool does not state it, until it does", () => {
    const drive = fleet([poolWith("H100", null)]);
    submit(drive, "a", 20);
    const lack = { of: "acceleratorMemory", perWorker: 20 * GIB, perNodeMax: 0 };
    expect(reasonOf(drive, "w1")).toMatchObject({ kind: "exceedsFleet", lack });
    drive.receive(applied({ sites: [site], pools: [poolWith("H100", 16)] }));
    expect(reasonOf(drive, "w1")).toMatchObject({ lack: { ...lack, perNodeMax: 16 * GIB } });
    drive.receive(applied({ sites: [site], pools: [poolWith("H100", 40)] }));
    expect(workersOf(drive.engine)).toMatchObject([{ shareMilli: 500 }]);
  });

  it("counts in quotas by the node, and before that as on the smallest accelerator that holds it", () => {
    const pools = [poolWith("A100", 40), poolWith("H100", 80)];
    const drive = fleet(pools, [team("small", null, { accelerators: 0.5 })]);
    submit(drive, "on-large", 20, { team: "small", acceleratorTypes: ["H100"] });
    expect(workersOf(drive.engine)).toMatchObject([{ node: "n-H100", shareMilli: 250 }]);
    submit(drive, "on-small", 20, { team: "small", acceleratorTypes: ["A100"] });
    expect(reasonOf(drive, "w2")).toMatchObject({
      kind: "teamLimit",
      resource: "accelerators",
      limitCount: 0.5,
      usedCount: 0.25,
      neededCount: 0.5,
    });
    submit(drive, "large-again", 20, { team: "small", acceleratorTypes: ["H100"] });
    expect(workersOf(drive.engine)).toHaveLength(2);
    drive.restart();
    expect(reasonOf(drive, "w2")).toMatchObject({ usedCount: 0.5 });
  });

  it("starts by the smallest change that is named", () => {
    const drive = fleet([poolWith("H100", 80)], [team("small", null, { accelerators: 0.25 })]);
    submit(drive, "a", 20, { team: "small" });
    submit(drive, "b", 20, { team: "small" });
    expect(smallestChanges(drive.engine, workloadId("w2"))).toContainEqual(
      expect.objectContaining({
        change: { kind: "largerLimit", team: "small", resource: "accelerators", from: 0.25, to: 0.5 },
      }),
    );
  });

  it("stays as it was recorded when the pool states another memory", () => {
    const drive = fleet([poolWith("H100", 80)]);
    submit(drive, "a", 20);
    drive.receive(applied({ sites: [site], pools: [poolWith("H100", 40)] }));
    submit(drive, "b", 20);
    submit(drive, "c", 20);
    expect(workersOf(drive.engine).map(({ shareMilli }) => shareMilli)).toEqual([250, 500]);
    drive.restart();
    expect(reasonOf(drive, "w3")).toMatchObject({ kind: "workerShortfall", neededPerWorker: 0.5 });
  });

  it("is of one accelerator in every group of a gang", () => {
    const drive = fleet([poolWith("H100", 80)]);
    const base = { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0 };
    const taskGroups = [
      { ...base, name: "prefill", acceleratorMemoryMib: 60 * GIB },
      { ...base, name: "decode", acceleratorMemoryMib: 20 * GIB },
    ];
    const gang = { ...base, workers: 2, taskGroups };
    drive.receive(command({ kind: "submitWorkload", spec: spec("groups", { gang }) }));
    expect(workersOf(drive.engine).map(({ shareMilli }) => shareMilli)).toEqual([750, 250]);
  });

  it("never comes to more memory than an accelerator has", () => {
    const asks = fc.array(fc.record({ mib: fc.integer({ min: 1, max: 100_000 }), gone: fc.nat({ max: 20 }) }), {
      minLength: 1,
      maxLength: 25,
    });
    fc.assert(
      fc.property(fc.integer({ min: 1_000, max: 90_000 }), asks, (memory, steps) => {
        const drive = fleet([{ ...pool("H100"), acceleratorMemoryMib: memory }], [], 3);
        for (const { mib, gone } of steps) {
          const gang = { acceleratorMemoryMib: mib };
          drive.receive(command({ kind: "submitWorkload", spec: spec("any", { gang }) }));
          const attempts = [...drive.engine.state.attempts.values()];
          const ended = gone < 5 ? attempts[gone] : undefined;
          if (ended !== undefined)
            drive.receive({
              kind: "attemptExited",
              attemptId: ended.id,
              exits: [{ kind: "exited", worker: 0, code: 0 }],
            });
          const held = new Map<string, number>();
          for (const { workers, workloadId: id } of drive.engine.state.attempts.values())
            for (const { accelerators } of workers) {
              const asked = drive.engine.state.workloads.get(id)?.spec.gang.acceleratorMemoryMib ?? 0;
              held.set(accelerators, (held.get(accelerators) ?? 0) + asked);
            }
          expect(Math.max(0, ...held.values())).toBeLessThanOrEqual(memory);
        }
      }),
      { numRuns: 60 },
    );
  });
});
