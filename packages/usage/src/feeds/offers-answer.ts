/** Everything that a buyer compares: offers by the useful hour, offers without a trusted price, prices over time, own against rent. */
import { DAY_MS } from "@headroom/model";
import { breakEven, costOf, type TcoAnswer, type TcoDocument, type TcoOption } from "../tco/tco.ts";
import { checkFeed, type FeedDefect, type FeedRow, type FeedVerdict } from "./check-feed.ts";
import { compareOffers, isAsked, type Offer, type OfferMarket, type OfferQuestion } from "./compare-offers.ts";
import { newestRows, priceHistory, type PriceSeries } from "./offer-history.ts";

/** A row with the name of its feed. */
export interface NamedRow extends FeedRow {
  readonly feed: string;
}

export interface NamedTco {
  readonly document: string;
  readonly tco: TcoDocument;
}

export interface OfferSources {
  readonly rows: readonly NamedRow[];
  readonly documents: readonly NamedTco[];
  /** The instant that ages are counted from. */
  readonly nowMs: number;
  readonly staleAfterMs: number;
}

interface OfferPlace {
  readonly feed: string;
  readonly line: number;
  readonly provider: string;
  readonly instance: string;
  readonly region: string;
  readonly accelerator: string;
  /** When the price was read; `null`: the feed does not say. */
  readonly readAtMs: number | null;
}

export interface PricedOffer extends OfferPlace {
  readonly market: OfferMarket;
  readonly usdPerHour: number;
  /** `null`: no work gets done between interruptions. */
  readonly usdPerUsefulHour: number | null;
  readonly usefulPart: number;
  readonly checkpointEveryHours: number | null;
}

export interface UnpricedOffer extends OfferPlace {
  readonly defects: readonly FeedDefect[];
}

export interface OwnershipOption extends TcoAnswer {
  readonly document: string;
}

/** The utilisation above which an option that is paid always is cheaper than one that is paid by the hour. */
export interface BreakEven {
  readonly document: string;
  readonly option: string;
  readonly against: string;
  readonly usdPerHour: number;
  /** Above 1: the option is never cheaper. `null`: the other one costs nothing. */
  readonly utilisation: number | null;
}

export interface OffersAnswer {
  /** Accelerators that the feeds name. */
  readonly accelerators: readonly string[];
  readonly items: readonly PricedOffer[];
  readonly offerCount: number;
  readonly unpriced: readonly UnpricedOffer[];
  readonly unpricedCount: number;
  readonly history: readonly PriceSeries[];
  readonly options: readonly OwnershipOption[];
  readonly breakEvens: readonly BreakEven[];
}

/** Most lines of each list in an answer; counts say how many there are. */
const OFFERS_LISTED_MAX = 500;
const PRICE_SERIES_MAX = 40;
const PRICE_POINTS_MAX = 1_000;
const NAMES_MAX = 1_000;
/** Prices of the last ten years are in the series: a chart has a place for each day. */
const HISTORY_DAYS_MAX = 3_653;

export function offersAnswer(sources: OfferSources, question: OfferQuestion): OffersAnswer {
  const { rows, documents, nowMs, staleAfterMs } = sources;
  const feedOf = new Map<FeedRow, string>(rows.map((row) => [row, row.feed]));
  const verdicts = checkFeed(newestRows(rows), { staleAfterMs, nowMs });
  const offers = compareOffers(verdicts, question);
  const asked = verdicts.filter(({ row }) => isAsked(row.accelerator, question));
  const unpriced = asked.filter(({ defects }) => defects.length > 0);
  const history = priceHistory(
    rows.filter(({ accelerator, atMs }) => isAsked(accelerator, question) && isDated(atMs, nowMs)),
    staleAfterMs,
  );
  return {
    accelerators: [...new Set(rows.map(({ accelerator }) => accelerator))].toSorted().slice(0, NAMES_MAX),
    items: offers.slice(0, OFFERS_LISTED_MAX).map((offer) => pricedOffer(offer, feedOf)),
    offerCount: offers.length,
    unpriced: unpriced.slice(0, OFFERS_LISTED_MAX).map(({ row, defects }) => ({ ...placeOf(row, feedOf), defects })),
    unpricedCount: unpriced.length,
    history: history
      .slice(0, PRICE_SERIES_MAX)
      .map((series) => ({ ...series, points: series.points.slice(-PRICE_POINTS_MAX) })),
    options: documents
      .flatMap(({ document, tco }) =>
        tco.options.map((option) => ({ document, ...costOf(option, tco.utilisation, tco.goodput) })),
      )
      .slice(0, OFFERS_LISTED_MAX),
    breakEvens: documents.flatMap((each) => breakEvensOf(each, verdicts)).slice(0, OFFERS_LISTED_MAX),
  };
}

const isDated = (atMs: number | null, nowMs: number): boolean =>
  atMs !== null && atMs <= nowMs + DAY_MS && atMs >= nowMs - HISTORY_DAYS_MAX * DAY_MS;

const placeOf = (row: FeedRow, feedOf: ReadonlyMap<FeedRow, string>): OfferPlace => ({
  feed: feedOf.get(row) ?? "",
  line: row.line,
  provider: row.provider,
  instance: row.instance,
  region: row.region,
  accelerator: row.accelerator,
  readAtMs: row.atMs,
});

const pricedOffer = (
  { verdict, market, perHour, useful }: Offer,
  feedOf: ReadonlyMap<FeedRow, string>,
): PricedOffer => ({
  ...placeOf(verdict.row, feedOf),
  market,
  usdPerHour: perHour,
  usdPerUsefulHour: finite(useful.usdPerUsefulHour),
  usefulPart: useful.usefulPart,
  checkpointEveryHours: useful.checkpointEveryHours,
});

/** Each owned or leased option against the rented ones of its document, and against the cheapest offer of its accelerator. */
function breakEvensOf({ document, tco }: NamedTco, verdicts: readonly FeedVerdict[]): readonly BreakEven[] {
  const rented: TcoOption[] = tco.options.filter(({ source }) => source === "rented");
  const { accelerator } = tco;
  let best: FeedVerdict | null = null;
  for (const verdict of accelerator === undefined ? [] : verdicts)
    if (isAsked(verdict.row.accelerator, { accelerator }) && verdict.onDemand !== null)
      if (best === null || verdict.onDemand < (best.onDemand ?? 0)) best = verdict;
  if (best !== null && best.onDemand !== null) {
    const name = [best.row.provider, best.row.instance, best.row.region].filter((part) => part !== "").join(" ");
    rented.push({
      name,
      source: "rented",
      accelerators: 1,
      perHour: best.onDemand,
      availability: 1,
      allocatable: 1,
    });
  }
  return tco.options
    .filter(({ source }) => source !== "rented")
    .flatMap((option) =>
      rented.map((against) => ({
        document,
        option: option.name,
        against: against.name,
        usdPerHour: against.source === "owned" ? 0 : against.perHour,
        utilisation: finite(breakEven(option, against)),
      })),
    );
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);
