import { describe, expect, it } from "vitest";
import { commandId, nodeId, poolName, siteName, teamName, presets } from "@headroom/model";
import type { Input, DataSpec, Policy } from "@headroom/model";
import { createEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { foreseeDefragmentation } from "./defragmentation.ts";

const by = { commandId: commandId("c"), actor: "ann", idempotencyKey: null };
const HOUR_MS = 3_600_000;
const elsewhere = poolName("elsewhere");

/** Nodes of eight accelerators, each with one movable job that runs since time 0. */
function scattered(jobs: readonly number[], policy: Policy, data: readonly (DataSpec | undefined)[] = []): Engine {
  const engine = createEngine();
  const receive = (inputs: readonly Input[], nowMs: number): void => {
    engine.receive(inputs, nowMs);
    engine.advance();
  };
  const pool = {
    name: poolName("p"),
    site: siteName("dc"),
    executor: "simulated",
    acceleratorType: "H100",
    priceMicroUsdPerHour: 0,
  } as const;
  receive(
    [
      {
        ...by,
        kind: "apply",
        sites: [{ name: pool.site, fabricLevels: [] }],
        pools: [
          { ...pool, data: { rules: ["restricted"], holds: ["s3://corpus"] } },
          { ...pool, name: elsewhere },
        ],
        teams: [],
        workloads: [],
      },
      { ...by, kind: "setPolicy", policy },
      ...jobs.map((_, index): Input => ({
        kind: "nodeSeen",
        node: {
          id: nodeId(`n${index}`),
          // The second and later nodes are in a pool that does not meet the constraints of the data.
          pool: data.length > 0 && index > 0 ? elsewhere : pool.name,
          fabric: [],
          acceleratorCount: 8,
          coresMilli: 64_000,
          memoryMib: 65_536,
          labels: { at: String(index) },
        },
      })),
    ],
    0,
  );
  const submissions = jobs.map((accelerators, index): Input => ({
    ...by,
    kind: "submitWorkload",
    spec: {
      kind: "train",
      name: `w${index}`,
      team: teamName("default"),
      run: "true",
      dir: null,
      env: {},
      gang: { workers: 1, accelerators, coresMilli: 0, memoryMib: 0 },
      acceleratorTypes: [],
      priority: 0,
      walltimeMs: null,
      retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
      graceTimeoutMs: 0,
      checkpointDir: null,
      preemptible: data.length === 0 || index === 0,
      ...(data[index] === undefined ? {} : { data: data[index] }),
    },
  }));
  // Jobs are spread, one on each node: every submission goes to the emptiest node.
  receive(submissions, 0);
  receive(
    [...engine.state.attempts.keys()].map((attemptId): Input => ({ kind: "attemptRunning", attemptId })),
    0,
  );
  return engine;
}

const spread: Policy = { ...presets.get("default")!, placement: "spread", phases: ["place"] };
const bounds = { migrationsPerHour: 10, lossPerPairMs: 60_000 };

describe("the dry run of defragmentation", () => {
  it("lists migrations with what they cost and gain, and leaves the engine as it was", () => {
    const engine = scattered([2, 2, 4], { ...spread, phases: ["place"], defragment: bounds });
    engine.receive([{ kind: "tick" }], 60_000);
    engine.advance();
    const before = engine.digest();
    const forecast = foreseeDefragmentation(engine, 10);
    expect(engine.digest()).toBe(before);
    expect(forecast).toMatchObject({
      isActive: false,
      rules: bounds,
      before: [
        {
          acceleratorType: "H100",
          nodesByIdle: [
            { idle: 4, nodes: 1 },
            { idle: 6, nodes: 2 },
          ],
        },
      ],
      after: [
        {
          acceleratorType: "H100",
          nodesByIdle: [
            { idle: 0, nodes: 1 },
            { idle: 8, nodes: 2 },
          ],
        },
      ],
    });
    expect(forecast.migrations).toEqual([
      expect.objectContaining({ accelerators: 2, from: "n0", to: "n2", pairsGathered: 8, lostAcceleratorMs: 120_000 }),
      expect.objectContaining({ accelerators: 2, from: "n1", to: "n2", pairsGathered: 12, lostAcceleratorMs: 120_000 }),
    ]);
    expect(foreseeDefragmentation(engine, 1).migrations).toHaveLength(1);
  });

  it("migrates nothing to where its data may not lie, or away from what it reads", () => {
    const migrationsOf = (of: DataSpec | undefined): number =>
      foreseeDefragmentation(scattered([2, 4], spread, [of, undefined]), 10).migrations.length;
    expect(migrationsOf({})).toBe(1);
    expect(migrationsOf({ rule: "restricted" })).toBe(0);
    expect(migrationsOf({ inputs: ["s3://corpus/v7"] })).toBe(0);
    expect(migrationsOf({ inputs: ["s3://else"] })).toBe(1);
  });

  it("migrates nothing that costs more than it gathers, and uses usual bounds where the policy has none", () => {
    const engine = scattered([2, 2, 4], spread);
    expect(foreseeDefragmentation(engine, 10).migrations).toHaveLength(2);
    engine.receive([{ kind: "tick" }], 24 * HOUR_MS);
    engine.advance();
    expect(foreseeDefragmentation(engine, 10).migrations).toEqual([]);
  });

  it("comes to an end, and never lowers what it raises", () => {
    for (const jobs of [
      [1, 2, 3, 4, 5, 6, 7],
      [4, 4, 4, 4],
      [3, 3, 3],
      [8, 8, 1],
      [5, 5, 5, 2, 2, 2, 1, 1],
    ]) {
      const { migrations, before, after } = foreseeDefragmentation(scattered(jobs, spread), 100);
      const squares = (blocks: typeof before): number =>
        blocks.flatMap(({ nodesByIdle }) => nodesByIdle).reduce((sum, { idle, nodes }) => sum + idle * idle * nodes, 0);
      const gathered = migrations.reduce((sum, { pairsGathered }) => sum + pairsGathered, 0);
      expect(squares(after) - squares(before)).toBe(2 * gathered);
      for (const { pairsGathered } of migrations) expect(pairsGathered).toBeGreaterThan(0);
    }
  });
});
