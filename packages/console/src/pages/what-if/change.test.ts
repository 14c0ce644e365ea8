import type { Node, Team } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import {
  addedPools,
  addedSites,
  domainsOf,
  fieldNumber,
  isChange,
  noChange,
  nodeChanges,
  teamChanges,
  triedCaps,
} from "./change.ts";

const node = (id: string, pool: string, health: Node["health"] = "up"): Node =>
  ({ id, pool, health }) as unknown as Node;
const nodes = [node("b2", "b"), node("a1", "a"), node("b1", "b"), node("b3", "b", "lost")];
const team: Team = {
  name: "research",
  parent: null,
  limit: { H100: 64 },
  guarantee: { H100: 16 },
  weight: 2,
  held: { H100: 8 },
  entitlement: { H100: 24 },
  heldInAll: { accelerators: 8, coresMilli: 0, memoryMib: 0 },
};

describe("what would be otherwise", () => {
  it("adds nodes like one that is up, and takes the last ones away", () => {
    const change = { ...noChange, nodes: { a: 3, b: -1 } };
    expect(nodeChanges(change, nodes)).toEqual({ addNodes: [{ like: "a1", count: 3 }], loseNodes: ["b2"] });
    expect(nodeChanges({ ...noChange, nodes: { b: -9 } }, nodes).loseNodes).toEqual(["b1", "b2"]);
    expect(nodeChanges({ ...noChange, nodes: { gone: 2 } }, nodes).addNodes).toEqual([]);
  });

  it("loses a domain of the fabric with everything below it", () => {
    const placed = (id: string, fabric: string[], rack = id): Node =>
      ({ id, pool: "a", health: "up", site: "s", fabric, labels: { rack } }) as unknown as Node;
    const there = [
      placed("n1", ["spine-1", "leaf-1"]),
      placed("n2", ["spine-1", "leaf-2"]),
      placed("n3", ["spine-2", "leaf-3"]),
    ];
    expect(domainsOf(there)).toContain("s / spine-1 / leaf-2");
    expect(nodeChanges({ ...noChange, lost: "s / spine-1" }, there).loseNodes).toEqual(["n1", "n2"]);
    expect(isChange({ ...noChange, lost: "s / spine-1 / leaf-2" })).toBe(true);
    const racked = [placed("n1", ["spine-1"], "r1"), placed("n2", ["spine-2"], "r1"), placed("n3", ["spine-2"])];
    expect(domainsOf(racked)).toEqual(["s", "s / spine-1", "s / spine-2", "rack = r1"]);
    expect(nodeChanges({ ...noChange, lost: "rack = r1" }, racked).loseNodes).toEqual(["n1", "n2"]);
  });

  it("caps the power of a domain once it has both, in the words of the API", () => {
    const sites = [{ name: "dc", fabricLevels: ["spine", "leaf"] }];
    const caps = (domain: string, kilowatts = 30) => triedCaps({ ...noChange, cap: { domain, kilowatts } }, sites);
    expect(caps("rack = r7")).toEqual([{ of: "power", level: "rack", domain: "r7", watts: 30_000 }]);
    expect(caps("dc / s1 / l2")).toEqual([{ of: "power", level: "leaf", domain: "s1/l2", watts: 30_000 }]);
    expect(caps("dc")).toEqual([{ of: "power", level: "site", domain: "dc", watts: 30_000 }]);
    expect([caps(""), caps("dc", 0), triedCaps(noChange, sites)]).toEqual([[], [], []]);
    expect(isChange({ ...noChange, cap: { domain: "dc", kilowatts: 30 } })).toBe(true);
    expect(isChange({ ...noChange, cap: { domain: "dc", kilowatts: 0 } })).toBe(false);
  });

  it("adds a pool under a free name once it is filled in", () => {
    const pool = { site: "s", acceleratorType: " B200 ", nodes: 2, acceleratorsPerNode: 8 };
    expect(addedPools({ ...noChange, pool }, ["b200"])).toEqual([{ ...pool, acceleratorType: "B200", name: "b200-2" }]);
    expect(isChange({ ...noChange, pool })).toBe(true);
    const open = { ...noChange, pool: { ...pool, nodes: 0 } };
    expect([addedPools(open, []), isChange(open)]).toEqual([[], false]);
  });

  it("adds a new site with its fabric for a pool, once the site has a name", () => {
    const site = { name: " lyon ", levels: "spine, leaf," };
    const pool = { site, acceleratorType: "B200", nodes: 2, acceleratorsPerNode: 8 };
    const change = { ...noChange, pool };
    expect(addedSites(change)).toEqual([{ name: "lyon", fabricLevels: ["spine", "leaf"] }]);
    expect(addedPools(change, [])).toEqual([{ ...pool, site: "lyon", name: "b200" }]);
    expect(addedSites({ ...noChange, pool: { ...pool, site: "s" } })).toEqual([]);
    const open = { ...noChange, pool: { ...pool, site: { name: " ", levels: "" } } };
    expect([addedSites(open), addedPools(open, []), isChange(open)]).toEqual([[], [], false]);
  });

  it("gives a team other figures and leaves the rest as it is", () => {
    const change = { ...noChange, teams: { research: { weight: 3, guarantee: { H100: 32 }, limit: { H100: null } } } };
    expect(teamChanges(change, [team])).toEqual([
      { name: "research", parent: null, limit: {}, guarantee: { H100: 32 }, weight: 3 },
    ]);
    expect(teamChanges(noChange, [team])).toEqual([]);
  });

  it("knows whether anything would be otherwise", () => {
    expect(isChange({ ...noChange, nodes: { a: 0 } })).toBe(false);
    expect(isChange({ ...noChange, policy: "fifo" })).toBe(true);
    expect(["", " 12 ", "-3", "x", "1.5"].map(fieldNumber)).toEqual([null, 12, -3, undefined, undefined]);
  });
});
