/**
 * How every team stands in a round: what it holds, what it asks for and its fair share of each resource, by position as in
 * `cluster/team-use.ts`. Fair shares are of the demand as it is when the phase begins; what is held is read as it changes.
 */
import { divideDownTree } from "../quota/divide.ts";
import type { TreeShareRequest } from "../quota/divide.ts";
import { ACCELERATORS_AT, COMPARED, FIRST_TYPE_AT, MEMORY_AT, amountAt } from "../cluster/team-node.ts";
import type { Amount, TeamNode } from "../cluster/team-node.ts";
import { Slot } from "../cluster/scratch.ts";
import type { World } from "../cluster/world.ts";
import { ownDemands } from "./demand.ts";
import { WHOLE_WEIGHT, scaledWeight, weightsLeft } from "./weights-after-usage.ts";
import type { WeightLeft } from "./weights-after-usage.ts";
import { fleetTotal } from "../cluster/fleet-total.ts";

/** What cannot be split further when shares are rounded. */
const unitAt = (position: number): number => (position === MEMORY_AT ? 1 : 1000);

export interface TeamShare {
  readonly node: TeamNode;
  /** The positions by which teams are compared; what follows is by position. */
  readonly positions: readonly number[];
  readonly fair: readonly number[];
  /** The same where past use does not count: what nobody may be evicted below, whatever was used before. */
  readonly fairByPresent: readonly number[];
  /** What past use leaves of its weight. */
  readonly weightsLeft: readonly WeightLeft[];
  readonly total: readonly number[];
}

export type TeamShares = ReadonlyMap<TeamNode, TeamShare>;

/** Remembered until something is recorded: shares are of the demand as it is then, whatever is held tentatively. */
interface KnownShares {
  /** The sequence, queue and usage history that `value` was computed from. */
  key: string;
  value: TeamShares | null;
  /** The shares that the phase under way decides by; `null`: none is. */
  held: TeamShares | null;
}
const knownTeamShares = new Slot<KnownShares>(() => ({ key: "", value: null, held: null }), { survivesUndo: false });

export function teamSharesOf(world: World): TeamShares {
  const known = world.scratch.get(knownTeamShares);
  if (known.held !== null) return known.held;
  // Work also joins the queue without an event, when its time has come.
  const key = `${world.state.sequence} ${world.queue.changes} ${world.decayedUsage.step}`;
  if (known.value === null || known.key !== key) {
    known.value = computeTeamShares(world);
    known.key = key;
  }
  return known.value;
}

/**
 * Does something by the shares as they are when it begins: what it decides moves none of them (`demand.ts`), and adding them up
 * anew after each of thousands of plans is what those would cost.
 */
export function withFixedTeamShares(world: World, act: () => void): void {
  const known = world.scratch.get(knownTeamShares);
  known.held = teamSharesOf(world);
  try {
    act();
  } finally {
    known.held = null;
  }
}

function computeTeamShares(world: World): TeamShares {
  const byWeight = world.rules.teams.share === "weights";
  const nodes = parentsFirst(world);
  const indexOf = new Map(nodes.map((node, index) => [node, index]));
  const total = fleetTotal(world);
  const requests = ownDemands(world, nodes);
  const weights = plainWeights(nodes, byWeight);
  const positions = world.teamUse.compared;
  const fairBy = (weightsBy: readonly (readonly number[])[]): readonly (readonly number[])[] =>
    positions.map((position) => {
      const entitlements = nodes.map((node, index): TreeShareRequest => ({
        parent: node.parent === null ? -1 : (indexOf.get(node.parent) as number),
        guarantee: byWeight ? 0 : finite(node.guaranteed[position]),
        limit: finite(node.limit[position]),
        request: (requests[index] as readonly number[])[position] ?? 0,
        weight: (weightsBy[baseAt(position)] as readonly number[])[index] as number,
        priority: node.team.priority ?? 0,
      }));
      return divideDownTree(total[position] as number, entitlements, byWeight ? 1 : unitAt(position));
    });
  const fairByPresent = fairBy(weights);
  const left =
    world.decayedUsage.halfLife === null
      ? null
      : COMPARED.map((position, at) =>
          weightsLeft(world, position, {
            nodes,
            total: total[position] as number,
            weights: weights[at] as readonly number[],
          }),
        );
  const fair =
    left === null
      ? fairByPresent
      : fairBy(
          weights.map((byNode, at) =>
            byNode.map((weight, index) => scaledWeight(weight, left[at]?.[index] ?? WHOLE_WEIGHT)),
          ),
        );
  const of = (vectors: readonly (readonly number[])[], index: number): readonly number[] =>
    byPosition(positions, (_position, at) => (vectors[at] as readonly number[])[index] as number);
  return new Map(
    nodes.map((node, index) => [
      node,
      {
        node,
        positions,
        total,
        fair: of(fair, index),
        fairByPresent: of(fairByPresent, index),
        weightsLeft: byPosition(positions, (position) => left?.[baseAt(position)]?.[index] ?? WHOLE_WEIGHT),
      },
    ]),
  );
}

function byPosition<T>(positions: readonly number[], valueAt: (position: number, at: number) => T): readonly T[] {
  const values: T[] = [];
  for (const [at, position] of positions.entries()) values[position] = valueAt(position, at);
  return values;
}

/** What is stated and counted of accelerators in all goes for each type of them. */
const baseAt = (position: number): 0 | 1 | 2 => (position < FIRST_TYPE_AT ? (position as 0 | 1 | 2) : ACCELERATORS_AT);

/** As teams state them; of cores and memory they are divided alike, unless weights are all that counts. */
const plainWeights = (nodes: readonly TeamNode[], byWeight: boolean): readonly (readonly number[])[] =>
  COMPARED.map((position) =>
    nodes.map(({ team }) => (position === ACCELERATORS_AT || byWeight ? (team.weight ?? 1) : 1)),
  );

const finite = (amount: number | undefined): number | null =>
  amount === undefined || amount === Number.POSITIVE_INFINITY ? null : amount;

function parentsFirst({ teamUse }: World): TeamNode[] {
  const nodes: TeamNode[] = [...teamUse.roots()];
  for (let index = 0; index < nodes.length; index++) nodes.push(...(nodes[index] as TeamNode).children);
  return nodes;
}

/** What a team may claim of a resource: the larger of guarantee and fair share, within its limit; all there is where nothing bounds it. */
export const entitlementOf = (teamShare: TeamShare, position: number): number =>
  boundedBy(teamShare, position, entitlementBy(teamShare, position, teamShare.fair[position] as number));

/** What it may evict others for. */
export const entitlementToPreempt = (teamShare: TeamShare, position: number): number => {
  const fair = Math.min(teamShare.fair[position] as number, teamShare.fairByPresent[position] as number);
  return boundedBy(teamShare, position, entitlementBy(teamShare, position, fair));
};

/**
 * What it keeps: only what is above may be evicted, and nothing is above where everything is guaranteed, also where nodes that take no
 * work any more still hold some. With past use a fair share changes by time alone, so evictions need both
 * shares to agree: each brings teams nearer to their shares by what is held now, and that comes to an end. Past use decides who is next
 * and may keep a team from taking; nobody is evicted on its account who could not be without it.
 */
export const entitlementToKeep = (teamShare: TeamShare, position: number): number =>
  entitlementBy(
    teamShare,
    position,
    Math.max(teamShare.fair[position] as number, teamShare.fairByPresent[position] as number),
  );

function entitlementBy({ node }: TeamShare, position: number, fair: number): number {
  const guaranteed = node.guaranteed[position] as number;
  return Math.min(node.limit[position] ?? Number.POSITIVE_INFINITY, Math.max(guaranteed, fair));
}

const boundedBy = ({ total }: TeamShare, position: number, entitlement: number): number =>
  entitlement === Number.POSITIVE_INFINITY ? (total[position] as number) : entitlement;

/** The largest part of any resource's claim that it would hold with this much more and less; a claim of nothing weighs a thousandfold. */
export function dominantShare(
  teamShare: TeamShare,
  more: Amount | null,
  taken: readonly number[] | null = null,
): number {
  let share = 0;
  for (const position of teamShare.positions) {
    const held = (teamShare.node.used[position] ?? 0) - (taken?.[position] ?? 0);
    const used = held + (more === null ? 0 : amountAt(more, position));
    const entitlement = entitlementOf(teamShare, position);
    share = Math.max(share, entitlement === 0 ? 1000 * used : used / entitlement);
  }
  return share;
}
