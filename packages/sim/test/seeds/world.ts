/**
 * Random worlds: fleets of different nodes, team trees with limits and guarantees, workloads of every kind. Policies:
 * `policies.ts`.
 */
import { gangOfGroups, hashText, nodeId, poolName, siteName, teamName } from "@headroom/model";
import type { NodeSpec, FabricSpec, TaskGroup, GangSpec, Policy, Pool, Team, WorkloadSpec } from "@headroom/model";
import type { FleetSpec } from "@headroom/sim";
import { withFeeds } from "./domains.ts";
import type { Luck } from "./luck.ts";
import { randomBudget } from "./plans.ts";
import { randomPolicy } from "./policies.ts";

export interface World {
  readonly fleet: FleetSpec;
  readonly teams: readonly Team[];
  readonly policy: Policy;
  /** False: no tie is broken by name, so renaming must change nothing. */
  readonly heedsNames: boolean;
  readonly startupMs: number;
  readonly stopMs: number;
  /** Rate of actions. Worlds with few actions find other bugs than worlds with many. */
  readonly actionCount: number;
  readonly gapMaxMs: number;
  readonly failurePercent: number;
  readonly durationMaxMs: number;
  /** Whether sites and pools have data rules and inputs, and work reads them. */
  readonly hasData: boolean;
  /** Whether some work has anti-affinity. */
  readonly antiAffinityCheck: boolean;
  /** Whether some gangs have task groups. */
  readonly hasGroups: boolean;
  /** Whether some work requests MIG slices. */
  readonly hasParts: boolean;
  /** Whether windows, reservations and tariffs come and go. */
  readonly hasCalendar: boolean;
  /** Whether some teams have budgets. */
  readonly hasBudgets: boolean;
  /** Whether nodes sometimes get notices. */
  readonly hasNotices: boolean;
  /** Whether failure domains are lost and return as a whole. */
  readonly losesDomains: boolean;
}

/**
 * A name with a salt added. With another salt, names sort differently, and nothing else may change. `unlabelled`
 * removes the salt from a text; the empty salt leaves names unchanged.
 */
export function label(name: string, salt: string): string {
  return salt === "" ? name : `${hashText(salt + name).slice(0, 6)}.${name}`;
}

export function unlabelled(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{6}\.(?=(?:site|pool|node|spine|leaf|team|w|renamed|step|order)-)/g, "")
    .replaceAll(/"fingerprint":"[0-9a-f]+"/g, '"fingerprint":""');
}

export function randomWorld(luck: Luck, salt: string): World {
  const heedsNames = luck.chance(60);
  const hasParts = luck.aside("parts").chance(25);
  const hasBudgets = luck.aside("budgets").chance(25);
  const fleet = luck.aside("data").chance(25)
    ? randomPlaces(luck.aside("places of data"), randomFleet(luck, salt))
    : randomFleet(luck, salt);
  const losesDomains = luck.aside("domains").chance(30);
  const shaped = hasParts ? divided(fleet) : fleet;
  return {
    heedsNames,
    fleet: withHotSpares(luck.aside("spares"), losesDomains ? withFeeds(luck.aside("feeds"), shaped) : shaped),
    teams: randomTeams(luck, salt, hasBudgets),
    policy: randomPolicy(luck, heedsNames),
    startupMs: luck.pick([0, 0, 1, 700]),
    stopMs: luck.pick([0, 1, 500, 5000]),
    actionCount: luck.between(10, 70),
    gapMaxMs: luck.pick([0, 50, 1000, 10_000]),
    failurePercent: luck.pick([0, 5, 30]),
    durationMaxMs: luck.pick([20, 3000, 60_000]),
    hasData: luck.aside("data").chance(25),
    antiAffinityCheck: luck.aside("apart").chance(20),
    hasGroups: luck.aside("groups").chance(25),
    hasParts,
    hasCalendar: luck.aside("calendar").chance(25),
    hasBudgets,
    hasNotices: luck.aside("notices").chance(20),
    losesDomains,
  };
}

export const acceleratorTypes = ["A100", "H100"] as const;

function randomFleet(luck: Luck, salt: string): FleetSpec {
  const site = { name: siteName(label("site-0", salt)), fabricLevels: ["spine", "leaf"] };
  const pools: Pool[] = [];
  const nodes: NodeSpec[] = [];
  for (const acceleratorType of [...acceleratorTypes, ""]) {
    if (luck.chance(acceleratorType === "" ? 60 : 25)) continue;
    const pool = poolName(label(`pool-${acceleratorType}`, salt));
    pools.push({
      name: pool,
      site: site.name,
      executor: "simulated",
      acceleratorType,
      priceMicroUsdPerHour: 2_000_000,
    });
    const count = luck.between(1, 6);
    for (let index = 0; index < count; index++) {
      nodes.push({
        id: nodeId(label(`node-${acceleratorType}-${index}`, salt)),
        pool,
        fabric: [label(`spine-${index % 2}`, salt), label(`leaf-${index % 4}`, salt)],
        labels: { zone: luck.pick(["a", "a", "b"]) },
        ...(luck.chance(15) ? { workersMax: luck.between(1, 3) } : {}),
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

function randomTeams(luck: Luck, salt: string, hasBudgets: boolean): Team[] {
  const count = luck.between(1, 5);
  const teams: Team[] = [];
  for (let index = 0; index < count; index++) {
    const parent = index === 0 || luck.chance(40) ? null : luck.pick(teams).name;
    const name = teamName(label(`team-${index}`, salt));
    teams.push({ name, parent, limit: randomLimit(luck), ...randomTeamShare(luck, hasBudgets) });
  }
  return teams;
}

/** Random settings of a team, other than its limit. */
export function randomTeamShare(luck: Luck, hasBudgets: boolean): Partial<Team> {
  const users = luck.aside(`users ${luck.drawn}`);
  return {
    ...(luck.chance(60)
      ? { guarantee: luck.chance(50) ? randomLimit(luck) : { accelerators: luck.between(0, 12) } }
      : {}),
    ...(users.chance(20) ? { userLimit: { accelerators: users.between(1, 9) } } : {}),
    ...(luck.chance(30) ? { weight: luck.pick([0, 0.5, 2]) } : {}),
    ...randomShapes(luck.aside(`shapes ${luck.drawn}`)),
    ...randomBudget(luck.aside(`budget ${luck.drawn}`), hasBudgets),
    ...(luck.chance(20) ? { priority: luck.below(3) } : {}),
    ...(luck.chance(20) ? { lendingLimit: { accelerators: luck.below(6) } } : {}),
    ...(luck.chance(20) ? { borrowingLimit: { accelerators: luck.below(6) } } : {}),
  };
}

/** A team's reserved topology. It counts only under policies that support reserved topology. */
function randomShapes(luck: Luck): Pick<Team, "reservedTopology"> {
  if (!luck.chance(30)) return {};
  const count = luck.between(1, 2);
  return {
    reservedTopology: Array.from({ length: count }, () => ({
      within: luck.pick(["spine", "leaf", "node", "node", "group"]),
      accelerators: luck.pick([1, 2, 4, 8, 8, 16]),
      count: luck.between(1, 2),
    })),
  };
}

export function randomLimit(luck: Luck): Record<string, number> {
  return Object.fromEntries(acceleratorTypes.filter(() => luck.chance(40)).map((type) => [type, luck.between(0, 16)]));
}

export function randomSpec(luck: Luck, world: World, name: string): WorkloadSpec {
  const common = {
    name,
    team: luck.pick(world.teams).name,
    run: "true",
    dir: null,
    env: {},
    gang: withCurve(randomGang(luck), luck.aside(`throughput of ${unlabelled(name)}`)),
    acceleratorTypes: luck.chance(60) ? [] : [...acceleratorTypes].filter(() => luck.chance(60)),
    priority: luck.between(-1, 2),
    walltimeMs: luck.chance(40) ? null : luck.between(1, world.durationMaxMs),
    retries: { max: luck.below(3), backoffMs: luck.pick([0, 1, 400]), backoffMaxMs: luck.pick([400, 500]) },
    graceTimeoutMs: luck.pick([0, 10, 2000]),
    checkpointDir: null,
    ...randomConstraints(luck, world),
    ...(luck.aside(`losses of ${unlabelled(name)}`).chance(80) ? { onNodeLoss: "replace" as const } : {}),
    ...(luck.aside(`checkpoints of ${unlabelled(name)}`).chance(40) ? { checkpointOnRequest: true as const } : {}),
  };
  const spec: WorkloadSpec = luck.chance(70)
    ? { ...common, kind: "train" }
    : { ...common, kind: "batch", taskCount: luck.between(1, 6) };
  return asEndpoint(spec, luck.aside(`endpoint ${unlabelled(name)}`));
}

/** Some work is an endpoint instead. Its draws are apart from the others, so other work of recorded seeds stays. */
function asEndpoint(spec: WorkloadSpec, luck: Luck): WorkloadSpec {
  if (!luck.chance(12)) return spec;
  const { gang } = spec;
  const { minWorkers: _least, throughputMilli: _curve, ...whole } = gang;
  const min = luck.between(0, 2);
  const { taskCount: _count, tasksAtOnce: _limit, ...common } = { taskCount: 0, tasksAtOnce: 0, ...spec };
  return {
    ...common,
    kind: "serve",
    gang: gang.taskGroups === undefined ? whole : gang,
    replicas: { min, max: min + luck.between(1, 3) },
    ready: { path: "/health", timeoutMs: luck.pick([500, 60_000]) },
  };
}

/** A gang with whole accelerators, or with a fraction of an accelerator for each worker; some gangs are elastic. */
function randomGang(luck: Luck): GangSpec {
  const workers = luck.pick([1, 1, 1, 2, 3, 5]);
  const isShare = luck.chance(15);
  return {
    workers,
    accelerators: isShare ? 1 : luck.pick([0, 1, 1, 1, 2, 3, 4, 8, 30]),
    coresMilli: luck.pick([0, 500, 4000]),
    memoryMib: luck.pick([0, 100, 5000]),
    ...(isShare ? { shareMilli: luck.pick([250, 500, 700]) } : {}),
    ...(workers > 1 && luck.chance(40) ? { minWorkers: luck.between(1, workers - 1) } : {}),
  };
}

/** A throughput curve for some elastic gangs, with plateaus, falls and jumps. */
function withCurve(gang: GangSpec, luck: Luck): GangSpec {
  if (gang.minWorkers === undefined || luck.chance(40)) return gang;
  let milli = 1000;
  const throughputMilli = Array.from({ length: gang.workers }, () => {
    const now = milli;
    milli = Math.max(1, milli + luck.pick([-300, 0, 200, 700, 900, 2500]));
    return now;
  });
  return { ...gang, throughputMilli };
}

/** The same workload with task groups, in worlds that have task groups. */
export function withGroups(luck: Luck, world: World, spec: WorkloadSpec): WorkloadSpec {
  if (!world.hasGroups || !luck.chance(30)) return spec;
  const groups = Array.from({ length: luck.between(1, 3) }, (_, index) => randomGroup(luck, world, `g${index}`));
  const { slices: _slices, ...together } = spec.fabric ?? {};
  const { fabric: _fabric, ...rest } = spec;
  return { ...rest, ...(Object.keys(together).length === 0 ? {} : { fabric: together }), gang: gangOfGroups(groups) };
}

function randomGroup(luck: Luck, world: World, name: string): TaskGroup {
  const { minWorkers, ...gang } = randomGang(luck);
  return {
    ...gang,
    name,
    workers: Math.min(3, gang.workers),
    ...(minWorkers !== undefined && minWorkers < Math.min(3, gang.workers) ? { minWorkers } : {}),
    ...(luck.chance(25) ? { acceleratorTypes: [luck.pick(acceleratorTypes)] } : {}),
    ...(world.heedsNames && luck.chance(10) ? { fabric: { within: luck.pick(levels) } } : {}),
  };
}

/** The same fleet with MIG devices. */
function divided(fleet: FleetSpec): FleetSpec {
  const mig = ({ acceleratorType }: Pool): Pick<Pool, "mig"> =>
    acceleratorType === "" ? {} : { mig: acceleratorType === "A100" ? "A100-80GB" : "H100-80GB" };
  return { ...fleet, pools: fleet.pools.map((pool) => ({ ...pool, ...mig(pool) })) };
}

const profiles = ["1g.10gb", "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"] as const;

/** The same workload with a MIG profile, in worlds that have MIG devices. */
export function withParts(luck: Luck, world: World, spec: WorkloadSpec): WorkloadSpec {
  if (!world.hasParts || !luck.chance(50)) return spec;
  const divide = <Shape extends GangSpec | TaskGroup>({ shareMilli: _share, ...shape }: Shape): Shape =>
    ({ ...shape, accelerators: 1, profile: luck.pick(profiles) }) as unknown as Shape;
  const { taskGroups } = spec.gang;
  if (taskGroups === undefined) return { ...spec, gang: divide(spec.gang) };
  return { ...spec, gang: gangOfGroups(taskGroups.map((group) => (luck.chance(50) ? divide(group) : group))) };
}

/** The same workload with data inputs and rules, in worlds that have data rules. */
export function withData(luck: Luck, world: World, spec: WorkloadSpec): WorkloadSpec {
  if (!world.hasData || !luck.chance(40)) return spec;
  const rule = luck.chance(50) ? { rule: luck.pick(["restricted", "export"]) } : {};
  const inputs = luck.chance(60) ? { inputs: [luck.pick(["s3://a/v1", "s3://b"])] } : {};
  return { ...spec, data: { ...rule, ...inputs } };
}

/** The same workload with anti-affinity, in worlds that have anti-affinity. */
export function withAntiAffinity(luck: Luck, world: World, spec: WorkloadSpec): WorkloadSpec {
  if (!world.antiAffinityCheck || !luck.chance(40)) return spec;
  const rule = luck.chance(50)
    ? { set: "x", topologyKey: "zone" }
    : { set: "x", within: world.heedsNames ? "leaf" : "node" };
  const antiAffinity = luck.chance(15)
    ? { exclusive: true as const }
    : luck.chance(60)
      ? { sets: ["x"], from: [rule] }
      : { sets: ["x"] };
  return { ...spec, gang: { ...spec.gang, antiAffinity } };
}

/** Adds hot spares to some pools, in some worlds. */
function withHotSpares(luck: Luck, fleet: FleetSpec): FleetSpec {
  if (!luck.chance(30)) return fleet;
  return {
    ...fleet,
    pools: fleet.pools.map((pool) => (luck.chance(60) ? { ...pool, hotSpares: luck.pick([1, 1, 2]) } : pool)),
  };
}

/** Adds data rules and inputs to pools, in worlds that have data rules. */
function randomPlaces(luck: Luck, fleet: FleetSpec): FleetSpec {
  const pools = fleet.pools.map((pool) => ({
    ...pool,
    data: {
      ...(luck.chance(60) ? { rules: ["restricted", "export"].filter(() => luck.chance(60)) } : {}),
      ...(luck.chance(60) ? { holds: ["s3://a", "s3://b"].filter(() => luck.chance(50)) } : {}),
    },
  }));
  return { ...fleet, pools };
}

const levels = ["spine", "leaf", "node"] as const;

function randomConstraints(luck: Luck, world: World): Partial<WorkloadSpec> {
  const dear = luck.aside(`off-peak ${luck.drawn}`);
  const due = luck.aside(`deadline ${luck.drawn}`);
  return {
    ...(world.heedsNames && luck.chance(20) ? { fabric: randomFabric(luck) } : {}),
    ...(luck.chance(8)
      ? { spread: { topologyKey: luck.pick(["zone", "rack"]), maxPerDomain: luck.between(1, 2) } }
      : {}),
    ...(luck.chance(8) ? { nodeSelector: { zone: luck.pick(["a", "b"]) } } : {}),
    ...(luck.chance(60) ? { preemptible: luck.chance(70) } : {}),
    ...(luck.chance(20) ? { minRuntimeMs: luck.pick([10, 1000]) } : {}),
    ...(luck.chance(20) ? { restartCostMs: luck.pick([100, 5000]) } : {}),
    ...(luck.chance(5) ? { hold: true as const } : {}),
    ...(luck.chance(8) ? { notBeforeMs: luck.between(0, 20_000) } : {}),
    ...(dear.chance(8) ? { startWindow: { microUsdPerKwhMax: 100, latestStartMs: dear.between(0, 30_000) } } : {}),
    ...(due.chance(25) ? { deadlineMs: due.between(1, 60_000) } : {}),
    ...(luck.chance(8)
      ? { after: [{ workload: `w${luck.between(1, 9)}`, on: luck.pick(["ok", "failed", "any"] as const) }] }
      : {}),
  };
}

function randomFabric(luck: Luck): FabricSpec {
  const roll = luck.below(4);
  if (roll === 0) return { slices: [{ workers: luck.between(1, 2), within: luck.pick(levels) }] };
  return roll === 1 ? { prefer: luck.pick(levels) } : { within: luck.pick(levels) };
}
