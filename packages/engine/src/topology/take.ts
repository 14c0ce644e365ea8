/** Takes domains in order until an amount is covered. */
import type { DomainOrder } from "./counts.ts";

/** An amount given to a domain, in slices or in workers. */
export interface Portion {
  readonly domain: number;
  readonly amount: number;
}

/**
 * The first domains, in order, that together hold the amount, with the portion of each, or null if all domains together
 * hold less. With `mostFirst`, the last domain is replaced by the smallest one that holds the rest; ties go to the
 * first.
 */
export function takeUntilCovered(
  domains: readonly number[],
  held: (domain: number) => number,
  needed: number,
  order: DomainOrder,
): Portion[] | null {
  const portions: Portion[] = [];
  let missing = needed;
  for (const [index, domain] of domains.entries()) {
    const amount = held(domain);
    if (amount >= missing) {
      const last = order === "mostFirst" ? smallestThatHolds(domains, held, missing, index) : domain;
      portions.push({ domain: last, amount: missing });
      return portions;
    }
    if (amount > 0) portions.push({ domain, amount });
    missing -= amount;
  }
  return null;
}

/** The smallest domain from position `from` on that holds the amount; ties go to the first. At least one holds it. */
function smallestThatHolds(
  domains: readonly number[],
  held: (domain: number) => number,
  amount: number,
  from: number,
): number {
  let best = -1;
  let bestHeld = Infinity;
  for (let index = from; index < domains.length; index++) {
    const each = held(domains[index] as number);
    if (each < amount || each >= bestHeld) continue;
    best = domains[index] as number;
    bestHeld = each;
  }
  return best;
}
