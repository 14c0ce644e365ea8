/**
 * Fair shares of one resource. Every team first gets its guarantee, up to its request. The rest is divided by priority
 * and then by weight, in whole units. A share is an entitlement under present demand, not a limit. If the guarantees
 * are overcommitted, the shares may add up to more than the total.
 */
import { compareProducts, divideProduct } from "@headroom/model";

/**
 * The request of one team. Its amounts are safe integers in one unit, such as thousandths of an accelerator, or MiB.
 */
export interface ShareRequest {
  /**
   * Guarantee of the team, which it gets before the rest is divided. Null: everything that it requests is guaranteed.
   */
  readonly guarantee: number | null;
  /** Maximum share of the team, or null if there is no limit. */
  readonly limit: number | null;
  /** Amount that the team requests: its running and waiting work, with all teams below it. */
  readonly request: number;
  /**
   * Weight of the team, among teams of the same priority, when the rest is divided. Only ratios count. With weight 0
   * the team gets no share beyond its guarantee.
   */
  readonly weight: number;
  /** Teams of higher priority get the rest first, whatever the weights. Guarantees do not depend on priority. */
  readonly priority: number;
}

/**
 * Exact share of a team before it is rounded to whole units: `amount + remainder / divisor`, in the unit of the
 * amounts.
 */
interface Rest {
  readonly amount: number;
  readonly remainder: number;
  readonly divisor: number;
}

interface Division {
  readonly entitlements: readonly ShareRequest[];
  readonly weights: readonly number[];
  /** Maximum share of each team: its request, capped by its limit. */
  readonly mosts: readonly number[];
  readonly shares: number[];
  readonly rests: (Rest | null)[];
  readonly unit: number;
  left: number;
}

/**
 * The share of each team, in the order of the requests. This order also decides ties for the last units. An amount that
 * a team does not need goes to the other teams of its priority, and then to teams of the next lower priority.
 */
export function divideFairShare(total: number, entitlements: readonly ShareRequest[], unit: number): number[] {
  const mosts = entitlements.map((entitlement) =>
    Math.min(entitlement.request, entitlement.limit ?? entitlement.request),
  );
  const shares = entitlements.map((entitlement, index) =>
    Math.min(entitlement.guarantee ?? total, mosts[index] as number),
  );
  const left = total - shares.reduce((sum, share) => sum + share, 0);
  const weights = wholeWeights(entitlements);
  const division: Division = { entitlements, weights, mosts, shares, rests: entitlements.map(() => null), unit, left };
  if (left <= 0) return shares;

  const groups = groupsByPriority(entitlements);
  for (const group of groups) divideByWeight(division, group);
  for (const group of groups) giveLastUnits(division, group);
  return shares;
}

/**
 * A request in a tree of teams. `parent`: the index of an earlier entry, or -1 at the top. The requested amount is that
 * of the team's own work, without the teams below it.
 */
export interface TreeShareRequest extends ShareRequest {
  readonly parent: number;
}

/**
 * Fair shares in a tree of teams. The teams at the top divide the fleet, and each team's share is divided among its
 * children. A team requests the sum of everything below it, capped by its limit.
 */
export function divideDownTree(total: number, entitlements: readonly TreeShareRequest[], unit: number): number[] {
  const requests = entitlements.map((entitlement) => entitlement.request);
  const children: number[][] = entitlements.map(() => []);
  const top: number[] = [];
  for (let index = entitlements.length - 1; index >= 0; index--) {
    const { parent } = entitlements[index] as TreeShareRequest;
    if (parent >= 0) requests[parent] = (requests[parent] as number) + (requests[index] as number);
  }
  for (const [index, { parent }] of entitlements.entries())
    (parent < 0 ? top : (children[parent] as number[])).push(index);

  const shares = entitlements.map(() => 0);
  const divideAmong = (amount: number, members: readonly number[]): void => {
    const asked = members.map((index) => ({
      ...(entitlements[index] as TreeShareRequest),
      request: requests[index] as number,
    }));
    for (const [position, share] of divideFairShare(amount, asked, unit).entries()) {
      shares[members[position] as number] = share;
    }
  };
  divideAmong(total, top);
  for (const [index, members] of children.entries()) {
    if (members.length > 0) divideAmong(shares[index] as number, members);
  }
  return shares;
}

/**
 * Indexes of the requests, grouped by priority. Larger priorities come first. Each group keeps the order of the
 * requests.
 */
function groupsByPriority(entitlements: readonly ShareRequest[]): readonly (readonly number[])[] {
  const groups = new Map<number, number[]>();
  for (const [index, entitlement] of entitlements.entries()) {
    const group = groups.get(entitlement.priority);
    if (group === undefined) groups.set(entitlement.priority, [index]);
    else group.push(index);
  }
  return [...groups].toSorted((left, right) => right[0] - left[0]).map((entry) => entry[1]);
}

/** Divides the rest by weight. Rounds are repeated until no team is below its part. */
function divideByWeight(division: Division, group: readonly number[]): void {
  while (division.left > 0) {
    const lacking = group.filter((index) => lack(division, index) > 0);
    const weightSum = lacking.reduce((sum, index) => sum + weightOf(division, index), 0);
    if (weightSum === 0) return;
    const amount = division.left;
    let wasGenerous = false;
    for (const index of lacking) {
      const part = divideProduct(amount, weightOf(division, index), weightSum);
      if (part.quotient === 0 && part.remainder === 0) continue;
      const lacked = lack(division, index);
      if (lacked <= part.quotient) {
        give(division, index, lacked);
        division.rests[index] = null;
        wasGenerous ||= lacked < part.quotient || part.remainder > 0;
      } else {
        const rest = part.quotient % division.unit;
        give(division, index, part.quotient - rest);
        division.rests[index] = { amount: rest, remainder: part.remainder, divisor: weightSum };
      }
    }
    if (!wasGenerous) return;
  }
}

/**
 * Distributes the units that were lost by rounding down. Each team gets at most one unit, and teams with the largest
 * remainder get theirs first.
 */
function giveLastUnits(division: Division, group: readonly number[]): void {
  const waiting = group.filter((index) => division.rests[index] !== null);
  waiting.sort(
    (left, right) => compareRests(division.rests[right] as Rest, division.rests[left] as Rest) || left - right,
  );
  for (const index of waiting) {
    give(division, index, Math.min(division.unit, division.left, lack(division, index)));
  }
}

function compareRests(left: Rest, right: Rest): number {
  if (left.amount !== right.amount) return left.amount - right.amount;
  return compareProducts([left.remainder, right.divisor, 1], [right.remainder, left.divisor, 1]);
}

function give(division: Division, index: number, amount: number): void {
  division.shares[index] = (division.shares[index] as number) + amount;
  division.left -= amount;
}

const lack = (division: Division, index: number): number =>
  (division.mosts[index] as number) - (division.shares[index] as number);

const weightOf = (division: Division, index: number): number => division.weights[index] as number;

/** Weights as whole numbers, so that products with them are exact. Only ratios count; they are exact to a millionth. */
function wholeWeights(entitlements: readonly ShareRequest[]): readonly number[] {
  const weights = entitlements.map(({ weight }) => weight);
  return weights.every(Number.isInteger) ? weights : weights.map((weight) => Math.round(weight * 1_000_000));
}
