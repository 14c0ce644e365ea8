/**
 * Checks a feed of prices before anybody buys on it. A price with a defect is unpriced: a missing price is noticed, a wrong
 * one is paid. Rules that compare rows compare within a provider first, because providers differ by a factor of eight.
 */
import { plausiblePrices } from "./price-bounds.ts";

export type FeedField = "on_demand" | "spot";

export type DefectClass =
  | "missing"
  | "not-a-number"
  | "negative"
  | "zero"
  | "spot-equals-list"
  | "spot-above-list"
  | "stale"
  | "unit-error"
  | "host-price-missing"
  | "duplicate";

export interface FeedDefect {
  readonly class: DefectClass;
  readonly fields: readonly FeedField[];
  readonly detail: string;
}

/** A row of a feed as text. Prices are of the whole instance, or of one accelerator, or both. */
export interface FeedRow {
  readonly line: number;
  readonly provider: string;
  readonly instance: string;
  readonly region: string;
  readonly accelerator: string;
  readonly accelerators: string;
  readonly onDemand: string;
  readonly spot: string;
  readonly onDemandPerAccelerator: string;
  readonly spotPerAccelerator: string;
  /** Price of the host without accelerators; absent: the feed has no such column. */
  readonly host?: string;
  readonly unit: string;
  readonly note: string;
  /** When the price was read; `null`: the feed does not say. */
  readonly atMs: number | null;
}

export interface FeedVerdict {
  readonly row: FeedRow;
  /** US dollars per accelerator-hour; `null`: unpriced. */
  readonly onDemand: number | null;
  readonly spot: number | null;
  readonly defects: readonly FeedDefect[];
}

export interface FeedLimits {
  readonly staleAfterMs: number;
  /** The instant that ages are counted from; `null`: the newest row. */
  readonly nowMs: number | null;
}

/** Difference of prices that rounding explains. */
const ROUNDING = 0.002;
const SPOT_LEAST_PART = 0.05;
const SPOT_BOUND_PART = 0.3;
const PEER_RATIO = 3;
const PEERS_AGREE_RATIO = 2.5;
/** Spot prices of a provider differ more than list prices, but none is this far under all others. */
const SPOT_PEERS = 3;
const SPOT_RATIO = 2.5;
/** Clocks and time zones differ by this much; a price that is dated later would never become stale. */
const AHEAD_MS = 86_400_000;
const HOST_RATIO = 0.6;
const HOST_PEERS = 3;
const HOURLY = /^(?:|usd|\$|usd ?\/ ?h(?:our)?|per[ -_]?hour|hourly|hour|h|1h|\/h(?:r|our)?)$/i;
const ACCELERATOR_ONLY =
  /accelerator[ -]only|gpu[ -]only|host (?:price )?(?:is )?(?:not|missing|excluded)|without (?:the )?host/i;

interface Working {
  readonly row: FeedRow;
  readonly count: number;
  onDemand: number | null;
  spot: number | null;
  readonly defects: FeedDefect[];
  /** Another row has the same offer at another price. */
  isContradicted: boolean;
}

export function checkFeed(rows: readonly FeedRow[], limits: FeedLimits): readonly FeedVerdict[] {
  const all = rows.map(readRow);
  checkAges(all, limits);
  checkDuplicates(all);
  checkPeers(all);
  return all.map(({ row, onDemand, spot, defects, isContradicted }) => {
    const bad = new Set(isContradicted ? BOTH : defects.flatMap(({ fields }) => fields));
    return {
      row,
      onDemand: bad.has("on_demand") ? null : onDemand,
      spot: bad.has("spot") ? null : spot,
      defects,
    };
  });
}

const BOTH: readonly FeedField[] = ["on_demand", "spot"];

function readRow(row: FeedRow): Working {
  const defects: FeedDefect[] = [];
  const add = (kind: DefectClass, fields: readonly FeedField[], detail: string): void => {
    // The price of the instance and that of one accelerator have most defects in common.
    if (defects.every((known) => known.class !== kind || known.fields[0] !== fields[0]))
      defects.push({ class: kind, fields, detail });
  };
  const count = row.accelerators === "" ? 1 : Number(row.accelerators);
  const working: Working = { row, count, onDemand: null, spot: null, defects, isContradicted: false };
  if (!(count > 0)) {
    add("not-a-number", BOTH, `number of accelerators: ${JSON.stringify(row.accelerators)}`);
    return working;
  }
  if (!HOURLY.test(row.unit)) add("unit-error", BOTH, `the unit is ${JSON.stringify(row.unit)}, not an hour`);
  working.onDemand = priceOf("on_demand", [row.onDemand, row.onDemandPerAccelerator], count, add);
  working.spot = priceOf("spot", [row.spot, row.spotPerAccelerator], count, add);
  const texts = [row.onDemand, row.onDemandPerAccelerator, row.spot, row.spotPerAccelerator];
  if (texts.every((text) => text === "")) add("missing", BOTH, "the row has no price");
  if (ACCELERATOR_ONLY.test(row.note) || row.host === "")
    add("host-price-missing", BOTH, "the price covers the accelerators only; the host is not included");
  comparePrices(working, add);
  return working;
}

type Add = (kind: DefectClass, fields: readonly FeedField[], detail: string) => void;

/** The price of one accelerator-hour. The price of the instance and of one accelerator must agree where both are stated. */
function priceOf(field: FeedField, texts: readonly [string, string], count: number, add: Add): number | null {
  const [whole, single] = texts.map((text) => numberOf(field, text, add)) as [number | null, number | null];
  if (whole !== null && single !== null && !isClose(whole / count, single)) {
    add("unit-error", [field], `${whole} for ${count} accelerators is not ${single} for one`);
    return null;
  }
  return single ?? (whole === null ? null : whole / count);
}

const isClose = (left: number, right: number): boolean =>
  Math.abs(left - right) <= Math.max(ROUNDING * Math.max(Math.abs(left), Math.abs(right)), 0.000_1);

/** `null`: no price, or none that can be used. */
function numberOf(field: FeedField, text: string, add: Add): number | null {
  if (text === "") return null;
  const value = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value)) add("not-a-number", [field], JSON.stringify(text));
  else if (value < 0) add("negative", [field], text);
  else if (value === 0) add("zero", [field], text);
  else return value;
  return null;
}

function comparePrices({ row, onDemand, spot }: Working, add: Add): void {
  const [least, most] = plausiblePrices(row.accelerator);
  const outside = (price: number, from: number): boolean => price < from || price > most;
  if (onDemand !== null && outside(onDemand, least))
    add("unit-error", ["on_demand"], `${text(onDemand)} per accelerator-hour is outside ${least} to ${most}`);
  if (spot !== null && outside(spot, least * SPOT_BOUND_PART))
    add(
      "unit-error",
      ["spot"],
      `${text(spot)} per accelerator-hour is outside ${text(least * SPOT_BOUND_PART)} to ${most}`,
    );
  if (onDemand === null || spot === null) return;
  if (isClose(onDemand, spot))
    add("spot-equals-list", ["spot"], `spot and list price are ${text(spot)}: there is no spot market`);
  else if (spot > onDemand) add("spot-above-list", BOTH, `spot ${text(spot)} exceeds list ${text(onDemand)}`);
  else if (spot < onDemand * SPOT_LEAST_PART)
    add("unit-error", ["spot"], `spot ${text(spot)} is under ${SPOT_LEAST_PART * 100}% of list ${text(onDemand)}`);
}

const text = (price: number): string => String(Number(price.toPrecision(5)));

function checkAges(all: readonly Working[], { staleAfterMs, nowMs }: FeedLimits): void {
  let newestMs = nowMs ?? Number.NEGATIVE_INFINITY;
  if (nowMs === null) for (const { row } of all) newestMs = Math.max(newestMs, row.atMs ?? newestMs);
  for (const { row, defects } of all) {
    if (row.atMs === null) continue;
    if (nowMs !== null && row.atMs - nowMs > AHEAD_MS) {
      const days = Math.floor((row.atMs - nowMs) / 86_400_000);
      defects.push({ class: "stale", fields: BOTH, detail: `the price is dated ${days} days ahead` });
    }
    if (newestMs - row.atMs <= staleAfterMs) continue;
    const days = Math.floor((newestMs - row.atMs) / 86_400_000);
    defects.push({ class: "stale", fields: BOTH, detail: `the price is ${days} days old` });
  }
}

/** A repeated row counts once. Where two rows contradict each other, the first one is unpriced too, though it may be right. */
function checkDuplicates(all: readonly Working[]): void {
  const first = new Map<string, Working>();
  for (const working of all) {
    const { row } = working;
    const key = [row.provider, row.instance, row.region, row.accelerator, working.count, row.atMs].join("\u0000");
    const known = first.get(key);
    if (known === undefined) {
      first.set(key, working);
      continue;
    }
    const isSame = known.onDemand === working.onDemand && known.spot === working.spot;
    const detail = `line ${known.row.line} has the same offer${isSame ? "" : " at another price"}`;
    working.defects.push({ class: "duplicate", fields: BOTH, detail });
    if (!isSame) known.isContradicted = true;
  }
}

interface Peer {
  readonly working: Working;
  readonly price: number;
}

/** A list price below the spot price is compared too: it may lack the host. */
const isSound = ({ defects }: Working, field: FeedField): boolean =>
  defects.every((defect) => defect.class === "spot-above-list" || !defect.fields.includes(field));

/** Compares prices of the same accelerator, within the provider. */
function checkPeers(all: readonly Working[]): void {
  const byModel = grouped(
    all.filter((each) => each.onDemand !== null && isSound(each, "on_demand")),
    ({ row }) => row.accelerator,
  );
  for (const model of byModel.values()) {
    const providers = [...grouped(model, ({ row }) => row.provider).values()].map((group) =>
      group.map((working): Peer => ({ working, price: working.onDemand ?? 0 })),
    );
    const medians = providers.map((group) => median(group.map(({ price }) => price)));
    for (const [index, group] of providers.entries()) {
      const others = medians.filter((_, other) => other !== index);
      for (const peer of group) {
        // The middle of the plausible prices counts as one more provider, because there are often two or three.
        const [least, most] = plausiblePrices(peer.working.row.accelerator);
        comparePeer(peer, group, median([...others, Math.sqrt(least * most)]));
      }
    }
  }
  const spots = all.filter((each) => each.spot !== null && isSound(each, "spot"));
  for (const group of grouped(spots, ({ row }) => `${row.provider}\u0000${row.accelerator}`).values())
    compareSpots(group);
}

function compareSpots(group: readonly Working[]): void {
  if (group.length <= SPOT_PEERS) return;
  const [first = 0, second = 0] = group.map(({ spot }) => spot ?? 0).toSorted((left, right) => left - right);
  if (first >= second / SPOT_RATIO) return;
  for (const { spot, defects } of group)
    if (spot === first) {
      const detail = `spot ${text(spot)}, where the provider's other offers cost ${text(second)} or more`;
      defects.push({ class: "unit-error", fields: ["spot"], detail });
    }
}

function comparePeer({ working, price }: Peer, group: readonly Peer[], market: number): void {
  const others = group.filter((each) => each.working !== working);
  if (others.length === 0) return;
  const prices = others.map((each) => each.price);
  const usual = median(prices);
  const ratio = price / usual;
  const doAgree = others.length > 1 && Math.max(...prices) / Math.min(...prices) <= PEERS_AGREE_RATIO;
  // If two offers disagree, the one further from other providers is wrong.
  const isFurther = Math.abs(Math.log(price / market)) > Math.abs(Math.log(usual / market));
  const isOff = ratio > PEER_RATIO || ratio < 1 / PEER_RATIO;
  if (isOff && (doAgree || (others.length === 1 && isFurther))) {
    const detail = `${text(price)} per accelerator-hour, where the provider's other offers cost ${text(usual)}`;
    working.defects.push({ class: "unit-error", fields: ["on_demand"], detail });
    return;
  }
  const same = others.filter((each) => each.working.row.instance === working.row.instance).map((each) => each.price);
  if (same.length >= HOST_PEERS && price < HOST_RATIO * median(same)) {
    const detail = `${text(price)} is ${Math.round((100 * price) / median(same))}% of the same instance elsewhere: the host is not included, or it is a commitment`;
    working.defects.push({ class: "host-price-missing", fields: ["on_demand"], detail });
  }
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const known = groups.get(keyOf(item));
    if (known === undefined) groups.set(keyOf(item), [item]);
    else known.push(item);
  }
  return groups;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}
