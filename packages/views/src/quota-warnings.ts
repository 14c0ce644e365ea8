/** Quotas that contradict each other, name what the fleet does not have or that the policy does not look at: taken as they are, and said. */
import { ALL_ACCELERATORS, CORES, MEMORY, rulesOf } from "@headroom/engine";
import type { Policy, ReadonlyState } from "@headroom/engine";
import { nearestName } from "@headroom/protocol";
import type { ApplyRequest, ApplyWarning } from "@headroom/protocol";
import { amountText } from "./team-text.ts";

type Amounts = Readonly<Record<string, number>>;

/** Of a team, what the check looks at. Amounts in the units of the wire. */
export interface QuotaTeam {
  readonly name: string;
  readonly parent: string | null;
  readonly limit: Amounts;
  readonly userLimit?: Amounts | undefined;
  readonly guarantee?: Amounts | undefined;
  readonly lendingLimit?: Amounts | undefined;
  readonly borrowingLimit?: Amounts | undefined;
  readonly preemption?: object | undefined;
  readonly shapes?: readonly { readonly acceleratorType?: string | undefined }[] | undefined;
}

export interface QuotaSetting {
  /** All teams as they will be. */
  readonly teams: readonly QuotaTeam[];
  /** Those that are declared now: warnings are about them, their parents and nobody else. */
  readonly declared: ReadonlySet<string>;
  /** Of all pools as they will be; empty: there is no fleet yet, and no name is wrong. */
  readonly acceleratorTypes: readonly string[];
  /** In force. */
  readonly policy: Policy;
}

const besideTypes: readonly string[] = [ALL_ACCELERATORS, CORES, MEMORY];

/** Of a request beside the teams and pools that are there. */
export function quotaWarningsOf(
  { teams, pools, policy }: Pick<ReadonlyState, "teams" | "pools" | "policy">,
  request: Pick<ApplyRequest, "teams" | "pools">,
): ApplyWarning[] {
  const after = new Map<string, QuotaTeam>(teams);
  for (const team of request.teams) after.set(team.name, team);
  return quotaWarnings({
    teams: [...after.values()],
    declared: new Set(request.teams.map(({ name }) => name)),
    acceleratorTypes: [...new Set([...pools.values(), ...request.pools].map(({ acceleratorType }) => acceleratorType))],
    policy,
  });
}

export function quotaWarnings({ teams, declared, acceleratorTypes, policy }: QuotaSetting): ApplyWarning[] {
  const children = Map.groupBy(teams, ({ parent }) => parent);
  return teams.flatMap((team) => {
    const below = children.get(team.name) ?? [];
    const isDeclared = declared.has(team.name);
    const own = isDeclared
      ? [...contradictions(team), ...unknownTypes(team, acceleratorTypes), ...unheeded(team, policy)]
      : [];
    const sums = isDeclared || below.some(({ name }) => declared.has(name)) ? overPromised(team, below) : [];
    return [...own, ...sums].map((message) => ({ team: team.name, message }));
  });
}

/** What amounts come to of a resource; of all accelerators at least what they come to type by type. `null`: they say nothing of it. */
function statedOf(amounts: Amounts, resource: string): number | null {
  const stated = amounts[resource] ?? null;
  if (resource !== ALL_ACCELERATORS) return stated;
  const byType = Object.entries(amounts).filter(([name]) => !besideTypes.includes(name));
  if (byType.length === 0) return stated;
  const milli = byType.reduce((sum, [, amount]) => sum + Math.round(amount * 1000), 0);
  return Math.max(stated ?? 0, milli / 1000);
}

const nounOf = (resource: string): string =>
  resource === CORES || resource === MEMORY || resource === ALL_ACCELERATORS
    ? resource
    : `accelerators of type ${resource}`;

function contradictions({ name, limit, guarantee = {}, lendingLimit = {} }: QuotaTeam): string[] {
  const aboveLimit = Object.keys(limit).flatMap((resource) => {
    const [promised, most] = [statedOf(guarantee, resource), limit[resource] ?? 0];
    if (promised === null || promised <= most) return [];
    return `Team ${name} is guaranteed more ${nounOf(resource)} than its limit allows: ${amountText(resource, promised)}, and the limit is ${amountText(resource, most)}.`;
  });
  const lendsMore = Object.keys(lendingLimit).flatMap((resource) => {
    const [lent, promised] = [lendingLimit[resource] ?? 0, statedOf(guarantee, resource) ?? 0];
    if (lent <= promised) return [];
    return `Team ${name} may lend more ${nounOf(resource)} than it is guaranteed: ${amountText(resource, lent)} of ${amountText(resource, promised)}.`;
  });
  return [...aboveLimit, ...lendsMore];
}

/** Only what the parent states itself is held against its children. */
function overPromised({ name, guarantee = {} }: QuotaTeam, below: readonly QuotaTeam[]): string[] {
  return Object.keys(guarantee).flatMap((resource) => {
    const milli = below.reduce(
      (sum, child) => sum + Math.round((statedOf(child.guarantee ?? {}, resource) ?? 0) * 1000),
      0,
    );
    const [promised, own] = [milli / 1000, guarantee[resource] ?? 0];
    if (promised <= own) return [];
    return `The teams directly below ${name} are guaranteed more ${nounOf(resource)} together than ${name} itself: ${amountText(resource, promised)} of ${amountText(resource, own)}.`;
  });
}

function unknownTypes(team: QuotaTeam, types: readonly string[]): string[] {
  if (types.length === 0) return [];
  const { name, limit, guarantee, userLimit, lendingLimit, borrowingLimit, shapes = [] } = team;
  const stated = [guarantee, limit, userLimit, lendingLimit, borrowingLimit];
  const named = new Set([
    ...stated.flatMap((amounts = {}) => Object.keys(amounts)),
    ...shapes.flatMap(({ acceleratorType }) => acceleratorType ?? []),
  ]);
  return [...named].flatMap((type) => {
    if (besideTypes.includes(type) || types.includes(type)) return [];
    const nearest = nearestName(type, [...types, ...besideTypes]);
    const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
    return `A quota of team ${name} names ${type}, and no pool has accelerators of that type${hint === "" ? "." : hint}`;
  });
}

/** What the team states and the policy in force makes nothing of, with the knob that would. */
function unheeded({ name, lendingLimit, borrowingLimit, preemption, shapes }: QuotaTeam, policy: Policy): string[] {
  const { teams, eviction, phases } = rulesOf(policy);
  const borrows = teams.overGuarantee === "borrow";
  const takesByQuota =
    borrows && phases.includes("reclaim") && (eviction.search === "by-share" || eviction.search === "by-advantage");
  const borrowing = "teams.overGuarantee is borrow";
  const fields = [
    { field: "lendingLimit", isStated: lendingLimit !== undefined, isHeeded: borrows, where: borrowing },
    { field: "borrowingLimit", isStated: borrowingLimit !== undefined, isHeeded: borrows, where: borrowing },
    {
      field: "preemption",
      isStated: preemption !== undefined,
      isHeeded: takesByQuota,
      where: `${borrowing} and eviction.search is by-share or by-advantage`,
    },
    {
      field: "shapes",
      isStated: (shapes ?? []).length > 0,
      isHeeded: teams.shapes !== undefined,
      where: "teams.shapes says from which priority on they hold work",
    },
  ];
  return fields.flatMap(({ field, isStated, isHeeded, where }) =>
    isStated && !isHeeded
      ? `Team ${name} states ${field}, and the policy in force, ${policy.name}, makes nothing of it: policies do where ${where}.`
      : [],
  );
}
