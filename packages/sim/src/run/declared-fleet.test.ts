import { poolName, siteName, teamName } from "@headroom/model";
import type { Pool, Team } from "@headroom/model";
import { describe, expect, it } from "vitest";
import type { TraceJob } from "../trace/trace.ts";
import { declaredFleet, spreadOverNodes, teamsByAccount } from "./declared-fleet.ts";

const site = { name: siteName("dc"), fabricLevels: ["spine", "leaf"] };
const pool = (name: string, changes: Partial<Pool> = {}): Pool => ({
  name: poolName(name),
  site: site.name,
  executor: "simulated",
  acceleratorType: "H100",
  priceMicroUsdPerHour: 0,
  ...changes,
});
const like = (name: string, nodeCount: number, acceleratorCount: number) => ({
  pool: name,
  nodeCount,
  acceleratorCount,
  coresMilli: 64_000,
  memoryMib: 1_024,
});

describe("a declared fleet", () => {
  it("has nodes by pool, in the domains that their labels name, else in the pool's own", () => {
    const { nodes } = declaredFleet({
      sites: [site],
      pools: [
        pool("a", { labels: { spine: "s1", zone: "z" }, nodeLabels: { "a-2": { leaf: "l2" } } }),
        pool("live"),
        pool("b"),
      ],
      nodes: [like("b", 1, 4), like("a", 2, 8)],
    });
    expect(nodes.map(({ id, fabric, acceleratorCount, labels }) => [id, fabric, acceleratorCount, labels])).toEqual([
      ["a-1", ["s1", "a"], 8, { spine: "s1", zone: "z" }],
      ["a-2", ["s1", "l2"], 8, { spine: "s1", zone: "z", leaf: "l2" }],
      ["b-1", ["b", "b"], 4, undefined],
    ]);
  });

  it("has work that is larger than any node run as the fewest like workers", () => {
    const fleet = declaredFleet({ sites: [site], pools: [pool("a")], nodes: [like("a", 9, 8)] });
    const job = (accelerators: number): TraceJob => ({
      id: "j",
      submittedAtMs: 0,
      durationMs: 1,
      accelerators,
      coresMilli: 0,
      memoryMib: 0,
      acceleratorTypes: [],
    });
    const { jobs } = spreadOverNodes({ jobs: [0, 1, 8, 12, 16, 11, 64].map(job), fleet: null }, fleet);
    expect(jobs.map(({ workers }) => workers)).toEqual([undefined, undefined, undefined, 2, 2, 11, 8]);
  });

  it("knows teams by path, and by a last name that only one has", () => {
    const teams = ["research", "research/nlp", "product/nlp", "product/vision"].map((name): Team => ({
      name: teamName(name),
      parent: null,
      limit: {},
    }));
    const meant = teamsByAccount(teams);
    const named = (account: string): string | null => meant(account)?.name ?? null;
    expect(["research", "product/nlp", "vision", "nlp", "other"].map(named)).toEqual([
      "research",
      "product/nlp",
      "product/vision",
      null,
      null,
    ]);
  });
});
