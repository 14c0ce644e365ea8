/** Shares of requests by weight, for replicas whose weights differ. */
import { negativeLog } from "./rendezvous.ts";

interface Weighted {
  readonly weight: number;
}

const LN2 = 0.6931471805599453;

export function isUneven(pool: readonly Weighted[]): boolean {
  const weight = pool[0]?.weight;
  for (const replica of pool) if (replica.weight !== weight) return true;
  return false;
}

/**
 * An exponential draw with the mean 1. Divided by weights, the least of such draws is each replica's with a probability
 * in proportion to its weight. So idle replicas get their shares. Without it, a heavy replica that is idle would get
 * every request, and a light one every request that comes while the heavy one has any.
 */
export function shareOfOwnWork(draw: () => number): number {
  return LN2 * negativeLog((draw() + 0.5) / 0x1_0000_0000);
}

/**
 * Turns by weight (the smooth weighted round robin of nginx): among replicas with the weights 9 and 1, the second has
 * every tenth turn.
 */
export class WeightedTurns {
  readonly #credits = new WeakMap<Weighted, number>();

  next<Replica extends Weighted>(pool: readonly Replica[]): Replica {
    let best = pool[0] as Replica;
    let most = -Infinity;
    let total = 0;
    for (const replica of pool) {
      const credit = (this.#credits.get(replica) ?? 0) + replica.weight;
      this.#credits.set(replica, credit);
      total += replica.weight;
      if (credit <= most) continue;
      best = replica;
      most = credit;
    }
    this.#credits.set(best, most - total);
    return best;
  }
}
