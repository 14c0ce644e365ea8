/**
 * Storage, egress and tokens as rows of a FOCUS 1.2 dataset, one for each line of the bill and unit price. Their effective costs add up to
 * those lines. Tokens that the own fleet served have a quantity and no cost: the accelerators that served them are in the dataset.
 */
import { civilDay, DAY_MS, dayOf, monthStartMs, nextMonthStartMs } from "@headroom/model";
import type { MeteredLine, MeteredPart } from "../metered/metered-line.ts";
import { MICRO } from "../prices/amounts.ts";
import type { Billing, PriceBook } from "../prices/price-documents.ts";
import { exactProduct } from "./exact-product.ts";
import type { FocusRow } from "./focus-columns.ts";
import { NO_COMMITMENT, NO_OWN_COLUMNS, priceColumns } from "./focus-rows.ts";

/** Decimals of a unit price: archives cost less than a thousandth of a dollar for a gibibyte-month. */
const PRICE_DIGITS = 6;
const QUANTITY_SCALE = 1_000_000;
const TOKENS_PER_PRICE = 1_000_000;
/** Months of a storage price, as in the bill. */
const MONTH_HOURS = 730;

const round6 = (value: number): number => Math.round(value * QUANTITY_SCALE) / QUANTITY_SCALE;

type MeteredCategory = Pick<FocusRow, "ServiceCategory" | "ServiceName" | "ServiceSubcategory">;

function serviceOf({ service, price }: MeteredLine): MeteredCategory {
  if (service === "storage")
    return { ServiceCategory: "Storage", ServiceName: "Artifact Storage", ServiceSubcategory: "Object Storage" };
  if (service === "egress")
    return { ServiceCategory: "Networking", ServiceName: "Data Egress", ServiceSubcategory: "Other (Networking)" };
  return {
    ServiceCategory: "AI and Machine Learning",
    ServiceName: price === "" ? "Own Model Serving" : "Model Tokens",
    ServiceSubcategory: "Generative AI",
  };
}

/** Rows of lines that a price covers, and of tokens that the own fleet served. Storage without a price is left out, as from the bill. */
export function* meteredFocusRows(lines: Iterable<MeteredLine>, { billing }: PriceBook): Generator<FocusRow> {
  for (const line of lines) {
    if (line.service === "storage" && line.price === "") continue;
    for (const part of line.parts) if (part.quantity > 0) yield rowOf(line, part, billing);
  }
}

/** Units of a service: how its quantity is priced and consumed, and the kinds of its subject and place. */
const FORMS = {
  storage: {
    perPrice: MONTH_HOURS,
    consumed: "GiB-Hours",
    priced: "GiB-Months",
    kind: "artifact",
    type: "Artifact",
    place: "store",
  },
  egress: { perPrice: 1, consumed: "GiB", priced: "GiB", kind: "workload", type: "Workload", place: "store" },
  tokens: {
    perPrice: TOKENS_PER_PRICE,
    consumed: "Tokens",
    priced: `${TOKENS_PER_PRICE} Tokens`,
    kind: "model",
    type: "Model",
    place: "pool",
  },
} as const;

function rowOf(line: MeteredLine, part: MeteredPart, billing: Billing): FocusRow {
  const { dayMs, service, team, subject, place } = line;
  const form = FORMS[service];
  const cost = part.microUsd / MICRO;
  const unitPrice = round6(part.unitPrice);
  return {
    ...frameOf(line, billing),
    ...serviceOf(line),
    ...NO_COMMITMENT,
    ...priceColumns(unitPrice, exactProduct(unitPrice, part.quantity / form.perPrice, PRICE_DIGITS)),
    BilledCost: cost,
    ChargeCategory: "Usage",
    ChargeClass: null,
    ChargeDescription: `${part.meter} of ${subject}, ${form.place} ${place}`,
    ChargeFrequency: "Usage-Based",
    ChargePeriodEnd: dayMs + DAY_MS,
    ChargePeriodStart: dayMs,
    ConsumedQuantity: service === "tokens" ? part.quantity : round6(part.quantity),
    ConsumedUnit: form.consumed,
    EffectiveCost: cost,
    PricingCategory: "Standard",
    PricingCurrencyEffectiveCost: cost,
    PricingUnit: form.priced,
    ResourceId: `${form.kind}/${place}/${subject}`,
    ResourceName: subject,
    ResourceType: form.type,
    ...skuOf(line, part),
    SubAccountId: team === "" ? null : `team/${team}`,
    SubAccountName: team === "" ? null : team,
    SubAccountType: team === "" ? null : "Team",
    Tags: JSON.stringify({ ...(team === "" ? {} : { team }), [form.place]: place }),
    ...NO_OWN_COLUMNS,
    x_Workload: subject,
    x_WorkloadKind: service,
    x_UsageState: "used",
    x_UsageCause: service,
  };
}

type BillFrame = Pick<
  FocusRow,
  | "AvailabilityZone"
  | "BillingAccountId"
  | "BillingAccountName"
  | "BillingAccountType"
  | "BillingCurrency"
  | "BillingPeriodEnd"
  | "BillingPeriodStart"
  | "InvoiceId"
  | "InvoiceIssuerName"
  | "PricingCurrency"
  | "ProviderName"
  | "PublisherName"
  | "RegionId"
  | "RegionName"
>;

function frameOf({ dayMs, price, provider }: MeteredLine, { account }: Billing): BillFrame {
  const monthMs = monthStartMs(dayMs);
  const { year, month } = civilDay(dayOf(monthMs));
  // Nobody sends an invoice for tokens of the own fleet.
  const issuer = provider === "" ? account.name : provider;
  return {
    AvailabilityZone: null,
    BillingAccountId: account.id,
    BillingAccountName: account.name,
    BillingAccountType: "Account",
    BillingCurrency: "USD",
    BillingPeriodEnd: nextMonthStartMs(monthMs),
    BillingPeriodStart: monthMs,
    InvoiceId: price === "" ? null : `INV-${account.id}-${price}-${year}-${String(month).padStart(2, "0")}`,
    InvoiceIssuerName: issuer,
    PricingCurrency: "USD",
    ProviderName: issuer,
    PublisherName: issuer,
    RegionId: null,
    RegionName: null,
  };
}

type MeteredSku = Pick<FocusRow, "SkuId" | "SkuMeter" | "SkuPriceDetails" | "SkuPriceId">;

/** A price document covers one store or one model, so each of its prices belongs to one SKU. */
function skuOf({ service, subject, place, price }: MeteredLine, { meter }: MeteredPart): MeteredSku {
  const metered = meter.toLowerCase().replaceAll(" ", "-");
  const isOfStore = service !== "tokens";
  const id = isOfStore ? `${service}/${place}` : `tokens/${subject}/${metered}`;
  return {
    SkuId: id,
    SkuMeter: meter,
    SkuPriceDetails: JSON.stringify(isOfStore ? { x_Store: place } : { x_Model: subject }),
    SkuPriceId: price === "" ? `own/${id}` : `price/${price}/${metered}`,
  };
}
