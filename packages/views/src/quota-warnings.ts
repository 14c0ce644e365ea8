/**
 * Warnings about quotas that contradict each other, name resources that the fleet lacks, or have no effect under the
 * policy. The quotas are accepted anyway.
 */
import { ALL_ACCELERATORS, RESOURCES_BESIDE_TYPES, rulesOf } from "@headroom/model";
import type { Node, Policy } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { nearestName } from "@headroom/protocol";
import type { ApplyRequest, ApplyWarning } from "@headroom/protocol";
import { acceleratorNoun, grouped, resourceForm } from "./plain-text.ts";
import { amountText } from "./team-text.ts";

type Amounts = Readonly<Record<string, number>>;

/** The fields of a team that the check reads. Amounts are in the units of the API. */
export interface QuotaTeam {
  readonly name: string;
  readonly parent: string | null;
  readonly limit: Amounts;
  readonly userLimit?: Amounts | undefined;
  readonly guarantee?: Amounts | undefined;
  readonly lendingLimit?: Amounts | undefined;
  readonly borrowingLimit?: Amounts | undefined;
  readonly preemption?: object | undefined;
  readonly reservedTopology?: readonly { readonly acceleratorType?: string | undefined }[] | undefined;
}

export interface QuotaSetting {
  /** All teams after the change. */
  readonly teams: readonly QuotaTeam[];
  /** The teams that the request declares. Warnings are only about them and their parents. */
  readonly declared: ReadonlySet<string>;
  /** Types and families of all pools after the change; empty: there is no fleet yet, and any name is accepted. */
  readonly acceleratorTypes: readonly string[];
  /** Number of accelerators on all nodes, by type. Types without nodes are left out. */
  readonly acceleratorCounts: ReadonlyMap<string, number>;
  /** The same numbers by family; absent: no type belongs to a family. */
  readonly familyCounts?: ReadonlyMap<string, number>;
  /** The active policy. */
  readonly policy: Policy;
}

/** Warnings about a request, given the present teams and pools. */
export function quotaWarningsOf(
  { teams, pools, nodes, policy }: Pick<ReadonlyState, "teams" | "pools" | "nodes" | "policy">,
  request: Pick<ApplyRequest, "teams" | "pools">,
): ApplyWarning[] {
  const after = new Map<string, QuotaTeam>(teams);
  for (const team of request.teams) after.set(team.name, team);
  return quotaWarnings({
    teams: [...after.values()],
    declared: new Set(request.teams.map(({ name }) => name)),
    acceleratorTypes: typesAndFamilies([...pools.values(), ...request.pools]),
    acceleratorCounts: countsBy(nodes, ({ acceleratorType }) => acceleratorType),
    familyCounts: countsBy(nodes, ({ acceleratorFamily }) => acceleratorFamily),
    policy,
  });
}

/**
 * Warnings before a policy is activated, about teams whose guarantees the policy would add to those of their parent.
 */
export const policyWarnings = ({ teams }: Pick<ReadonlyState, "teams">, policy: Policy): ApplyWarning[] =>
  branchesOf([...teams.values()]).flatMap((branch) =>
    onTopOfOthers(branch, policy).map((message) => ({ team: branch.team.name, message })),
  );

interface TypedPool {
  readonly acceleratorType: string;
  readonly acceleratorFamily?: string | undefined;
}

const typesAndFamilies = (pools: readonly TypedPool[]): string[] => [
  ...new Set(
    pools.flatMap(({ acceleratorType, acceleratorFamily }) => [acceleratorType, acceleratorFamily ?? []].flat()),
  ),
];

function countsBy(nodes: ReadonlyState["nodes"], nameOf: (node: Node) => string | undefined): Map<string, number> {
  const counts = new Map<string, number>();
  for (const node of nodes.values()) {
    const name = nameOf(node);
    if (name !== undefined && node.acceleratorCount > 0)
      counts.set(name, (counts.get(name) ?? 0) + node.acceleratorCount);
  }
  return counts;
}

/** A team with its direct children and with all teams below it. */
interface Branch {
  readonly team: QuotaTeam;
  readonly below: readonly QuotaTeam[];
  readonly allBelow: ReadonlySet<QuotaTeam>;
}

function branchesOf(teams: readonly QuotaTeam[]): readonly Branch[] {
  const children = Map.groupBy(teams, ({ parent }) => parent);
  return teams.map((team) => {
    const below = children.get(team.name) ?? [];
    // The declared tree can contain a cycle, which the engine refuses, so each team is visited only once.
    const allBelow = new Set(below);
    for (const { name } of allBelow) for (const child of children.get(name) ?? []) allBelow.add(child);
    return { team, below, allBelow };
  });
}

function statedBelow({ allBelow }: Branch, resource: string): number {
  const milli = [...allBelow].reduce(
    (sum, { guarantee = {} }) => sum + Math.round((guarantee[resource] ?? 0) * 1000),
    0,
  );
  return milli / 1000;
}

export function quotaWarnings(setting: QuotaSetting): ApplyWarning[] {
  const { teams, declared, acceleratorTypes, policy } = setting;
  const ofTeams = branchesOf(teams).flatMap((branch) => {
    const { team, below, allBelow } = branch;
    const isDeclared = declared.has(team.name);
    const isAnyDeclared = (others: Iterable<QuotaTeam>): boolean =>
      isDeclared || [...others].some(({ name }) => declared.has(name));
    const own = isDeclared
      ? [...contradictions(team), ...unknownTypes(team, acceleratorTypes), ...unheeded(team, policy)]
      : [];
    const sums = isAnyDeclared(below) ? overNominated(branch, policy) : [];
    const added = isAnyDeclared(allBelow) ? onTopOfOthers(branch, policy) : [];
    return [...own, ...sums, ...added].map((message) => ({ team: team.name, message }));
  });
  return [...ofTeams, ...beyondFleet(setting)];
}

const borrowsUnder = (policy: Policy): boolean => rulesOf(policy).teams.overGuarantee === "borrow";

/** Whether the guarantees of the team and of teams below it are added up, as they are with borrowing. */
const addsUp = (branch: Branch, resource: string, policy: Policy): boolean =>
  borrowsUnder(policy) && (branch.team.guarantee?.[resource] ?? 0) > 0 && statedBelow(branch, resource) > 0;

function onTopOfOthers(branch: Branch, policy: Policy): string[] {
  const { name, guarantee = {} } = branch.team;
  return Object.entries(guarantee).flatMap(([resource, own]) => {
    if (!addsUp(branch, resource, policy)) return [];
    const below = statedBelow(branch, resource);
    const sum = amountText(resource, Math.round((own + below) * 1000) / 1000);
    return `Team ${name} is guaranteed ${quantityText(resource, own)}, and the teams below it ${amountText(resource, below)}. Under the policy ${policy.name} these guarantees are added: ${sum}. This is so wherever strategy is kueue-fair-sharing or kueue-classical.`;
  });
}

/** An amount with its noun: `8 H100 accelerators`, `64 GiB of memory`. */
function quantityText(resource: string, amount: number): string {
  const noun = acceleratorNoun(resource === ALL_ACCELERATORS ? [] : [resource], amount);
  return resourceForm(resource)?.quantity(amount) ?? `${grouped(amount)} ${noun}`;
}

/**
 * Warnings for single declared teams, or else for all root teams together, whose guarantees must be kept at the same
 * time.
 */
function beyondFleet({
  teams,
  declared,
  acceleratorCounts,
  familyCounts = new Map(),
  policy,
}: QuotaSetting): ApplyWarning[] {
  const total = [...acceleratorCounts.values()].reduce((sum, count) => sum + count, 0);
  const counts = new Map([
    ...familyCounts,
    ...acceleratorCounts,
    ...(total === 0 ? [] : [[ALL_ACCELERATORS, total] as const]),
  ]);
  const changed = teams.filter(({ name }) => declared.has(name));
  const resources = new Set(changed.flatMap(({ guarantee = {} }) => Object.keys(guarantee)));
  return [...resources].flatMap((resource): ApplyWarning[] => {
    const has = counts.get(resource);
    if (has === undefined) return [];
    const there = `, but the fleet has ${amountText(resource, has)}.`;
    const single = changed.flatMap(({ name: team, guarantee = {} }) => {
      const nominated = guarantee[resource] ?? 0;
      if (nominated <= has) return [];
      return {
        team,
        message: `Team ${team} is guaranteed ${quantityText(resource, nominated)}${there}`,
      };
    });
    if (single.length > 0) return single;
    const nominated = nominatedAtTheTop(teams, resource, policy);
    if (nominated <= has) return [];
    return [
      {
        message: `All teams together are guaranteed ${quantityText(resource, nominated)}${there}`,
      },
    ];
  });
}

/**
 * Sum of the root teams' guarantees. With borrowing it covers all teams; otherwise it covers the teams below a team
 * that states none.
 */
function nominatedAtTheTop(teams: readonly QuotaTeam[], resource: string, policy: Policy): number {
  const children = Map.groupBy(teams, ({ parent }) => parent);
  const milliOf = ({ name, guarantee }: QuotaTeam): number => {
    const own = Math.round((statedOf(guarantee ?? {}, resource) ?? 0) * 1000);
    const isSum = guarantee === undefined || borrowsUnder(policy);
    return isSum ? (children.get(name) ?? []).reduce((sum, child) => sum + milliOf(child), own) : own;
  };
  return (children.get(null) ?? []).reduce((sum, team) => sum + milliOf(team), 0) / 1000;
}

/** An amount of a resource. For all accelerators it is at least the sum of the types. `null`: not stated. */
function statedOf(amounts: Amounts, resource: string): number | null {
  const stated = amounts[resource] ?? null;
  if (resource !== ALL_ACCELERATORS) return stated;
  const byType = Object.entries(amounts).filter(([name]) => !RESOURCES_BESIDE_TYPES.includes(name));
  if (byType.length === 0) return stated;
  const milli = byType.reduce((sum, [, amount]) => sum + Math.round(amount * 1000), 0);
  return Math.max(stated ?? 0, milli / 1000);
}

const nounOf = (resource: string): string =>
  RESOURCES_BESIDE_TYPES.includes(resource) ? resource : `accelerators of type ${resource}`;

function contradictions({ name, limit, guarantee = {}, lendingLimit = {} }: QuotaTeam): string[] {
  const aboveLimit = Object.keys(limit).flatMap((resource) => {
    const [nominated, most] = [statedOf(guarantee, resource), limit[resource] ?? 0];
    if (nominated === null || nominated <= most) return [];
    return `Team ${name} is guaranteed more ${nounOf(resource)} than its limit allows: ${amountText(resource, nominated)}, but the limit is ${amountText(resource, most)}.`;
  });
  const lendsMore = Object.keys(lendingLimit).flatMap((resource) => {
    const [lent, nominated] = [lendingLimit[resource] ?? 0, statedOf(guarantee, resource) ?? 0];
    if (lent <= nominated) return [];
    return `Team ${name} can lend more ${nounOf(resource)} than it is guaranteed: ${amountText(resource, lent)} of ${amountText(resource, nominated)}.`;
  });
  return [...aboveLimit, ...lendsMore];
}

/** Amounts of children are compared only with amounts that the parent states, and only if the parent's include them. */
function overNominated(branch: Branch, policy: Policy): string[] {
  const { team, below } = branch;
  const { name, guarantee = {} } = team;
  return Object.keys(guarantee).flatMap((resource) => {
    if (addsUp(branch, resource, policy)) return [];
    const milli = below.reduce(
      (sum, child) => sum + Math.round((statedOf(child.guarantee ?? {}, resource) ?? 0) * 1000),
      0,
    );
    const [nominated, own] = [milli / 1000, guarantee[resource] ?? 0];
    if (nominated <= own) return [];
    return `The teams directly below ${name} are together guaranteed more ${nounOf(resource)} than ${name} itself: ${amountText(resource, nominated)} of ${amountText(resource, own)}.`;
  });
}

function unknownTypes(team: QuotaTeam, types: readonly string[]): string[] {
  if (types.length === 0) return [];
  const { name, limit, guarantee, userLimit, lendingLimit, borrowingLimit, reservedTopology = [] } = team;
  const stated = [guarantee, limit, userLimit, lendingLimit, borrowingLimit];
  const named = new Set([
    ...stated.flatMap((amounts = {}) => Object.keys(amounts)),
    ...reservedTopology.flatMap(({ acceleratorType }) => acceleratorType ?? []),
  ]);
  return [...named].flatMap((type) => {
    if (RESOURCES_BESIDE_TYPES.includes(type) || types.includes(type)) return [];
    const nearest = nearestName(type, [...types, ...RESOURCES_BESIDE_TYPES]);
    const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
    return `A quota of team ${name} names ${type}, but no pool has accelerators of that type${hint === "" ? "." : hint}`;
  });
}

/** Settings of a team without effect under the active policy, each with the policy setting that would enable it. */
function unheeded(
  { name, lendingLimit, borrowingLimit, preemption, reservedTopology }: QuotaTeam,
  policy: Policy,
): string[] {
  const { teams, eviction, phases } = rulesOf(policy);
  const borrows = borrowsUnder(policy);
  const takesByQuota =
    borrows &&
    phases.includes("reclaim") &&
    (eviction.search === "kueue-fair-sharing" || eviction.search === "kueue-classical");
  const borrowing = "strategy is kueue-fair-sharing or kueue-classical";
  const fields = [
    { field: "lendingLimit", isStated: lendingLimit !== undefined, isHeeded: borrows, where: borrowing },
    { field: "borrowingLimit", isStated: borrowingLimit !== undefined, isHeeded: borrows, where: borrowing },
    {
      field: "preemption",
      isStated: preemption !== undefined,
      isHeeded: takesByQuota,
      where: `${borrowing} and phases has reclaim`,
    },
    {
      field: "reservedTopology",
      isStated: (reservedTopology ?? []).length > 0,
      isHeeded: teams.reservedTopology !== undefined,
      where: "strategy is hived",
    },
  ];
  return fields.flatMap(({ field, isStated, isHeeded, where }) =>
    isStated && !isHeeded
      ? `Team ${name} states ${field}, which has no effect under the active policy ${policy.name}. It needs a policy in which ${where}.`
      : [],
  );
}
