/** Caps on power and cooling: the checks find a cap that is not counted, and fleets without caps count nothing. */
import { explain } from "@headroom/explain";
import { couldEverFit, worldOf } from "@headroom/engine/internals";
import { workloadId } from "@headroom/model";
import type { PowerCap } from "@headroom/model";
import { expect, it } from "vitest";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec } from "./lab/make.ts";

const caps: readonly PowerCap[] = [{ of: "power", level: "rack", watts: 3_000 }];
const power = { acceleratorWatts: 500, nodeWatts: 200 };

function scene(capped = caps): Drive {
  const drive = new Drive();
  drive.receive(applied({ sites: [{ ...site, caps: capped }], pools: [{ ...pool("H100"), power }] }));
  for (const id of ["n1", "n2"])
    drive.receive({ kind: "nodeSeen", node: node(id, "H100", { labels: { rack: "r1" } }) });
  return drive;
}

const submit = (name: string, gang: Parameters<typeof spec>[1]) =>
  command({ kind: "submitWorkload", spec: spec(name, gang) });

it("is found by the checks if placement does not count it", () => {
  const drive = scene();
  worldOf(drive.engine).capacity.power = null;
  expect(() => drive.receive(submit("all", { gang: { accelerators: 8 } }))).toThrow(
    "rack r1 draws 4400 W with new work, its cap on power is 3000 W",
  );
});

it("counts nothing while no site has caps", () => {
  const drive = scene();
  drive.receive(applied({ sites: [site], pools: [] }));
  expect(worldOf(drive.engine).capacity.power).toBeNull();
});

it("never holds what the cap of a site with unlike pools cannot draw", () => {
  const drive = new Drive();
  const capped: readonly PowerCap[] = [{ of: "power", level: "site", watts: 5_000 }];
  drive.receive(applied({ sites: [{ ...site, caps: capped }], pools: [{ ...pool("H100"), power }, pool("A100")] }));
  for (const id of ["n1", "n2"]) drive.receive({ kind: "nodeSeen", node: node(id, "H100") });
  drive.receive({ kind: "nodeSeen", node: node("n3", "A100") });
  const gang = { workers: 2, accelerators: 8 };
  drive.receive(submit("two", { gang, acceleratorTypes: ["H100"] }));
  const world = worldOf(drive.engine);
  expect(world.queue.waitingClasses().map((bucket) => couldEverFit(world, bucket))).toEqual([false]);
});

it("names the domain, its draw and the need", () => {
  const drive = scene();
  drive.receive(submit("five", { gang: { accelerators: 5 } }), submit("one", { gang: { accelerators: 1 } }));
  const verdict = explain(drive.engine, workloadId("w2"));
  expect(verdict.kind === "blocked" ? verdict.reasons[0] : verdict).toEqual({
    kind: "powerCap",
    of: "power",
    domain: "rack r1",
    capWatts: 3_000,
    usedWatts: 2_900,
    neededWatts: 500,
    workers: 1,
    placeableWorkers: 0,
  });
  drive.restart();
  drive.receive({ kind: "tick" });
  expect(drive.engine.state.attempts.size).toBe(1);
});
