/** Random worlds: fleets of unlike nodes, team trees with limits, workloads of every kind, policies of any combination of knobs. */
import {
  hashText,
  nodeId,
  poolName,
  siteName,
  teamName,
  type NodeSpec,
  type OrderKey,
  type Policy,
  type Pool,
  type Team,
  type WorkloadSpec,
} from "@headroom/engine";
import type { FleetSpec } from "@headroom/sim";
import type { Luck } from "./luck.ts";

export interface World {
  readonly fleet: FleetSpec;
  readonly teams: readonly Team[];
  readonly policy: Policy;
  readonly startupMs: number;
  readonly stopMs: number;
  /** How much of everything happens: quiet worlds find other bugs than stormy ones. */
  readonly actionCount: number;
  readonly gapMaxMs: number;
  readonly failurePercent: number;
  readonly durationMaxMs: number;
}

/**
 * What a thing is called under a salt: with another salt, names sort in another order. They must change nothing but names;
 * `unlabelled` takes the difference out of a text again. The empty salt leaves names as they are.
 */
export function label(name: string, salt: string): string {
  return salt === "" ? name : `${hashText(salt + name).slice(0, 6)}.${name}`;
}

export function unlabelled(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{6}\.(?=(?:site|pool|node|leaf|team|w|step)-)/g, "")
    .replaceAll(/"fingerprint":"[0-9a-f]+"/g, '"fingerprint":""');
}

export function randomWorld(luck: Luck, salt: string): World {
  return {
    fleet: randomFleet(luck, salt),
    teams: randomTeams(luck, salt),
    policy: randomPolicy(luck),
    startupMs: luck.pick([0, 0, 1, 700]),
    stopMs: luck.pick([0, 1, 500, 5000]),
    actionCount: luck.between(10, 70),
    gapMaxMs: luck.pick([0, 50, 1000, 10_000]),
    failurePercent: luck.pick([0, 5, 30]),
    durationMaxMs: luck.pick([20, 3000, 60_000]),
  };
}

export const acceleratorTypes = ["A100", "H100"] as const;

function randomFleet(luck: Luck, salt: string): FleetSpec {
  const site = { name: siteName(label("site-0", salt)), fabricLevels: ["leaf"] };
  const pools: Pool[] = [];
  const nodes: NodeSpec[] = [];
  for (const acceleratorType of [...acceleratorTypes, ""]) {
    if (luck.chance(acceleratorType === "" ? 60 : 25)) continue;
    const pool = poolName(label(`pool-${acceleratorType}`, salt));
    pools.push({ name: pool, site: site.name, executor: "simulated", acceleratorType, priceMicroUsdPerHour: 0 });
    const count = luck.between(1, 6);
    for (let index = 0; index < count; index++) {
      nodes.push({
        id: nodeId(label(`node-${acceleratorType}-${index}`, salt)),
        pool,
        fabric: [label(`leaf-${index % 2}`, salt)],
        ...randomAmounts(luck, acceleratorType),
      });
    }
  }
  return { sites: [site], pools, nodes };
}

export function randomAmounts(
  luck: Luck,
  acceleratorType: string,
): Pick<NodeSpec, "acceleratorCount" | "coresMilli" | "memoryMib"> {
  return {
    acceleratorCount: acceleratorType === "" ? 0 : luck.pick([1, 2, 4, 8, 8, 8, 40]),
    coresMilli: luck.pick([4000, 16_000, 64_000]),
    memoryMib: luck.pick([1024, 65_536]),
  };
}

function randomTeams(luck: Luck, salt: string): Team[] {
  const count = luck.between(1, 5);
  const teams: Team[] = [];
  for (let index = 0; index < count; index++) {
    const parent = index === 0 || luck.chance(40) ? null : luck.pick(teams).name;
    teams.push({ name: teamName(label(`team-${index}`, salt)), parent, limit: randomLimit(luck) });
  }
  return teams;
}

export function randomLimit(luck: Luck): Record<string, number> {
  return Object.fromEntries(acceleratorTypes.filter(() => luck.chance(40)).map((type) => [type, luck.between(0, 16)]));
}

export function randomPolicy(luck: Luck): Policy {
  const keys: OrderKey[] = ["submitted", "priority", "walltime"];
  const order = keys.filter(() => luck.chance(60));
  return {
    name: "random",
    order: luck.chance(50) ? order.toReversed() : order,
    whenHeadBlocked: luck.pick(["stop", "skip"]),
    placement: luck.pick(["pack", "spread"]),
    exceedsFleet: luck.pick(["hold", "reject"]),
  };
}

export function randomSpec(luck: Luck, world: World, name: string): WorkloadSpec {
  const accelerators = luck.pick([0, 1, 1, 1, 2, 3, 4, 8, 30]);
  const common = {
    name,
    team: luck.pick(world.teams).name,
    run: "true",
    dir: null,
    env: {},
    gang: {
      workers: luck.pick([1, 1, 1, 2, 3, 5]),
      accelerators,
      coresMilli: luck.pick([0, 500, 4000]),
      memoryMib: luck.pick([0, 100, 5000]),
    },
    acceleratorTypes: luck.chance(60) ? [] : [...acceleratorTypes].filter(() => luck.chance(60)),
    priority: luck.between(-1, 2),
    walltimeMs: luck.chance(50) ? null : luck.between(1, world.durationMaxMs),
    retries: { max: luck.below(3), backoffMs: luck.pick([0, 1, 400]), backoffMaxMs: luck.pick([400, 500]) },
    graceTimeoutMs: luck.pick([0, 10, 2000]),
    checkpointDir: null,
  };
  return luck.chance(70) ? { ...common, kind: "train" } : { ...common, kind: "batch", taskCount: luck.between(1, 6) };
}
