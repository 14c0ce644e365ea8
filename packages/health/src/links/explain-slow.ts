/**
 * Finds the ends that explain slow pairs: the network adapter of a node, or the uplink of a leaf. The end with the most slow pairs is
 * taken first, and its pairs explain nothing else.
 */
import { MAD_TO_SIGMA, medianOf } from "../statistics.ts";
import type { LinkMeasure, MeasuredPair } from "./measured-pairs.ts";

/** Pairs of one kind from which on a comparison says something. */
const PAIRS_MIN = 4;
/** Least standard deviation, as a part of the median: that of a few pairs is small by chance. */
const SIGMA_PART: Readonly<Record<LinkMeasure, number>> = { throughput: 0.03, latency: 0.1 };
/** A slow pair lies this far from the median, and further where few pairs are compared. */
const DEVIATIONS_MIN = 5;
const FEW_DEVIATIONS = 20;
/** An end with more than this part of the pairs is compared with those of others alone, because it would move the median. */
const SHARE_MAX = 0.2;
/** Ends that are found in one pool. */
const ENDS_MAX = 8;

export interface Reference {
  readonly median: number;
  readonly sigma: number;
  readonly count: number;
}

export const isWithin = ({ leaves: [left, right] }: MeasuredPair): boolean => left === right;

/** `null`: too few to compare. */
function referenceOf(pairs: readonly MeasuredPair[]): Reference | null {
  const [first] = pairs;
  if (first === undefined || pairs.length < PAIRS_MIN) return null;
  const median = medianOf(pairs.map(({ value }) => value));
  const mad = medianOf(pairs.map(({ value }) => Math.abs(value - median)));
  const sigma = Math.max(MAD_TO_SIGMA * mad, SIGMA_PART[first.measure] * median);
  return sigma > 0 ? { median, sigma, count: pairs.length } : null;
}

/** Standard deviations by which a pair is worse than the median; negative: better. */
export const deviationsOf = ({ measure, value }: MeasuredPair, { median, sigma }: Reference): number =>
  (measure === "latency" ? value - median : median - value) / sigma;

const isSlow = (pair: MeasuredPair, reference: Reference): boolean =>
  deviationsOf(pair, reference) >= DEVIATIONS_MIN + FEW_DEVIATIONS / reference.count;

/** References of pairs within a leaf and across leaves. */
export class References {
  readonly #within: Reference | null;
  readonly #across: Reference | null;

  constructor(pairs: readonly MeasuredPair[]) {
    this.#within = referenceOf(pairs.filter(isWithin));
    this.#across = referenceOf(pairs.filter((pair) => !isWithin(pair)));
  }

  of(pair: MeasuredPair): Reference | null {
    return isWithin(pair) ? this.#within : this.#across;
  }

  isSlow(pair: MeasuredPair): boolean {
    const reference = this.of(pair);
    return reference !== null && isSlow(pair, reference);
  }
}

export type Ends = "nodes" | "leaves";

/** The ends about whose state now a pair says something. */
export const endsOf = (pair: MeasuredPair, ends: Ends): ReadonlySet<string> =>
  new Set(pair[ends].filter((_, index) => pair.isOld[index] !== true));

/**
 * Returns the pairs that each slow end explains. `accepts`: whether the slow ones among the pairs of an end mean the end. Pairs that are
 * old for an end are explained by it, but do not speak for it.
 */
export function explainSlow(
  pairs: readonly MeasuredPair[],
  ends: Ends,
  accepts: (end: string, own: readonly MeasuredPair[], slow: ReadonlySet<MeasuredPair>) => boolean,
): ReadonlyMap<string, readonly MeasuredPair[]> {
  const found = new Map<string, readonly MeasuredPair[]>();
  let rest = pairs;
  while (found.size < ENDS_MAX) {
    const worst = worstEnd(rest, ends, accepts);
    if (worst === null) break;
    const own = rest.filter((pair) => pair[ends].includes(worst));
    found.set(worst, own);
    rest = rest.filter((pair) => !pair[ends].includes(worst));
  }
  return found;
}

function worstEnd(
  pairs: readonly MeasuredPair[],
  ends: Ends,
  accepts: Parameters<typeof explainSlow>[2],
): string | null {
  const all = new References(pairs);
  const byEnd = new Map<string, MeasuredPair[]>();
  for (const pair of pairs)
    for (const end of endsOf(pair, ends)) {
      const own = byEnd.get(end);
      if (own === undefined) byEnd.set(end, [pair]);
      else own.push(pair);
    }
  let worst: { readonly end: string; readonly count: number } | null = null;
  for (const [end, own] of byEnd) {
    const isLarge = own.length > SHARE_MAX * pairs.length;
    const references = isLarge ? new References(pairs.filter((pair) => !pair[ends].includes(end))) : all;
    const slow = new Set(own.filter((pair) => references.isSlow(pair)));
    const isWorse = worst === null || slow.size > worst.count || (slow.size === worst.count && end < worst.end);
    if (slow.size > 0 && isWorse && accepts(end, own, slow)) worst = { end, count: slow.size };
  }
  return worst?.end ?? null;
}
