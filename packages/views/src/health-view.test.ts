import { IncidentFold } from "@headroom/health";
import { nodeId, poolName, siteName } from "@headroom/model";
import type { PowerCap } from "@headroom/model";
import { expect, it } from "vitest";
import { healthSummary } from "./health-view.ts";
import { SmallFleet } from "./testing/small-fleet.ts";

it("shows each domain its own cap: of the site, of a switch, and of a label elsewhere", () => {
  const fleet = new SmallFleet();
  const cap = (level: string, watts: number): PowerCap => ({ of: "power", level, watts });
  const sites = [
    { name: siteName("eu"), fabricLevels: ["rack"], caps: [cap("rack", 5_000), cap("site", 9_000)] },
    { name: siteName("us"), fabricLevels: ["rack"], caps: [cap("rack", 6_000)] },
    { name: siteName("in"), fabricLevels: [], caps: [cap("rack", 7_000)] },
  ];
  const pools = sites.map(({ name: site }) => ({
    name: poolName(`${site}-h100`),
    site,
    executor: "simulated",
    acceleratorType: "H100",
    priceMicroUsdPerHour: 0,
    power: { acceleratorWatts: 500, nodeWatts: 200 },
  }));
  fleet.apply({ sites, pools });
  for (const { name: pool, site } of pools)
    for (const index of [0, 1]) {
      const place = site === "in" ? { fabric: [], labels: { rack: "r1" } } : { fabric: ["r1"] };
      const amounts = { acceleratorCount: 1, coresMilli: 1_000, memoryMib: 1_000 };
      fleet.receive({ kind: "nodeSeen", node: { id: nodeId(`${site}-${index}`), pool, ...place, ...amounts } });
    }
  const { domains } = healthSummary(fleet.engine, IncidentFold.after(fleet.engine.state), fleet.nowMs);
  const capOf = (level: string, ...path: readonly string[]): number | undefined =>
    domains.find(({ domain }) => JSON.stringify(domain) === JSON.stringify({ level, path }))?.power?.capWatts;
  expect([capOf("rack", "eu", "r1"), capOf("rack", "us", "r1"), capOf("rack", "r1")]).toEqual([5_000, 6_000, 7_000]);
  expect([capOf("site", "eu"), capOf("site", "us")]).toEqual([9_000, undefined]);
});
