/**
 * Team shares in a round: usage, demand and fair share of each resource, by resource position (`cluster/team-use.ts`).
 * Fair shares are computed from the demand at the start of the phase. Usage is the current usage at each read.
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

/**
 * The unit to which shares are rounded: 1 MiB of memory, 1000 thousandths of a core, or 1000 thousandths of an
 * accelerator.
 */
const unitAt = (position: number): number => (position === MEMORY_AT ? 1 : 1000);

export interface TeamShare {
  readonly node: TeamNode;
  /** Positions of the compared resources. The lists below have a value at each of these positions. */
  readonly positions: readonly number[];
  readonly fair: readonly number[];
  /** Fair share computed without usage history. No work below this level is evicted. */
  readonly fairByPresent: readonly number[];
  /** Fraction of the team's weight that remains after the reduction by its usage history. */
  readonly weightsLeft: readonly WeightLeft[];
  readonly total: readonly number[];
}

export type TeamShares = ReadonlyMap<TeamNode, TeamShare>;

/**
 * Team shares, cached until the next event. They depend on the recorded demand, so tentative evictions do not change
 * them.
 */
interface KnownShares {
  /**
   * Identifies the state from which `value` was computed: the sequence of the state, the queue's count of changes, and
   * the step of the usage history.
   */
  key: string;
  value: TeamShares | null;
  /** The team shares that stay fixed during a phase; `null` if no phase has fixed them. */
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
 * Runs `act` with the team shares fixed at their present values. Decisions do not change them anyway (`demand.ts`), and
 * computing them again for each of thousands of plans would take most of the round.
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

/**
 * The resource position whose weight applies to `position`. The weight for accelerators also applies to each
 * accelerator type.
 */
const baseAt = (position: number): 0 | 1 | 2 => (position < FIRST_TYPE_AT ? (position as 0 | 1 | 2) : ACCELERATORS_AT);

/**
 * The weights of the teams before usage history. The weights that teams state apply to accelerators. Cores and memory
 * are divided with equal weights, unless the policy divides by weight alone.
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
 * A team's entitlement to a resource: the larger of its guarantee and its fair share, within its limit. Without any of
 * these bounds it is the total of the fleet.
 */
export const entitlementOf = (teamShare: TeamShare, position: number): number =>
  boundedBy(teamShare, position, entitlementBy(teamShare, position, teamShare.fair[position] as number));

/**
 * The usage up to which a team may reclaim from other teams: its entitlement, computed with the smaller of its two fair
 * shares, with and without usage history.
 */
export const entitlementToPreempt = (teamShare: TeamShare, position: number): number => {
  const fair = Math.min(teamShare.fair[position] as number, teamShare.fairByPresent[position] as number);
  return boundedBy(teamShare, position, entitlementBy(teamShare, position, fair));
};

/**
 * The usage that a team keeps: only usage above it may be evicted. It is the team's entitlement, computed with the
 * larger of its two fair shares, with and without usage history. A team with an unlimited guarantee keeps everything,
 * even work on nodes that take no new work. Fair shares with usage history change as time passes. Because an eviction
 * needs both fair shares to agree, each eviction moves teams towards their shares of current usage, and evictions come
 * to an end. Usage history decides the order and may prevent a team from reclaiming, but no work is evicted only
 * because of it.
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
 * The team's largest ratio of usage to entitlement over all resources, with `more` added to its usage and `taken`
 * subtracted. If the entitlement is zero, the ratio is 1000 times the usage.
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
