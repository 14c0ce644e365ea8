/**
 * Numbers of replicas of unlike accelerator types whose capacities add up to the traffic, in the order of their prices. A
 * type serves only the prompts that it can answer within the objective for the first token.
 */
import type { Objectives, ReplicaCapacity, Traffic } from "../capacity.ts";

/** Replicas of one accelerator type that can be had. */
export interface ReplicaOffer {
  readonly name: string;
  /** Price in money of one replica for an hour. */
  readonly pricePerHour: number;
  /** Capacity within given objectives. */
  readonly capacityFor: (objectives: Objectives) => ReplicaCapacity;
  /** Replicas that are kept in any case, and the most that quota, budget and fleet allow. */
  readonly held: number;
  readonly max: number;
}

/** Traffic with the objectives of its requests. */
export interface ClassTraffic extends Traffic {
  readonly objectives: Objectives;
}

export interface ReplicaMix {
  /** Number of replicas of each offer, in the order of the offers. */
  readonly counts: readonly number[];
  readonly pricePerHour: number;
  /** Capacity in times of the traffic. */
  readonly covered: number;
}

/** Share of the objective for the first token that the prompt itself may take. */
const PROMPT_SHARE = 0.7;
const MIXES_MAX = 200_000;

interface ServedShares {
  /** Part of the traffic of each class that one replica serves; 0: the class is too long for the type. */
  readonly classShares: readonly number[];
}

function fitOf(offer: ReplicaOffer, classes: readonly ClassTraffic[]): ServedShares {
  return {
    classShares: classes.map((traffic) => {
      const { objectives } = traffic;
      const capacity = offer.capacityFor(objectives);
      const promptMs = traffic.promptTokens * capacity.promptTokenMs(traffic.promptTokens);
      const isLate = promptMs > PROMPT_SHARE * objectives.ttftMs || capacity.tokenMs(traffic) > objectives.tpotMs;
      return isLate ? 0 : 1 / Math.max(1e-9, capacity.replicasFilled(traffic));
    }),
  };
}

/**
 * The part of the traffic that these numbers of replicas serve: replicas take the classes in which they are best beside
 * the others, greedily from the longest class, so the result is a lower bound.
 */
function coveredBy(counts: readonly number[], fits: readonly ServedShares[], classCount: number): number {
  const left = [...counts];
  let covered = Infinity;
  for (let at = classCount - 1; at >= 0; at -= 1) {
    let needed = 1;
    // Types that serve fewer of the shorter classes' requests per unit of this class go first.
    const order = fits
      .map((fit, index) => ({
        index,
        share: fit.classShares[at] ?? 0,
        shorter: at > 0 ? (fit.classShares[at - 1] ?? 0) : 1,
      }))
      .filter(({ share }) => share > 0)
      .toSorted(
        (a, b) => b.share / Math.max(1e-9, b.shorter) - a.share / Math.max(1e-9, a.shorter) || a.index - b.index,
      );
    for (const { index, share } of order) {
      const used = Math.min(left[index] ?? 0, needed / share);
      left[index] = (left[index] ?? 0) - used;
      needed -= used * share;
      if (needed <= 1e-9) break;
    }
    covered = Math.min(covered, 1 - needed);
  }
  if (covered < 1 - 1e-6) return covered;
  // Spare replicas, in times of the class that they serve best.
  const spare = fits.map((fit, index) => ((left[index] ?? 0) * Math.max(...fit.classShares)) / classCount);
  return 1 + spare.reduce((sum, each) => sum + each, 0);
}

/**
 * Mixes in order of price whose capacity is at least `least` times the traffic. `classes`: the traffic by length of
 * prompt, the shortest first.
 */
export function mixesByPrice(
  offers: readonly ReplicaOffer[],
  classes: readonly ClassTraffic[],
  least: number,
): readonly ReplicaMix[] {
  const fits = offers.map((offer) => fitOf(offer, classes));
  const mixes: ReplicaMix[] = [];
  const counts = offers.map(({ held }) => held);
  const most = offers.map((offer, index) => mostOf(offer, fits[index], least));
  const visit = (at: number): void => {
    if (mixes.length >= MIXES_MAX) return;
    if (at === offers.length) {
      const covered = coveredBy(counts, fits, classes.length);
      if (covered >= least) mixes.push({ counts: [...counts], pricePerHour: priceOf(offers, counts), covered });
      return;
    }
    for (let count = offers[at]?.held ?? 0; count <= (most[at] ?? 0); count += 1) {
      counts[at] = count;
      visit(at + 1);
    }
    counts[at] = offers[at]?.held ?? 0;
  };
  visit(0);
  return mixes.toSorted(
    (a, b) => a.pricePerHour - b.pricePerHour || b.covered - a.covered || compareCounts(a.counts, b.counts),
  );
}

/** Replicas of the type that serve everything alone, and one more. */
function mostOf(offer: ReplicaOffer, fit: ServedShares | undefined, least: number): number {
  const alone = (fit?.classShares ?? []).reduce((sum, share) => sum + (share > 0 ? 1 / share : 0), 0);
  return Math.min(offer.max, Math.max(offer.held, Math.ceil(alone * Math.max(1, least)) + 1));
}

const priceOf = (offers: readonly ReplicaOffer[], counts: readonly number[]): number =>
  offers.reduce((sum, { pricePerHour }, index) => sum + pricePerHour * (counts[index] ?? 0), 0);

function compareCounts(a: readonly number[], b: readonly number[]): number {
  for (const [index, count] of a.entries()) if (count !== b[index]) return count - (b[index] ?? 0);
  return 0;
}

export const mixText = (offers: readonly ReplicaOffer[], { counts }: ReplicaMix): string =>
  offers.flatMap(({ name }, index) => ((counts[index] ?? 0) > 0 ? [`${counts[index]} x ${name}`] : [])).join(" + ");
