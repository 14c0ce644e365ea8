/**
 * An undone counterfactual round leaves no trace: indexes, state and later decisions are those of an engine that did
 * not run it.
 */
import { describe, expect, it } from "vitest";
import { sliceOf } from "../../../../tools/testing/rotating.ts";
import { forkEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import type { Event, Input, WorkloadId } from "@headroom/model";
import { takeInOnly, tryFor, tryInputs, worldOf, Findings } from "@headroom/engine/internals";
import type { DemandMix } from "@headroom/engine/internals";
import { checkIndexes } from "@headroom/engine-oracle";
import { command } from "@headroom/engine/testing";
import { pendingCase } from "./pending-cases.ts";

const { seeds, least } = sliceOf({ size: 600 });

const exitsOf = ({ state }: Engine, count: number): readonly Input[] =>
  [...state.attempts.values()].slice(0, count).map(({ id, workers }) => ({
    kind: "attemptExited",
    attemptId: id,
    exits: workers.map((_, worker) => ({ kind: "exited", worker, code: 0 })),
  }));

function indexFindings(engine: Engine, nowMs: number): readonly string[] {
  const findings = new Findings();
  checkIndexes(findings, worldOf(engine), nowMs);
  return findings.list;
}

/** The comparable content of a state, in its order, without its clock. */
const contentOf = (engine: Engine): unknown => {
  const { sequence, submittedCount, endedCount, demand, runTimes, nominations, attempts, workloads } =
    worldOf(engine).state;
  const told = (entities: ReadonlyMap<string, object>): unknown =>
    [...entities].map(([id, entity]) => [id, { ...entity }]);
  return [
    [
      sequence,
      submittedCount,
      endedCount,
      (demand as DemandMix | null)?.stored() ?? null,
      [...runTimes],
      [...nominations],
    ],
    told(attempts),
    told(workloads),
  ];
};

/** Inputs that replace the waiting workload by the same submission. */
function inPlaceOf({ state }: Engine, id: WorkloadId): readonly Input[] {
  const workload = state.workloads.get(id);
  if (workload === undefined) throw new Error(`no workload ${id}`);
  const { after: _after, ...spec } = workload.spec;
  return [command({ kind: "stopWorkload", workloadId: id }), command({ kind: "submitWorkload", spec })];
}

describe("a round that was tried", () => {
  it("is taken back whole", () => {
    const kinds = new Set<Event["kind"]>();
    let count = 0;
    for (const seed of seeds) {
      const found = pendingCase(seed);
      if (found === null) continue;
      const { engine, workloadId, nowMs } = found;
      const exits = exitsOf(engine, 1 + (seed % 3));
      const [simulated, other] = [forkEngine(engine), forkEngine(engine)];
      takeInOnly(other, exits, nowMs);
      const { taken, batch, undo } = tryFor(seed % 2 === 0 ? workloadId : null, simulated, exits, nowMs);
      if (!undo()) continue;
      count++;
      for (const { kind } of batch.events.slice(taken.length)) kinds.add(kind);
      // A fork does not contain ended work, so this finding is expected on both sides.
      expect(indexFindings(simulated, nowMs), `seed ${seed}`).toEqual(indexFindings(other, nowMs));
      expect(simulated.digest(), `seed ${seed}`).toBe(other.digest());
      expect([...worldOf(simulated).state.nominations.keys()]).toEqual([...worldOf(other).state.nominations.keys()]);
      expect(tryInputs(simulated, [], nowMs).events, `seed ${seed}`).toEqual(tryInputs(other, [], nowMs).events);
    }
    expect(count).toBeGreaterThan(seeds.length / 2);
    if (least(1) < 0) return;
    for (const kind of ["gangPlaced", "placementNominated", "attemptStopRequested", "evictionPlanned"] as const)
      expect(kinds).toContain(kind);
  });

  it("is taken back with the ends and the submission that came before it", () => {
    const kinds = new Set<Event["kind"]>();
    let count = 0;
    for (const seed of seeds) {
      const found = pendingCase(seed);
      if (found === null) continue;
      const { engine, workloadId, nowMs } = found;
      const ends = exitsOf(engine, 1 + (seed % 3));
      const isSubmitted = seed % 2 === 0;
      const inputs = isSubmitted ? [...ends, ...inPlaceOf(engine, workloadId)] : ends;
      const [simulated, other] = [forkEngine(engine), forkEngine(engine)];
      const first = tryFor(isSubmitted ? null : workloadId, simulated, inputs, nowMs);
      if (!first.undo()) continue;
      // Runs are undone one after another, the newest first.
      const second = tryFor(null, simulated, exitsOf(simulated, 1), nowMs);
      if (!second.undo() || !second.undoInputs() || !first.undoInputs()) continue;
      count++;
      for (const { kind } of first.taken) kinds.add(kind);
      expect(indexFindings(simulated, nowMs), `seed ${seed}`).toEqual(indexFindings(other, nowMs));
      expect(contentOf(simulated), `seed ${seed}`).toEqual(contentOf(other));
      expect(tryInputs(simulated, inputs, nowMs).events, `seed ${seed}`).toEqual(
        tryInputs(other, inputs, nowMs).events,
      );
    }
    expect(count).toBeGreaterThan(seeds.length / 4);
    if (least(1) < 0) return;
    for (const kind of ["attemptEnded", "workloadEnded", "workloadSubmitted"] as const) expect(kinds).toContain(kind);
  });
});
