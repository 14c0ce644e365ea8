/** Effects about gangs that grow and shrink, and the reports that the engine accepts for them. */
import { describe, expect, it } from "vitest";
import { attemptId, presets } from "@headroom/model";
import type { Effect, Policy } from "@headroom/model";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "./lab/make.ts";

const elastic = attemptId("w1.1");

/**
 * An elastic gang in a local pool that has grown to all four accelerators and runs; another team reclaims two of them.
 */
function scene(checkpointOnRequest: boolean): { readonly drive: Drive; readonly asked: readonly Effect[] } {
  const drive = new Drive();
  drive.receive(
    command({ kind: "setPolicy", policy: presets.get("default") as Policy }),
    applied({
      sites: [site],
      pools: [{ ...pool("H100"), executor: "local" }],
      teams: [team("guests"), { ...team("owners"), guarantee: { accelerators: 2 } }],
    }),
    { kind: "nodeSeen", node: node("n1", "H100", { acceleratorCount: 4 }) },
  );
  const gang = { workers: 4, minWorkers: 1, accelerators: 1 };
  const saves = checkpointOnRequest ? ({ checkpointOnRequest } as const) : {};
  const guest = spec("elastic", { team: "guests", preemptible: true, gang, ...saves });
  drive.receive(command({ kind: "submitWorkload", spec: guest }));
  drive.receive({ kind: "attemptRunning", attemptId: elastic });
  const owner = spec("entitlement", { team: "owners", gang: { workers: 2, accelerators: 1 } });
  return { drive, asked: drive.receive(command({ kind: "submitWorkload", spec: owner })).effects };
}

describe("an elastic gang on a local pool", () => {
  it("gives single workers back, after a checkpoint where it writes one on request", () => {
    const common = { kind: "shrinkGang", executor: "local", attemptId: elastic, workers: 2 };
    const [withCheckpoint] = scene(true).asked;
    expect(withCheckpoint).toMatchObject({ ...common, checkpointTimeoutMs: 120_000 });
    const [without] = scene(false).asked;
    expect(without).toMatchObject(common);
    expect(without).not.toHaveProperty("checkpointTimeoutMs");
  });

  it("has all of its workers named again after a restart, with what a launch of all of them would say", () => {
    const { drive } = scene(false);
    drive.restart();
    const grown = drive.engine.outstandingEffects().find(({ kind }) => kind === "growGang");
    expect(grown).toMatchObject({ firstRank: 0, workers: [{}, {}], launch: { attemptId: elastic, workers: [{}, {}] } });
  });

  it("takes no answer to an earlier request for that to the last one", () => {
    const { drive } = scene(false);
    expect(drive.receive({ kind: "workersLeft", attemptId: elastic, workers: 3 }).events).toEqual([]);
    const { events } = drive.receive({ kind: "workersLeft", attemptId: elastic, workers: 2 });
    expect(events.map(({ kind }) => kind)).toEqual(["workersLeft", "gangPlaced"]);
  });
});
