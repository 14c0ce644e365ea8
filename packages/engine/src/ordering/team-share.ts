/**
 * Team shares in a round: usage, demand and fair share of each resource, by position as in `cluster/team-use.ts`. Fair
 * shares use the demand at the start of the phase; usage is read as it changes.
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

/** The indivisible unit in the rounding of shares. */
const unitAt = (position: number): number => (position === MEMORY_AT ? 1 : 1000);

export interface TeamShare {
  readonly node: TeamNode;
  /** Positions of the compared resources. The lists that follow have one entry for each position. */
  readonly positions: readonly number[];
  readonly fair: readonly number[];
  /** Fair share without usage history: the level below which no work is evicted. */
  readonly fairByPresent: readonly number[];
  /** The remaining weight after usage history. */
  readonly weightsLeft: readonly WeightLeft[];
  readonly total: readonly number[];
}

export type TeamShares = ReadonlyMap<TeamNode, TeamShare>;

/** Cached until the next event: shares depend on the recorded demand, not on tentative evictions. */
interface KnownShares {
  /** Key of the sequence, queue and usage history from which `value` was computed. */
  key: string;
  value: TeamShares | null;
  /** The shares of the current phase; `null`: none. */
  held: TeamShares | null;
}
const knownTeamShares = new Slot<KnownShares>(() => ({ key: "", value: null, held: null }), { survivesUndo: false });

export function teamSharesOf(world: World): TeamShares {
  const known = world.scratch.get(knownTeamShares);
  if (known.held !== null) return known.held;
  // Work can also join the queue without an event, when its back-off or start window is over.
  const key = `${world.state.sequence} ${world.queue.changes} ${world.decayedUsage.step}`;
  if (known.value === null || known.key !== key) {
    known.value = computeTeamShares(world);
    known.key = key;
  }
  return known.value;
}

/**
 * Runs `body` with the shares at its start: its decisions do not change them (`demand.ts`), and recomputing them for
 * each of thousands of plans would dominate the round.
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

/** Position whose amount also bounds this one: an amount stated for all accelerators bounds each type. */
const baseAt = (position: number): 0 | 1 | 2 => (position < FIRST_TYPE_AT ? (position as 0 | 1 | 2) : ACCELERATORS_AT);

/**
 * Weights as teams state them for accelerators. Cores and memory are divided with equal weights, unless the strategy
 * divides by weight alone.
 */
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

/**
 * A team's entitlement to a resource: the larger of guarantee and fair share, within its limit; everything if nothing
 * bounds it.
 */
export const entitlementOf = (teamShare: TeamShare, position: number): number =>
  boundedBy(teamShare, position, entitlementBy(teamShare, position, teamShare.fair[position] as number));

/** The entitlement up to which a team may preempt others. */
export const entitlementToPreempt = (teamShare: TeamShare, position: number): number => {
  const fair = Math.min(teamShare.fair[position] as number, teamShare.fairByPresent[position] as number);
  return boundedBy(teamShare, position, entitlementBy(teamShare, position, fair));
};

/**
 * The level that a team keeps: only usage above it may be evicted, and no usage if everything is guaranteed, even on
 * nodes that no longer take work. With usage history, fair shares change by time alone, so evictions require that both
 * shares agree: each eviction then moves teams towards their shares of current usage, and the process ends. Usage
 * history decides the order and may prevent a team from reclaiming, but no work is evicted only because of it.
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

/**
 * The team's dominant share of its entitlement with this amount added and removed; an entitlement of zero counts a
 * thousandfold.
 */
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
