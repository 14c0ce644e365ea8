/** The demo's fleet: 64 nodes of 8 accelerators in two sites, and the teams that share them. */
import { nodeId, poolName, siteName, teamName } from "@headroom/model";
import type { Budget, NodeSpec, Pool, Site, Team } from "@headroom/model";
import type { FleetSpec } from "@headroom/sim";

const frankfurt: Site = { name: siteName("frankfurt"), fabricLevels: ["spine", "leaf"] };
const oslo: Site = { name: siteName("oslo"), fabricLevels: ["leaf"] };

/** Price of an accelerator-hour in micro-dollars, at the level of cloud prices. */
const h100: Pool = {
  name: poolName("h100"),
  site: frankfurt.name,
  executor: "simulated",
  acceleratorType: "H100-SXM",
  priceMicroUsdPerHour: 2_100_000,
};
const h200: Pool = {
  name: poolName("h200"),
  site: oslo.name,
  executor: "simulated",
  acceleratorType: "H200-SXM",
  priceMicroUsdPerHour: 3_050_000,
};

const NODES_PER_LEAF = 8;
const leavesOfFrankfurt = ["1", "2"].flatMap((spine) =>
  ["a", "b", "c"].map((leaf) => ({ pool: h100.name, fabric: [`spine-${spine}`, `leaf-${spine}${leaf}`] })),
);
const leavesOfOslo = ["a", "b"].map((leaf) => ({ pool: h200.name, fabric: [`leaf-${leaf}`] }));

const twoDigits = (value: number): string => String(value).padStart(2, "0");

export const demoFleet: FleetSpec = {
  sites: [frankfurt, oslo],
  pools: [h100, h200],
  nodes: [...leavesOfFrankfurt, ...leavesOfOslo].flatMap(({ pool, fabric }, leaf) =>
    Array.from({ length: NODES_PER_LEAF }, (_, index): NodeSpec => {
      const ordinal =
        leaf * NODES_PER_LEAF + index - (pool === h200.name ? leavesOfFrankfurt.length * NODES_PER_LEAF : 0);
      return {
        id: nodeId(`${pool}-${twoDigits(ordinal + 1)}`),
        pool,
        fabric,
        acceleratorCount: 8,
        coresMilli: 128_000,
        memoryMib: 2_097_152,
      };
    }),
  ),
};

const team = (name: string, limit: Record<string, number> = {}, budget?: Budget): Team => {
  const slash = name.lastIndexOf("/");
  const parent = slash < 0 ? null : teamName(name.slice(0, slash));
  return { name: teamName(name), parent, limit, ...(budget === undefined ? {} : { budget }) };
};

const DOLLAR = 1_000_000;

export const demoTeams: readonly Team[] = [
  team("research", { "H100-SXM": 336 }, { gpuHours: 300_000, period: "month", over: "hold" }),
  team("research/language", {}, { gpuHours: 60_000, period: "month", over: "warn" }),
  team("research/vision", { "H100-SXM": 144 }),
  team("research/safety", { "H100-SXM": 48, "H200-SXM": 32 }),
  team("product", { "H100-SXM": 192, "H200-SXM": 96 }, { microUsd: 500_000 * DOLLAR, period: "month", over: "stop" }),
  team("product/search"),
  team("product/speech", { "H100-SXM": 96 }),
  // A small budget, so that the demo shows a budget that is used up.
  team("platform", { "H100-SXM": 32, "H200-SXM": 16 }, { microUsd: 250 * DOLLAR, period: "month", over: "warn" }),
];
