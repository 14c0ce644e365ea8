/**
 * How every team stands in a round: what it holds, what it asks for and its fair share of each resource, by position as in
 * `state/team-use.ts`. Fair shares are of the demand as it is when the phase begins; what is held is read as it changes.
 */
import { divideDownTree } from "../../quota/divide.ts";
import type { TreeClaim } from "../../quota/divide.ts";
import { ACCELERATORS_AT, CORES_AT, MEMORY_AT } from "../../state/team-node.ts";
import type { Amount, TeamNode } from "../../state/team-node.ts";
import type { World } from "../../state/world.ts";
import { ownDemands } from "./demand.ts";

/** Resources by which teams are compared. */
export const COMPARED: readonly number[] = [CORES_AT, MEMORY_AT, ACCELERATORS_AT];
/** What cannot be split further when shares are rounded, by position. */
const UNITS: readonly number[] = [1000, 1, 1000];

export interface Standing {
  readonly node: TeamNode;
  /** By compared resource. */
  readonly fair: readonly number[];
  readonly total: readonly number[];
}

export type Standings = ReadonlyMap<TeamNode, Standing>;

/** Remembered until something is recorded: shares are of the demand as it is then, whatever is held tentatively. */
export function standingsOf(world: World): Standings {
  const { sequence } = world.state;
  // Work also joins the queue without an event, when its time has come.
  const { changes } = world.queue;
  const known = world.standings;
  if (known !== null && known.sequence === sequence && known.changes === changes) return known.value;
  const value = computeStandings(world);
  world.standings = { sequence, changes, value };
  return value;
}

function computeStandings(world: World): Standings {
  const byWeight = world.rules.teams.share === "weights";
  const nodes = parentsFirst(world);
  const indexOf = new Map(nodes.map((node, index) => [node, index]));
  const total = fleetTotal(world);
  const requests = ownDemands(world, nodes);
  const fair = COMPARED.map((position) => {
    const claims = nodes.map((node, index): TreeClaim => ({
      parent: node.parent === null ? -1 : (indexOf.get(node.parent) as number),
      guarantee: byWeight || node.team.guarantee === undefined ? 0 : finite(node.guarantee[position]),
      limit: finite(node.limit[position]),
      request: (requests[index] as readonly number[])[position] ?? 0,
      weight: position === ACCELERATORS_AT || byWeight ? (node.team.weight ?? 1) : 1,
      priority: node.team.priority ?? 0,
    }));
    return divideDownTree(total[position] as number, claims, byWeight ? 1 : (UNITS[position] as number));
  });
  return new Map(
    nodes.map((node, index) => [node, { node, total, fair: fair.map((shares) => shares[index] as number) }]),
  );
}

const finite = (amount: number | undefined): number | null =>
  amount === undefined || amount === Number.POSITIVE_INFINITY ? null : amount;

/** Cores, memory and accelerators of all usable nodes. */
function fleetTotal({ capacity }: World): readonly number[] {
  const total = [0, 0, 0];
  for (const type of capacity.acceptable([])) {
    total[CORES_AT] = (total[CORES_AT] as number) + type.usableCoresMilli;
    total[MEMORY_AT] = (total[MEMORY_AT] as number) + type.usableMemoryMib;
    total[ACCELERATORS_AT] = (total[ACCELERATORS_AT] as number) + type.usableCount * 1000;
  }
  return total;
}

function parentsFirst({ teamUse }: World): TeamNode[] {
  const nodes: TeamNode[] = [...teamUse.roots()];
  for (let index = 0; index < nodes.length; index++) nodes.push(...(nodes[index] as TeamNode).children);
  return nodes;
}

export const amountAt = (amount: Amount, position: number): number =>
  position === CORES_AT ? amount.coresMilli : position === MEMORY_AT ? amount.memoryMib : amount.acceleratorsMilli;

/** What a team may claim of a resource: the larger of guarantee and fair share, within its limit. */
export function claimOf({ node, fair, total }: Standing, position: number): number {
  const guarantee = node.guarantee[position] ?? (node.team.guarantee === undefined ? 0 : Number.POSITIVE_INFINITY);
  const claim = Math.min(
    node.limit[position] ?? Number.POSITIVE_INFINITY,
    Math.max(guarantee, fair[position] as number),
  );
  return claim === Number.POSITIVE_INFINITY ? (total[position] as number) : claim;
}

/** The largest part of any resource's claim that it would hold with this much more and less; a claim of nothing weighs a thousandfold. */
export function dominantShare(standing: Standing, more: Amount | null, taken: readonly number[] | null = null): number {
  let share = 0;
  for (const position of COMPARED) {
    const held = (standing.node.used[position] ?? 0) - (taken?.[position] ?? 0);
    const used = held + (more === null ? 0 : amountAt(more, position));
    const claim = claimOf(standing, position);
    share = Math.max(share, claim === 0 ? 1000 * used : used / claim);
  }
  return share;
}
