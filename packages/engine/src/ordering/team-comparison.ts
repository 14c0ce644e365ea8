/**
 * Compares sibling teams by the policy's keys (`TeamOrderKey`), the most significant key first. Teams with equal keys
 * go in the order in which they are defined.
 */
import type { TeamOrderKey } from "@headroom/model";
import { ACCELERATORS_AT, CORES_AT, MEMORY_AT, amountAt } from "../cluster/team-node.ts";
import type { Amount } from "../cluster/team-node.ts";
import { entitlementOf, dominantShare } from "./team-share.ts";
import type { TeamShare } from "./team-share.ts";
import type { WeightLeft } from "./weights-after-usage.ts";

/** Input of a comparison: a team, and the best request of this team and the teams below it. */
export interface Seen {
  readonly teamShare: TeamShare;
  readonly request: Amount;
  /**
   * Amounts that were tentatively evicted from the team, by resource position. The dominant share of the team is
   * computed without these amounts.
   */
  readonly taken: readonly number[] | null;
}

export type CompareTeams = (left: Seen, right: Seen) => number;

const keysOfRequests: ReadonlySet<TeamOrderKey> = new Set([
  "within-guarantee",
  "without-entitlement-last",
  "share-with",
  "weighted-use",
]);

/** Returns whether the order of teams depends on the size of their best requests. */
export const comparesRequests = (keys: readonly TeamOrderKey[]): boolean => keys.some((key) => keysOfRequests.has(key));

export function teamComparison(keys: readonly TeamOrderKey[]): CompareTeams {
  return (left, right) => {
    for (const key of keys) {
      const difference = compareRanks(rankOf[key](left), rankOf[key](right));
      if (difference !== 0) return difference;
    }
    return left.teamShare.node.ordinal - right.teamShare.node.ordinal;
  };
}

/** The rank of a team by one key. The team with the smaller rank goes first. Lists are compared number by number. */
type Rank = number | string | readonly number[];

function compareRanks(left: Rank, right: Rank): number {
  if (typeof left === "object" && typeof right === "object") {
    const at = left.findIndex((value, index) => value !== right[index]);
    return at < 0 ? 0 : (left[at] as number) - (right[at] as number);
  }
  return left < right ? -1 : left > right ? 1 : 0;
}

/** A team in a round, with ranks cached until one of their inputs changes. */
export class RankedTeam {
  readonly #keys: readonly TeamOrderKey[];
  #seen: Seen | null = null;
  #useEpoch = -1;
  readonly #ranks: Rank[] = [];

  constructor(keys: readonly TeamOrderKey[]) {
    this.#keys = keys;
  }

  /** Drops the cached ranks, because the team's best request has changed. */
  forget(): void {
    this.#seen = null;
  }

  /**
   * Sets the values from which the team's ranks are computed. Does nothing if `useEpoch`, which counts changes of
   * usage, is the same as at the last call.
   */
  see(seen: () => Seen, useEpoch: number): void {
    if (this.#seen !== null && this.#useEpoch === useEpoch) return;
    this.#seen = seen();
    this.#useEpoch = useEpoch;
    this.#ranks.length = 0;
  }

  /** Compares two teams by their ranks. `see` must have been called for both teams. */
  compare(other: RankedTeam): number {
    for (let index = 0; index < this.#keys.length; index++) {
      const difference = compareRanks(this.#rank(index), other.#rank(index));
      if (difference !== 0) return difference;
    }
    return (this.#seen as Seen).teamShare.node.ordinal - (other.#seen as Seen).teamShare.node.ordinal;
  }

  #rank(index: number): Rank {
    return (this.#ranks[index] ??= rankOf[this.#keys[index] as TeamOrderKey](this.#seen as Seen));
  }
}

/** Puts teams for which a condition holds before (or after) the others. */
const first =
  (holds: (seen: Seen) => boolean) =>
  (seen: Seen): number =>
    holds(seen) ? 0 : 1;
const last =
  (holds: (seen: Seen) => boolean) =>
  (seen: Seen): number =>
    holds(seen) ? 1 : 0;

const usedAt = ({ node }: TeamShare, position: number): number => node.used[position] ?? 0;
/** The team's weight after the reduction by its usage history. */
const weightAt = ({ node, weightsLeft }: TeamShare, position: number): number => {
  const { part, whole } = weightsLeft[position] as WeightLeft;
  return ((node.team.weight ?? 1) * part) / whole;
};
/** Resource positions in the order in which entitlements are compared: accelerators, cores, memory. */
const ENTITLEMENTS_COMPARED = [ACCELERATORS_AT, CORES_AT, MEMORY_AT];

const rankOf: { readonly [Key in TeamOrderKey]: (seen: Seen) => Rank } = {
  "above-share-last": last(({ teamShare }) =>
    teamShare.positions.every((position) => usedAt(teamShare, position) > (teamShare.fair[position] as number)),
  ),
  "within-guarantee": first(({ teamShare, request }) =>
    teamShare.positions.every(
      (position) =>
        usedAt(teamShare, position) + amountAt(request, position) <= (teamShare.node.guaranteed[position] as number),
    ),
  ),
  priority: ({ teamShare: { node } }) => -(node.team.priority ?? 0),
  "without-entitlement-last": last(({ teamShare, request }) =>
    teamShare.positions.some(
      (position) =>
        entitlementOf(teamShare, position) === 0 && usedAt(teamShare, position) + amountAt(request, position) > 0,
    ),
  ),
  "share-with": ({ teamShare, request, taken }) => dominantShare(teamShare, request, taken),
  share: ({ teamShare }) => dominantShare(teamShare, null),
  // Entitlements are compared resource by resource. So a team goes first if one of its entitlements is smaller and none
  // is larger.
  entitlement: ({ teamShare }) => ENTITLEMENTS_COMPARED.map((position) => entitlementOf(teamShare, position)),
  "weighted-use": ({ teamShare, request }) =>
    Math.max(
      ...teamShare.positions.map(
        (position) =>
          (usedAt(teamShare, position) + amountAt(request, position)) /
          Math.max(1, teamShare.total[position] as number) /
          weightAt(teamShare, position),
      ),
    ),
  "guarantee-ratio": ({ teamShare }) =>
    Math.max(
      ...teamShare.positions.map((position) => {
        const guarantee = teamShare.node.guaranteed[position] as number;
        return guarantee === 0 ? 0 : usedAt(teamShare, position) / guarantee;
      }),
    ),
  name: ({ teamShare }) => teamShare.node.name,
};
