import { defaultPolicy } from "@headroom/engine";
import { expect, it } from "vitest";
import { startingChangesView } from "./outlook-view.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

const kinds = (fleet: SmallFleet, id: string): string[] =>
  (startingChangesView(fleet.engine, id)?.items ?? []).map(({ change }) => change.kind);

it("does not say that tasks of an array would pass others of the same array by a higher priority", () => {
  const fleet = SmallFleet.withNodes(1, 4);
  fleet.command({ kind: "setPolicy", policy: defaultPolicy });
  const sweep = fleet.submit("sweep", { gang: { accelerators: 1 }, taskCount: 6, preemptible: true });
  const single = fleet.submit("single", { gang: { accelerators: 1 } });
  expect(kinds(fleet, sweep)).toContain("moreNodes");
  expect(kinds(fleet, sweep)).not.toContain("higherPriority");
  expect(kinds(fleet, single)).toContain("higherPriority");
});
