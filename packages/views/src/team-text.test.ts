import { presets } from "@headroom/model";
import type { Policy } from "@headroom/model";
import { describe, expect, it } from "vitest";
import type { Team } from "@headroom/protocol";
import { amountText, resourceUses } from "./team-text.ts";
import { teamList } from "./team-view.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

describe("what a team holds", () => {
  it("is set beside guarantee and limit for every resource that anybody named", () => {
    const fleet = SmallFleet.withNodes(2, 8);
    fleet.command({ kind: "setPolicy", policy: presets.get("default") as Policy });
    fleet.define({
      name: "research",
      parent: null,
      limit: { H100: 12, memory: 98_304 },
      guarantee: { accelerators: 8, cores: 8_000 },
      weight: 2,
    });
    fleet.submit("a", { team: "research", gang: { workers: 2, accelerators: 2, coresMilli: 1_500, memoryMib: 1_024 } });
    fleet.submit("wants", { gang: { workers: 2, accelerators: 8 } });
    fleet.submit("b", { team: "research", gang: { accelerators: 1, shareMilli: 250 } });
    const [other, team] = teamList(fleet.engine, {}).items;
    if (team === undefined) throw new Error("no team");
    expect(team).toMatchObject({ name: "research", weight: 2, held: { H100: 4.25 } });
    const texts = resourceUses(team).map(({ resource, held, entitlement, guarantee, limit }) =>
      [held, entitlement, guarantee, limit]
        .map((each) => (each === null ? "–" : amountText(resource, each)))
        .join(" / "),
    );
    expect(texts).toEqual([
      "4.25 / 8 / – / 12",
      "4.25 / 8 / 8 / –",
      "3 cores / 8 cores / 8 cores / –",
      "2 GiB / 96 GiB / – / 96 GiB",
    ]);
    // The team holds nothing and requests everything, so its share is all that research does not request.
    expect(resourceUses(other as Team)).toEqual([
      { resource: "accelerators", held: 0, entitlement: 11.75, guarantee: null, limit: null, userLimit: null },
    ]);
  });

  it("is set beside what one user may hold, also where the team states nothing else of the resource", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.define({
      name: "lab",
      parent: null,
      limit: { accelerators: 6 },
      userLimit: { accelerators: 2, cores: 4_000 },
    });
    const lab = teamList(fleet.engine, {}).items.find(({ name }) => name === "lab") as Team;
    expect(resourceUses(lab).map(({ resource, limit, userLimit }) => [resource, limit, userLimit])).toEqual([
      ["accelerators", 6, 2],
      ["cores", null, 4_000],
    ]);
  });

  it("claims no more of a type than it may have of all accelerators, by its own limit or one above", () => {
    const fleet = SmallFleet.withNodes(1, 8);
    fleet.command({ kind: "setPolicy", policy: presets.get("default") as Policy });
    fleet.define({ name: "org", parent: null, limit: { accelerators: 3 } });
    fleet.define({ name: "lab", parent: "org", limit: {}, guarantee: { H100: 99_999 } });
    fleet.define({ name: "own", parent: null, limit: { accelerators: 2 }, guarantee: { H100: 99_999 } });
    const entitlements = teamList(fleet.engine, {}).items.map(({ name, entitlement }) => [name, entitlement?.["H100"]]);
    expect(entitlements).toContainEqual(["lab", 3]);
    expect(entitlements).toContainEqual(["own", 2]);
  });
});
