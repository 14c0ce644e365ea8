import { whatIf } from "@headroom/sim";
import { siteName } from "@headroom/model";
import { whatIfQuestion } from "@headroom/protocol";
import { expect, it } from "vitest";
import { ownNames } from "./testing/own-names.ts";
import { SmallFleet } from "./testing/small-fleet.ts";
import { whatIfChange } from "./tried-change.ts";

const catalogue = { ...ownNames, powerOfType: () => 700 };
const changeOf = (fleet: SmallFleet, caps: readonly object[]) =>
  whatIfChange(fleet.engine, whatIfQuestion.parse({ caps }), catalogue);
const rack = { of: "power", level: "rack", watts: 2_000 } as const;

it("takes the place of the cap on the same domain, and gives pools the draw of the catalogue", () => {
  const fleet = SmallFleet.withRacks("r1", "r2");
  fleet.apply({ sites: [{ name: siteName("here"), fabricLevels: [], caps: [rack] }] });
  const change = changeOf(fleet, [
    { ...rack, watts: 1_000 },
    { ...rack, domain: "r2", watts: 3_000 },
  ]);
  expect(change.added?.sites[0]?.caps).toEqual([
    { ...rack, watts: 1_000 },
    { ...rack, domain: "r2", watts: 3_000 },
  ]);
  expect(change.added?.pools[0]).toMatchObject({ name: "H100", power: { acceleratorWatts: 700 } });
  expect(() => changeOf(fleet, [{ ...rack, domain: "r9" }])).toThrow("No node is in rack r9.");
});

it("delays work in the forecast that has no watts left", () => {
  const fleet = SmallFleet.withRacks("r1");
  fleet.submit("runs", { gang: { accelerators: 2 }, walltimeMs: 3_600_000 });
  fleet.submit("waits", { gang: { accelerators: 4 }, walltimeMs: 3_600_000 });
  const options = { nowMs: fleet.nowMs, horizonMs: 4 * 3_600_000, stepMs: 600_000, arrivals: "none" } as const;
  const { present, changed } = whatIf(fleet.engine, changeOf(fleet, [{ ...rack, domain: "r1" }]), options);
  expect([present, changed].map(({ samples }) => samples.at(-1)?.waitingWorkloads)).toEqual([0, 1]);
});
