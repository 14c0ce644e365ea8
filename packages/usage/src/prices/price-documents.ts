/**
 * Prices as documents: what a pool's accelerators cost, from when to when. A document never changes its past: a new price
 * is a further entry or a further document with a later `from`. Amounts are decimal US dollars in documents and integer
 * micro-dollars inside.
 */
import { z } from "zod";
import { dateText, dollars, instantOf, MICRO } from "./amounts.ts";
import { gridIntensity } from "./grid-intensity.ts";

const positive = z.number().positive();
const share = z.number().min(0).max(1);
const name = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,62}$/i, "expected a name of letters, digits, dots and dashes");

/** A part of what capacity costs. Exactly one way of counting. */
const component = z
  .strictObject({
    name,
    /** Bought: amortised in equal parts from `on` over `months`, down to `salvage`. */
    purchase: dollars.optional(),
    on: dateText.optional(),
    months: z.int().min(1).max(600).optional(),
    salvage: dollars.optional(),
    /** Paid by the calendar month or by the hour: rent, space, staff, network and storage share, spares, tooling. */
    perMonth: dollars.optional(),
    perHour: dollars.optional(),
    /** Power: kilowatts at the plug times PUE times tariff. */
    kilowatts: positive.optional(),
    /** The part of `kilowatts` of the nodes beside their accelerators; it is added to measured power of accelerators. */
    hostKilowatts: z.number().min(0).optional(),
    pue: z.number().min(1).max(4).optional(),
    perKwh: dollars.optional(),
    gramsPerKwh: gridIntensity.optional(),
  })
  .superRefine((value, context) => {
    const ways = ["purchase", "perMonth", "perHour", "kilowatts"].filter(
      (way) => value[way as keyof typeof value] !== undefined,
    );
    const refuse = (message: string): void => context.addIssue({ code: "custom", message });
    if (ways.length !== 1) refuse("state exactly one of purchase, perMonth, perHour, kilowatts");
    if (value.purchase !== undefined && (value.on === undefined || value.months === undefined))
      refuse("a purchase needs on (a date) and months (of amortisation)");
    if ((value.salvage ?? 0) > (value.purchase ?? Number.POSITIVE_INFINITY)) refuse("salvage exceeds the purchase");
    if (value.kilowatts !== undefined && value.perKwh === undefined) refuse("power needs perKwh");
    if ((value.hostKilowatts ?? 0) > (value.kilowatts ?? 0)) refuse("hostKilowatts is a part of kilowatts");
  });

const common = {
  kind: z.literal("price"),
  name,
  pool: name,
  provider: z.string().min(1).max(200),
  region: z.string().max(200).optional(),
  zone: z.string().max(200).optional(),
  from: dateText,
  until: dateText.optional(),
  /** List price of an accelerator-hour, for comparison. */
  listPerHour: dollars.optional(),
};

/** Capacity that costs the same whether it is used or not. */
const capacityPrice = z.strictObject({
  ...common,
  source: z.enum(["owned", "leased", "committed"]),
  accelerators: z.int().min(1).max(10_000_000),
  components: z.array(component).min(1).max(100),
});

/** Capacity that is paid by the accelerator-hour. Each price holds from its date to the next one. */
const meteredPrice = z.strictObject({
  ...common,
  source: z.enum(["onDemand", "spot"]),
  prices: z
    .array(z.strictObject({ from: dateText, perHour: dollars }))
    .min(1)
    .max(100_000),
  gramsPerKwh: gridIntensity.optional(),
  kilowattsPerAccelerator: positive.optional(),
});

/** Tokens of a provider, per million. */
const tokenPrice = z.strictObject({
  kind: z.literal("price"),
  name,
  source: z.literal("tokens"),
  provider: z.string().min(1).max(200),
  model: z.string().min(1).max(200),
  /** Only requests that this pool of the gateway answered; absent: of all pools. */
  pool: name.optional(),
  from: dateText,
  until: dateText.optional(),
  perMillionInput: dollars,
  perMillionCachedInput: dollars.optional(),
  perMillionOutput: dollars,
});

/** Bytes in a store, by the gibibyte and month of 730 hours. */
const storagePrice = z.strictObject({
  kind: z.literal("price"),
  name,
  source: z.literal("storage"),
  provider: z.string().min(1).max(200),
  /** Name of the store, as places of artifacts have it. */
  store: name,
  from: dateText,
  until: dateText.optional(),
  perGibMonth: dollars,
});

/** The bill: its currency and time zone, and the account that it is written for. */
const billing = z.strictObject({
  kind: z.literal("billing"),
  currency: z.literal("USD", "prices are in USD"),
  timeZone: z.literal("UTC", "hours, days and months of a bill are in UTC"),
  account: z.strictObject({ id: name, name: z.string().min(1).max(200) }),
  /** Part of the time that an owned accelerator is of use for planning, between 0 and 1. */
  targetUtilisation: share.optional(),
});

export const priceDocument: z.ZodType<PriceDocument> = z.discriminatedUnion("kind", [
  z.discriminatedUnion("source", [capacityPrice, meteredPrice, tokenPrice, storagePrice]),
  billing,
]);

export type PriceComponent = Readonly<z.output<typeof component>>;
export type CapacityPrice = Readonly<z.output<typeof capacityPrice>>;
export type MeteredPrice = Readonly<z.output<typeof meteredPrice>>;
export type TokenPrice = Readonly<z.output<typeof tokenPrice>>;
export type StoragePrice = Readonly<z.output<typeof storagePrice>>;
export type Billing = Readonly<z.output<typeof billing>>;
export type PoolPrice = CapacityPrice | MeteredPrice;
export type PriceDocument = PoolPrice | TokenPrice | StoragePrice | Billing;

export interface PriceBook {
  readonly billing: Billing;
  readonly byPool: ReadonlyMap<string, readonly PoolPrice[]>;
  readonly tokens: readonly TokenPrice[];
  readonly storage: readonly StoragePrice[];
}

const DEFAULT_BILLING: Billing = {
  kind: "billing",
  currency: "USD",
  timeZone: "UTC",
  account: { id: "headroom", name: "Headroom fleet" },
};

/** Orders documents for billing, or says which of them contradict each other. */
export function priceBook(documents: readonly PriceDocument[]): PriceBook | { readonly problem: string } {
  let bill: Billing | undefined;
  const byPool = new Map<string, PoolPrice[]>();
  const tokens: TokenPrice[] = [];
  const storage: StoragePrice[] = [];
  const names = new Set<string>();
  for (const document of documents) {
    if (document.kind === "billing") {
      if (bill !== undefined) return { problem: "there are two documents of kind billing" };
      bill = document;
      continue;
    }
    if (names.has(document.name)) return { problem: `there are two prices with the name ${document.name}` };
    names.add(document.name);
    if (document.source === "tokens") tokens.push(document);
    else if (document.source === "storage") storage.push(document);
    else byPool.set(document.pool, [...(byPool.get(document.pool) ?? []), document]);
  }
  for (const [pool, prices] of byPool) {
    const isMetered = (price: PoolPrice): boolean => "prices" in price;
    if (prices.some(isMetered) && (!prices.every(isMetered) || overlap(prices)))
      return { problem: `pool ${pool}: a metered price must be the only price of its pool at any time` };
  }
  return { billing: bill ?? DEFAULT_BILLING, byPool, tokens, storage };
}

function overlap(prices: readonly PoolPrice[]): boolean {
  const sorted = prices.toSorted((left, right) => instantOf(left.from) - instantOf(right.from));
  return sorted.some((price, index) => {
    const next = sorted[index + 1];
    return next !== undefined && (price.until === undefined || instantOf(price.until) > instantOf(next.from));
  });
}

/** The price of one accelerator-hour in micro-dollars at an instant; `null`: none is known yet. */
export function meteredMicroUsd({ prices }: MeteredPrice, atMs: number): number | null {
  let found: number | null = null;
  let foundMs = Number.NEGATIVE_INFINITY;
  for (const { from, perHour } of prices) {
    const fromMs = instantOf(from);
    if (fromMs > atMs || fromMs < foundMs) continue;
    found = Math.round(perHour * MICRO);
    foundMs = fromMs;
  }
  return found;
}
