/** By how much a team exceeds its guarantee: a fraction that allows comparing two teams without rounding. */
import { compareProducts } from "../base/exact.ts";

export interface Share {
  /** Usage above the guarantee, of the resource with the largest relative excess. */
  readonly borrowed: number;
  /** Capacity of the team's parent for that resource in an empty tree. */
  readonly lendable: number;
  /** Weight in thousandths; a team with a larger weight may borrow more before its share is equal. */
  readonly weightMilli: number;
  /** Whether the team holds more than its guarantee of any resource. */
  readonly isBorrowing: boolean;
}

/**
 * Orders shares. The team with the larger share is the better victim and the worse preemptor. A borrowing team of
 * weight 0 is above all teams with weight; two teams of weight 0 compare by the borrowed amount.
 */
export function compareShares(left: Share, right: Share): number {
  const leftIsInfinite = isInfinite(left);
  if (leftIsInfinite !== isInfinite(right)) return leftIsInfinite ? 1 : -1;
  const leftWeightMilli = leftIsInfinite ? 1 : weightOrOne(left);
  const rightWeightMilli = leftIsInfinite ? 1 : weightOrOne(right);
  return compareProducts(
    [left.borrowed, right.lendable, rightWeightMilli],
    [right.borrowed, left.lendable, leftWeightMilli],
  );
}

const isInfinite = (share: Share): boolean => share.weightMilli === 0 && share.borrowed > 0;

/** The weight of an empty share does not matter, but must not make the product on the other side zero. */
const weightOrOne = (share: Share): number => (share.borrowed === 0 ? 1 : share.weightMilli);
