/** The keys by which sibling teams are compared (`TeamOrderKey`), most significant first; ties end in the order of definition. */
import type { TeamOrderKey } from "../../policy/policy.ts";
import { ACCELERATORS_AT, CORES_AT, MEMORY_AT } from "../../state/team-node.ts";
import type { Amount } from "../../state/team-node.ts";
import { COMPARED, amountAt, claimOf, dominantShare } from "./standing.ts";
import type { Standing } from "./standing.ts";
import type { WeightLeft } from "./weights-after-use.ts";

/** A team as it is seen with a request of work below it. */
export interface Seen {
  readonly standing: Standing;
  readonly request: Amount;
  /** What a plan in the making takes from it, by resource position; its dominant share is seen without that. */
  readonly taken: readonly number[] | null;
}

export type CompareTeams = (left: Seen, right: Seen) => number;

const keysOfRequests: ReadonlySet<TeamOrderKey> = new Set([
  "within-guarantee",
  "without-claim-last",
  "share-with",
  "weighted-use",
]);

/** Whether it matters for the turn of a team what its best request asks for. */
export const comparesRequests = (keys: readonly TeamOrderKey[]): boolean => keys.some((key) => keysOfRequests.has(key));

export function teamComparison(keys: readonly TeamOrderKey[]): CompareTeams {
  return (left, right) => {
    for (const key of keys) {
      const difference = comparisons[key](left, right);
      if (difference !== 0) return difference;
    }
    return left.standing.node.ordinal - right.standing.node.ordinal;
  };
}

/** Teams for which a statement is true go before (or behind) the others. */
const first =
  (holds: (seen: Seen) => boolean): CompareTeams =>
  (left, right) =>
    Number(holds(right)) - Number(holds(left));
const last =
  (holds: (seen: Seen) => boolean): CompareTeams =>
  (left, right) =>
    Number(holds(left)) - Number(holds(right));
const ascending =
  (value: (seen: Seen) => number): CompareTeams =>
  (left, right) => {
    const [leftValue, rightValue] = [value(left), value(right)];
    return leftValue < rightValue ? -1 : leftValue > rightValue ? 1 : 0;
  };

const usedAt = ({ node }: Standing, position: number): number => node.used[position] ?? 0;
/** What past use leaves of the weight that the team states. */
const weightAt = ({ node, weightsLeft }: Standing, position: number): number => {
  const { part, whole } = weightsLeft[position] as WeightLeft;
  return ((node.team.weight ?? 1) * part) / whole;
};
/** What a team without any guarantee is guaranteed is nothing; a resource that a guarantee does not name has no bound. */
export const guaranteeAt = ({ node }: Standing, position: number): number =>
  node.guarantee[position] ?? (node.team.guarantee === undefined ? 0 : Number.POSITIVE_INFINITY);

/** Accelerators before cores before memory. */
const CLAIMS_COMPARED = [ACCELERATORS_AT, CORES_AT, MEMORY_AT];

const comparisons: { readonly [Key in TeamOrderKey]: CompareTeams } = {
  "above-share-last": last(({ standing }) =>
    COMPARED.every((position) => usedAt(standing, position) > (standing.fair[position] as number)),
  ),
  "within-guarantee": first(({ standing, request }) =>
    COMPARED.every(
      (position) => usedAt(standing, position) + amountAt(request, position) <= guaranteeAt(standing, position),
    ),
  ),
  priority: ascending(({ standing: { node } }) => -(node.team.priority ?? 0)),
  "without-claim-last": last(({ standing, request }) =>
    COMPARED.some(
      (position) => claimOf(standing, position) === 0 && usedAt(standing, position) + amountAt(request, position) > 0,
    ),
  ),
  "share-with": ascending(({ standing, request, taken }) => dominantShare(standing, request, taken)),
  share: ascending(({ standing }) => dominantShare(standing, null)),
  claim: ({ standing: left }, { standing: right }) => {
    // Whoever may claim no more of anything and less of something goes first in this order too.
    const position = CLAIMS_COMPARED.find((at) => claimOf(left, at) !== claimOf(right, at));
    return position === undefined ? 0 : claimOf(left, position) - claimOf(right, position);
  },
  "weighted-use": ascending(({ standing, request }) =>
    Math.max(
      ...COMPARED.map(
        (position) =>
          (usedAt(standing, position) + amountAt(request, position)) /
          Math.max(1, standing.total[position] as number) /
          weightAt(standing, position),
      ),
    ),
  ),
  "guarantee-ratio": ascending(({ standing }) =>
    Math.max(
      ...COMPARED.map((position) => {
        const guarantee = guaranteeAt(standing, position);
        return guarantee === 0 ? 0 : usedAt(standing, position) / guarantee;
      }),
    ),
  ),
  name: ({ standing: left }, { standing: right }) =>
    left.node.name < right.node.name ? -1 : left.node.name > right.node.name ? 1 : 0,
};
