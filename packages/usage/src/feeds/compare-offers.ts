/** Offers of checked feeds by the price of a useful hour. A price with a defect is no offer. */
import type { FeedVerdict } from "./check-feed.ts";
import { usefulHour, type UsefulHour } from "./useful-hour.ts";

export type OfferMarket = "on-demand" | "spot";

export interface OfferQuestion {
  /** Part of the accelerator's name, in any case; absent: all accelerators. */
  readonly accelerator?: string | undefined;
  /** Interruptions of spot capacity per hour. */
  readonly spotHazardPerHour: number;
  /** Hours that one checkpoint and one restart take. */
  readonly checkpointHours: number;
  readonly restartHours: number;
  /** US dollars to move the data, and the work over which they are spread. */
  readonly egressUsd: number;
  readonly workHours: number;
  readonly accelerators: number;
  /** Useful work of a provider's hour relative to the reference; absent: 1. */
  readonly speeds: ReadonlyMap<string, number>;
}

/** The conditions of the work as a user states them. */
export interface StatedConditions {
  readonly accelerator?: string | undefined;
  /** Mean hours between interruptions of spot capacity. */
  readonly interruptionEveryHours: number;
  readonly checkpointS: number;
  readonly restartS: number;
  readonly egressUsd: number;
  readonly workHours: number;
  readonly accelerators: number;
  readonly speeds?: readonly (readonly [provider: string, speed: number])[] | undefined;
}

const HOUR_SECONDS = 3_600;

export function offerQuestion(stated: StatedConditions): OfferQuestion {
  const { accelerator, egressUsd, workHours, accelerators, speeds = [] } = stated;
  return {
    accelerator,
    spotHazardPerHour: 1 / stated.interruptionEveryHours,
    checkpointHours: stated.checkpointS / HOUR_SECONDS,
    restartHours: stated.restartS / HOUR_SECONDS,
    egressUsd,
    workHours,
    accelerators,
    speeds: new Map(speeds),
  };
}

export interface Offer {
  readonly verdict: FeedVerdict;
  readonly market: OfferMarket;
  /** US dollars of an accelerator-hour. */
  readonly perHour: number;
  readonly useful: UsefulHour;
}

export const isAsked = (accelerator: string, { accelerator: asked }: Pick<OfferQuestion, "accelerator">): boolean =>
  asked === undefined || accelerator.toUpperCase().includes(asked.toUpperCase());

/** The cheapest useful hour first. */
export function compareOffers(verdicts: readonly FeedVerdict[], question: OfferQuestion): readonly Offer[] {
  const offers: Offer[] = [];
  for (const verdict of verdicts) {
    if (!isAsked(verdict.row.accelerator, question)) continue;
    const speed = question.speeds.get(verdict.row.provider) ?? 1;
    const add = (market: OfferMarket, perHour: number | null, hazardPerHour: number): void => {
      if (perHour !== null)
        offers.push({ verdict, market, perHour, useful: usefulHour({ ...question, perHour, hazardPerHour, speed }) });
    };
    add("on-demand", verdict.onDemand, 0);
    add("spot", verdict.spot, question.spotHazardPerHour);
  }
  return offers.sort(
    (left, right) =>
      left.useful.usdPerUsefulHour - right.useful.usdPerUsefulHour || left.verdict.row.line - right.verdict.row.line,
  );
}
