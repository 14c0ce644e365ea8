/** How far a team lives beyond its guarantee, as a fraction that two teams can be compared by without rounding. */
import { compareProducts } from "../base/exact.ts";

export interface Share {
  /** Usage above the guarantee, of the resource with the largest relative excess. */
  readonly borrowed: number;
  /** Capacity of that resource for the parent in an empty tree. */
  readonly lendable: number;
  /** In thousandths; a heavier team may borrow more before it counts as equal. */
  readonly weightMilli: number;
  /** Whether it holds more than its guarantee of anything at all. */
  readonly isBorrowing: boolean;
}

/**
 * Orders shares: the larger is the better victim and the worse preemptor. A borrowing team without weight is above all
 * teams with weight; two such compare by the borrowed amount.
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

/** The weight of a share that is nothing does not matter, and must not make the other side nothing. */
const weightOrOne = (share: Share): number => (share.borrowed === 0 ? 1 : share.weightMilli);
