import { createEngine } from "@headroom/engine";
import { nodeId, poolName, siteName } from "@headroom/model";
import { whatIfQuestion } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { nodesOfDomains } from "./failure-domains.ts";
import { ownNames } from "./testing/own-names.ts";
import { SmallFleet } from "./testing/small-fleet.ts";
import { whatIfChange } from "./tried-change.ts";

/**
 * A fleet of two sites with two spines each; a spine has two leaves of one node. Racks and power feeds span several of
 * them.
 */
function fabric(): SmallFleet {
  const fleet = new SmallFleet(createEngine());
  const sites = ["paris", "lyon"].map((name) => ({ name: siteName(name), fabricLevels: ["spine", "leaf"] }));
  const pools = sites.map((site) => ({
    name: poolName(`${site.name}-h100`),
    site: site.name,
    executor: "simulated",
    acceleratorType: "H100",
    priceMicroUsdPerHour: 0,
  }));
  fleet.apply({ sites, pools });
  for (const { name, site } of pools)
    for (let index = 0; index < 4; index++)
      fleet.receive({
        kind: "nodeSeen",
        node: {
          id: nodeId(`${site}-${index}`),
          pool: name,
          fabric: [`spine-${index < 2 ? 1 : 2}`, `leaf-${index}`],
          acceleratorCount: 8,
          coresMilli: 1000,
          memoryMib: 1000,
          labels: { rack: `${site}-r${index % 2}`, power: index === 0 ? "feed-a" : "feed-b" },
        },
      });
  return fleet;
}

const lost = (fleet: SmallFleet, name: string, level?: string): readonly string[] =>
  nodesOfDomains(fleet.engine.state, [{ name, level }]);

describe("failure domains", () => {
  it("are switches, racks, power feeds, pools and sites of the recorded topology", () => {
    const fleet = fabric();
    expect(lost(fleet, "paris")).toEqual(["paris-0", "paris-1", "paris-2", "paris-3"]);
    expect(lost(fleet, "lyon-h100")).toHaveLength(4);
    expect(lost(fleet, "paris/spine-2")).toEqual(["paris-2", "paris-3"]);
    expect(lost(fleet, "lyon/spine-1/leaf-1", "leaf")).toEqual(["lyon-1"]);
    expect(lost(fleet, "paris-r1")).toEqual(["paris-1", "paris-3"]);
    expect(lost(fleet, "feed-a", "power")).toEqual(["paris-0", "lyon-0"]);
    expect(lost(fleet, "paris-2")).toEqual(["paris-2"]);
    expect(nodesOfDomains(fleet.engine.state, [{ name: "paris" }, { name: "feed-a" }])).toHaveLength(5);
  });

  it("are refused with the nearest name, the levels, or the candidates", () => {
    const fleet = fabric();
    expect(() => lost(fleet, "pariss")).toThrow(
      "There is no node, site, pool, switch or label value pariss; did you mean paris?",
    );
    expect(() => lost(fleet, "paris", "rak")).toThrow("no level rak of failure domains; did you mean rack?");
    expect(() => lost(fleet, "nowhere", "power")).toThrow("There is no power nowhere; there are feed-a, feed-b");
    expect(() => lost(fleet, "spine-1")).toThrow(
      "spine-1 names 2 failure domains: spine=paris/spine-1, spine=lyon/spine-1. Choose one of them.",
    );
  });
});

describe("a fleet that is added", () => {
  const ask = (fleet: SmallFleet, question: object) =>
    whatIfChange(fleet.engine, whatIfQuestion.parse(question), ownNames);
  const b200 = { name: "b200", acceleratorType: "B200", nodes: 3, acceleratorsPerNode: 8 };

  it("has new nodes in new domains, under the executor of its neighbours", () => {
    const { added } = ask(fabric(), { addPools: [{ ...b200, site: "lyon", nodesPerDomain: 2 }] });
    expect(added?.pools).toMatchObject([
      { name: "b200", site: "lyon", executor: "simulated", acceleratorType: "B200" },
    ]);
    expect(added?.nodes.map(({ id, fabric: path }) => [id, ...path])).toEqual([
      ["b200-1", "b200", "b200-1"],
      ["b200-2", "b200", "b200-1"],
      ["b200-3", "b200", "b200-2"],
    ]);
  });

  it("may lie at a site that is added too", () => {
    const change = ask(fabric(), { addSites: [{ name: "nice" }], addPools: [{ ...b200, site: "nice" }] });
    expect(change.added?.sites).toEqual([{ name: "nice", fabricLevels: [] }]);
    expect(change.added?.nodes[0]).toMatchObject({ pool: "b200", fabric: [] });
  });

  it("is refused at a site that is not there, without a site among several, and under a name in use", () => {
    expect(() => ask(fabric(), { addPools: [{ ...b200, site: "lion" }] })).toThrow("did you mean lyon?");
    expect(() => ask(fabric(), { addPools: [b200] })).toThrow(
      "State the site of pool b200. The sites are: paris, lyon.",
    );
    expect(() => ask(fabric(), { addPools: [{ ...b200, site: "lyon", name: "lyon-h100" }] })).toThrow(
      "Pool lyon-h100 already exists",
    );
  });
});
