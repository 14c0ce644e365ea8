/** The amount by which a team exceeds its guarantee, as a fraction. Two teams are compared without rounding. */
import { compareProducts } from "@headroom/model";

export interface Share {
  /** Usage above the guarantee, for the resource with the largest relative excess. */
  readonly borrowed: number;
  /** Capacity that the team's parent has of this resource when no work runs. */
  readonly lendable: number;
  /** Weight in thousandths. The share is divided by it, so a team with a larger weight may borrow more. */
  readonly weightMilli: number;
  /** Whether the team holds more than its guarantee of any resource. */
  readonly isBorrowing: boolean;
}

/**
 * Orders shares. The team with the larger share is the better victim and the worse preemptor. A borrowing team of
 * weight 0 has a larger share than any team with a weight. Two borrowing teams of weight 0 are compared by the borrowed
 * amount.
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

/** The weight of an empty share does not matter, but it must not make the product on the other side zero. */
const weightOrOne = (share: Share): number => (share.borrowed === 0 ? 1 : share.weightMilli);
