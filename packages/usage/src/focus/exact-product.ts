/**
 * Quantities whose product with a price is the same number in decimal arithmetic and in doubles, because readers of FOCUS
 * files compare unit price times quantity with the cost in either.
 */
const QUANTITY_DIGITS = 6;
/** Decimals of prices of accelerator-hours. */
const PRICE_DIGITS = 4;
const SCALE = 10 ** QUANTITY_DIGITS;
/** Steps of one millionth that a quantity may be moved by. */
const STEPS_MAX = 60;

export interface Product {
  readonly quantity: number;
  readonly cost: number;
}

/**
 * The nearest quantity to `quantity`, in millionths, for which `price * quantity` in doubles is the double nearest to the
 * exact decimal product. `price` has at most `priceDigits` decimals.
 */
export function exactProduct(price: number, quantity: number, priceDigits = PRICE_DIGITS): Product {
  const millionths = Math.round(quantity * SCALE);
  for (let step = 0; step <= STEPS_MAX; step++)
    for (const sign of step === 0 ? [1] : [1, -1]) {
      const moved = millionths + sign * step;
      if (millionths !== 0 && Math.sign(moved) !== Math.sign(millionths)) continue;
      const candidate = moved / SCALE;
      const cost = price * candidate;
      if (cost === decimalProduct(price, moved, priceDigits)) return { quantity: candidate, cost };
    }
  // No quantity near by: a whole number of units is exact enough to be found always for prices below a million.
  const whole = Math.round(quantity);
  return { quantity: whole, cost: price * whole };
}

/** The double nearest to the decimal product of a price and millionths. */
function decimalProduct(price: number, millionths: number, priceDigits: number): number {
  const digits = BigInt(Math.round(price * 10 ** priceDigits)) * BigInt(millionths);
  const sign = digits < 0n ? "-" : "";
  const decimals = priceDigits + QUANTITY_DIGITS;
  const text = (digits < 0n ? -digits : digits).toString().padStart(decimals + 1, "0");
  return Number(`${sign}${text.slice(0, -decimals)}.${text.slice(-decimals)}`);
}
