/**
 * Capacity that no guarantee needs, for the rule `nonPreemptible: unguaranteed`: recounted from nodes, teams and
 * attempts, without indexes.
 */
import {
  ALL_ACCELERATORS,
  RESOURCES_BESIDE_TYPES,
  isEviction,
  rulesOf,
  takesWork,
  isPreemptible,
} from "@headroom/model";
import type { Amounts, Node, TeamName } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { withAncestors } from "@headroom/engine/internals";
import { amountsHeld, sumOfAmounts, typeInFamily } from "./held-by-team.ts";
import type { TeamAmounts } from "./held-by-team.ts";

export interface Unguaranteed {
  /**
   * Whether the fleet can still cover the unused guarantees of other teams, if this amount of non-preemptible work of
   * the team is added.
   */
  leaves(team: TeamName, more: TeamAmounts): boolean;
}

/** `fixed`: non-preemptible usage of each team, subteams included. */
export function unguaranteed(state: ReadonlyState, fixed: ReadonlyMap<TeamName, TeamAmounts>): Unguaranteed {
  const teams = [...state.teams.values()];
  const coverable = sumOfAmounts([...usableNodes(state), ...heldOnClosedNodes(state)]);
  const reserved = new Map(teams.map(({ name, guarantee }) => [name, reservedBy(state, guarantee ?? {})]));
  const named = new Set(
    teams.flatMap(({ guarantee, limit }) => [...Object.keys(guarantee ?? {}), ...Object.keys(limit)]),
  );
  const isCompared = (resource: string): boolean => RESOURCES_COMPARED.has(resource) || named.has(resource);

  /**
   * Sum of the unused guarantees of the teams directly below `above`, if the usage of each team in `grown` is larger by
   * the given amount.
   */
  function unusedBelow(above: TeamName | null, resource: string, grown: ReadonlyMap<TeamName, number>): number {
    let sum = 0;
    for (const { name, parent } of teams) {
      if (parent !== above) continue;
      const held = (fixed.get(name)?.get(resource) ?? 0) + (grown.get(name) ?? 0);
      sum += Math.max((reserved.get(name)?.get(resource) ?? 0) - held, unusedBelow(name, resource, grown));
    }
    return sum;
  }

  const leaves = (team: TeamName, more: TeamAmounts): boolean => {
    const line = withAncestors(state, team);
    return [...more].every(([resource, asked]) => {
      if (asked === 0 || !isCompared(resource)) return true;
      const before = unusedBelow(null, resource, new Map());
      const after = unusedBelow(null, resource, new Map(line.map((at) => [at, asked])));
      if (after === 0 || isSame(before - after, asked)) return true;
      const used = teams
        .filter(({ parent }) => parent === null)
        .reduce((sum, { name }) => sum + (fixed.get(name)?.get(resource) ?? 0), 0);
      const committed = used + asked + after;
      return committed <= (coverable.get(resource) ?? 0) || isSame(committed, coverable.get(resource) ?? 0);
    });
  };
  return { leaves };
}

const RESOURCES_COMPARED: ReadonlySet<string> = new Set(["cores", "memory", ALL_ACCELERATORS]);
const besideTypes: ReadonlySet<string> = new Set(RESOURCES_BESIDE_TYPES);

/**
 * Amounts that a guarantee keeps available. If no amount is stated for a family or for the total, the amounts of its
 * types are added up.
 */
function reservedBy(state: ReadonlyState, guarantee: Amounts): TeamAmounts {
  const reserved = new Map(Object.entries(guarantee));
  const types = Object.keys(guarantee).filter((resource) => !besideTypes.has(resource));
  const familyOf = (type: string): string | undefined => typeInFamily(state, type).acceleratorFamily;
  const sumOfMembers = (family: string): number =>
    types.filter((type) => familyOf(type) === family).reduce((all, type) => all + (guarantee[type] ?? 0), 0);
  for (const family of new Set(types.map(familyOf)))
    if (family !== undefined && !reserved.has(family)) reserved.set(family, sumOfMembers(family));
  if (types.length > 0 && !reserved.has(ALL_ACCELERATORS)) {
    // If a family is stated too, the amounts of its types are parts of the family's amount, unless their sum is larger.
    const parts = types.filter((type) => !types.includes(familyOf(type) ?? ""));
    const amountOf = (part: string): number => Math.max(guarantee[part] ?? 0, sumOfMembers(part));
    reserved.set(
      ALL_ACCELERATORS,
      parts.reduce((all, part) => all + amountOf(part), 0),
    );
  }
  return reserved;
}

/** Whether two sums of thousandths are equal, apart from rounding. */
const isSame = (left: number, right: number): boolean => Math.abs(left - right) < 0.0005;

function* usableNodes(state: ReadonlyState): Generator<TeamAmounts> {
  for (const node of state.nodes.values()) {
    if (!isUsable(node)) continue;
    const { acceleratorType, acceleratorFamily, acceleratorCount, coresMilli, memoryMib } = node;
    yield new Map([
      ["cores", coresMilli],
      ["memory", memoryMib],
      ["accelerators", acceleratorCount],
      ...(acceleratorType === "" ? [] : ([[acceleratorType, acceleratorCount]] as const)),
      ...(acceleratorFamily === undefined ? [] : ([[acceleratorFamily, acceleratorCount]] as const)),
    ]);
  }
}

/** Non-preemptible usage on nodes that take no work. */
function* heldOnClosedNodes(state: ReadonlyState): Generator<TeamAmounts> {
  const rules = rulesOf(state.policy);
  for (const { workloadId, workers, stop } of state.attempts.values()) {
    const spec = state.workloads.get(workloadId)?.spec;
    if (spec === undefined || isPreemptible(rules, spec) || (stop !== null && isEviction(stop.reason))) continue;
    const closed = workers.filter(({ node }) => {
      const known = state.nodes.get(node);
      return known !== undefined && !isUsable(known);
    });
    yield amountsHeld(state, spec.gang, closed);
  }
}

const isUsable = (node: Node): boolean => takesWork(node) && node.hotSpare !== true;
