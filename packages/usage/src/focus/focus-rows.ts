/**
 * Charges as rows of a FOCUS 1.2 dataset: the usage of every hour, and the purchases of capacity that the usage draws from.
 * Owned and leased capacity is a commitment: its purchase is billed, and its hours are used or unused at no further bill.
 */
import { civilDay, dayOf, monthStartMs, nextMonthStartMs } from "@headroom/model";
import { isUnused, MILLI_MS_PER_HOUR, type BillingRange, type Charge } from "../bill/charges.ts";
import { MICRO } from "../prices/amounts.ts";
import { chargeEnergy } from "../energy/charge-energy.ts";
import type { PowerMeter } from "../energy/power-meter.ts";
import { hourCost } from "../prices/capacity-cost.ts";
import {
  meteredMicroUsd,
  type Billing,
  type CapacityPrice,
  type PoolPrice,
  type PriceBook,
} from "../prices/price-documents.ts";
import { exactProduct, type Product } from "./exact-product.ts";
import type { FocusRow } from "./focus-columns.ts";

const HOUR_MS = 3_600_000;
const PRICE_SCALE = 10_000;
const QUANTITY_SCALE = 1_000_000;

const round4 = (value: number): number => Math.round(value * PRICE_SCALE) / PRICE_SCALE;
const round6 = (value: number): number => Math.round(value * QUANTITY_SCALE) / QUANTITY_SCALE;

const services: Readonly<Record<PoolPrice["source"], string>> = {
  owned: "Owned Accelerators",
  leased: "Leased Accelerators",
  committed: "Committed Accelerators",
  onDemand: "On-Demand Accelerators",
  spot: "Spot Accelerators",
};

const commitmentTypes: Readonly<Record<CapacityPrice["source"], string>> = {
  owned: "Owned Hardware",
  leased: "Lease",
  committed: "Reserved Capacity",
};

const isCapacity = (price: PoolPrice): price is CapacityPrice => !("prices" in price);

/** The parts of a row that are the same for every charge of a price and month. */
type Frame = Pick<
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
  | "ServiceCategory"
  | "ServiceName"
  | "ServiceSubcategory"
>;

function frameOf(price: PoolPrice, { account }: Billing, monthMs: number): Frame {
  const { year, month } = civilDay(dayOf(monthMs));
  const region = price.region ?? null;
  return {
    AvailabilityZone: price.zone ?? null,
    BillingAccountId: account.id,
    BillingAccountName: account.name,
    BillingAccountType: "Account",
    BillingCurrency: "USD",
    BillingPeriodEnd: nextMonthStartMs(monthMs),
    BillingPeriodStart: monthMs,
    InvoiceId: `INV-${account.id}-${price.name}-${year}-${String(month).padStart(2, "0")}`,
    InvoiceIssuerName: price.provider,
    PricingCurrency: "USD",
    ProviderName: price.provider,
    PublisherName: price.provider,
    RegionId: region,
    RegionName: region,
    ServiceCategory: "Compute",
    ServiceName: services[price.source],
    ServiceSubcategory: "Other (Compute)",
  };
}

/** The commitment that capacity stands for. Its id is the name of the price document. */
interface Commitment {
  readonly id: string;
  readonly name: string;
  readonly type: string;
}

const commitmentOf = (price: CapacityPrice): Commitment => ({
  id: `commitment/${price.name}`,
  name: price.name,
  type: commitmentTypes[price.source],
});

export const NO_COMMITMENT: Pick<
  FocusRow,
  | "CapacityReservationId"
  | "CapacityReservationStatus"
  | "CommitmentDiscountCategory"
  | "CommitmentDiscountId"
  | "CommitmentDiscountName"
  | "CommitmentDiscountQuantity"
  | "CommitmentDiscountStatus"
  | "CommitmentDiscountType"
  | "CommitmentDiscountUnit"
> = {
  CapacityReservationId: null,
  CapacityReservationStatus: null,
  CommitmentDiscountCategory: null,
  CommitmentDiscountId: null,
  CommitmentDiscountName: null,
  CommitmentDiscountQuantity: null,
  CommitmentDiscountStatus: null,
  CommitmentDiscountType: null,
  CommitmentDiscountUnit: null,
};

function commitmentColumns(
  price: CapacityPrice,
  status: "Used" | "Unused" | null,
  hours: number | null,
): typeof NO_COMMITMENT {
  const { id, name, type } = commitmentOf(price);
  return {
    CapacityReservationId: `capacity/${price.name}`,
    CapacityReservationStatus: status,
    CommitmentDiscountCategory: "Usage",
    CommitmentDiscountId: id,
    CommitmentDiscountName: name,
    CommitmentDiscountQuantity: hours,
    CommitmentDiscountStatus: status,
    CommitmentDiscountType: type,
    CommitmentDiscountUnit: hours === null ? null : "Hours",
  };
}

/** List price of an accelerator-hour with four decimals: as documented, or what the capacity costs on average. */
function unitPriceOf(price: PoolPrice, hourMs: number): number {
  if (!isCapacity(price)) return round4((meteredMicroUsd(price, hourMs) ?? 0) / MICRO);
  return round4(price.listPerHour ?? hourCost(price, hourMs) / MICRO / price.accelerators);
}

export function priceColumns(
  unitPrice: number,
  { quantity, cost }: Product,
): Pick<
  FocusRow,
  | "ContractedCost"
  | "ContractedUnitPrice"
  | "ListCost"
  | "ListUnitPrice"
  | "PricingCurrencyContractedUnitPrice"
  | "PricingCurrencyListUnitPrice"
  | "PricingQuantity"
> {
  return {
    ContractedCost: cost,
    ContractedUnitPrice: unitPrice,
    ListCost: cost,
    ListUnitPrice: unitPrice,
    PricingCurrencyContractedUnitPrice: unitPrice,
    PricingCurrencyListUnitPrice: unitPrice,
    PricingQuantity: quantity,
  };
}

const skuOf = (row: Charge["row"], price: PoolPrice): string => {
  const model = row.acceleratorType === "" ? price.pool : row.acceleratorType;
  return `accelerator/${model}`;
};

/** Makes rows of charges. It remembers the frames of months, and the model of each price's accelerators. */
class FocusRows {
  readonly #billing: Billing;
  readonly #frames = new Map<string, Frame>();
  /** A price belongs to one SKU, also in hours without a node. */
  readonly #skus = new Map<string, string>();

  readonly #meter: PowerMeter | null;

  constructor({ billing }: PriceBook, meter: PowerMeter | null) {
    this.#billing = billing;
    this.#meter = meter;
  }

  #frame(price: PoolPrice, monthMs: number): Frame {
    const key = `${price.name} ${monthMs}`;
    let frame = this.#frames.get(key);
    if (frame === undefined) this.#frames.set(key, (frame = frameOf(price, this.#billing, monthMs)));
    return frame;
  }

  usage(charge: Charge): FocusRow {
    const { row, price, hourMs, microUsd } = charge;
    const isCorrection = row.correctedAtMs !== null;
    const hours = charge.milliMs / MILLI_MS_PER_HOUR;
    const unitPrice = unitPriceOf(price, hourMs);
    const cost = microUsd / MICRO;
    const unused = isUnused(charge);
    const metered = !isCapacity(price);
    const hasConsumed = !unused;
    const consumed = round6(hours);
    return {
      ...this.#frame(price, monthStartMs(row.correctedAtMs ?? hourMs)),
      ...(metered
        ? NO_COMMITMENT
        : commitmentColumns(price, unused ? "Unused" : "Used", isCorrection ? null : consumed)),
      ...priceColumns(unitPrice, exactProduct(unitPrice, hours)),
      BilledCost: metered ? cost : 0,
      ChargeCategory: "Usage",
      ChargeClass: isCorrection ? "Correction" : null,
      ChargeDescription: descriptionOf(charge),
      ChargeFrequency: "Usage-Based",
      ChargePeriodEnd: hourMs + HOUR_MS,
      ChargePeriodStart: hourMs,
      ConsumedQuantity: hasConsumed ? consumed : null,
      ConsumedUnit: hasConsumed ? "Hours" : null,
      EffectiveCost: cost,
      PricingCategory: metered ? (price.source === "spot" ? "Dynamic" : "Standard") : "Committed",
      PricingCurrencyEffectiveCost: cost,
      PricingUnit: "Hours",
      ...resourceColumns(charge),
      ...this.#skuColumns(charge),
      ...ownColumnsOf(charge, hours, this.#meter),
    };
  }

  #skuColumns({ row, price }: Charge): Pick<FocusRow, "SkuId" | "SkuMeter" | "SkuPriceDetails" | "SkuPriceId"> {
    let sku = this.#skus.get(price.name);
    if (sku === undefined) this.#skus.set(price.name, (sku = skuOf(row, price)));
    const details = { GpuCount: 1, x_GpuModel: sku.slice("accelerator/".length) };
    return {
      SkuId: sku,
      SkuMeter: "Accelerator Hours",
      SkuPriceDetails: JSON.stringify(details),
      SkuPriceId: `price/${price.name}`,
    };
  }

  /** The purchase of a month of capacity, for the hours of the range. */
  purchase(price: CapacityPrice, { fromMs, toMs }: BillingRange): FocusRow {
    let microUsd = 0;
    for (let hourMs = fromMs; hourMs < toMs; hourMs += HOUR_MS) microUsd += hourCost(price, hourMs);
    const cost = microUsd / MICRO;
    const hours = (price.accelerators * (toMs - fromMs)) / HOUR_MS;
    return {
      ...this.#frame(price, monthStartMs(fromMs)),
      ...commitmentColumns(price, null, hours),
      ...priceColumns(cost, { quantity: 1, cost }),
      BilledCost: cost,
      ChargeCategory: "Purchase",
      ChargeClass: null,
      ChargeDescription: `${commitmentTypes[price.source]}: ${price.accelerators} accelerators of pool ${price.pool}`,
      ChargeFrequency: "Recurring",
      ChargePeriodEnd: toMs,
      ChargePeriodStart: fromMs,
      ConsumedQuantity: null,
      ConsumedUnit: null,
      EffectiveCost: 0,
      PricingCategory: "Standard",
      PricingCurrencyEffectiveCost: 0,
      PricingUnit: "Months",
      ResourceId: null,
      ResourceName: null,
      ResourceType: null,
      SkuId: `capacity/${price.pool}`,
      SkuMeter: "Capacity",
      SkuPriceDetails: JSON.stringify({ GpuCount: price.accelerators }),
      SkuPriceId: `capacity/${price.name}`,
      SubAccountId: null,
      SubAccountName: null,
      SubAccountType: null,
      Tags: JSON.stringify({ pool: price.pool }),
      ...NO_OWN_COLUMNS,
    };
  }
}

export const NO_OWN_COLUMNS = {
  x_GpuModel: null,
  x_GpuHoursAllocated: null,
  x_GpuHoursActive: null,
  x_EnergyKWh: null,
  x_CarbonGrams: null,
  x_WorkloadId: null,
  x_Workload: null,
  x_WorkloadKind: null,
  x_User: null,
  x_UsageState: null,
  x_UsageCause: null,
  x_IdleReason: null,
} as const;

function descriptionOf({ row, price }: Charge): string {
  const what = row.team === "" ? "Accelerators that nobody held" : `Accelerators held by team ${row.team}`;
  return `${what}: ${row.state} (${row.cause}), pool ${price.pool}`;
}

type ResourceColumns = Pick<
  FocusRow,
  "ResourceId" | "ResourceName" | "ResourceType" | "SubAccountId" | "SubAccountName" | "SubAccountType" | "Tags"
>;

function resourceColumns({ row }: Charge): ResourceColumns {
  const hasNode = row.node !== "";
  const hasTeam = row.team !== "";
  return {
    ResourceId: hasNode ? `node/${row.pool}/${row.node}` : null,
    ResourceName: hasNode ? row.node : null,
    ResourceType: hasNode ? "Node" : null,
    SubAccountId: hasTeam ? `team/${row.team}` : null,
    SubAccountName: hasTeam ? row.team : null,
    SubAccountType: hasTeam ? "Team" : null,
    Tags: JSON.stringify(hasTeam ? { team: row.team, pool: row.pool } : { pool: row.pool }),
  };
}

/** Absent values are null, never empty texts. */
const textOrNull = (text: string): string | null => (text === "" ? null : text);

function ownColumnsOf(
  charge: Charge,
  hours: number,
  meter: PowerMeter | null,
): { readonly [Name in keyof typeof NO_OWN_COLUMNS]: string | number | null } {
  const { row } = charge;
  const { kwh, grams } = chargeEnergy(charge, meter);
  const allocated = row.team === "" ? 0 : round6(hours);
  const isIdle = row.state === "idle" || row.team === "";
  return {
    x_GpuModel: textOrNull(row.acceleratorType),
    x_GpuHoursAllocated: allocated,
    x_GpuHoursActive: isIdle ? 0 : allocated,
    x_EnergyKWh: round6(kwh),
    x_CarbonGrams: round6(grams),
    x_WorkloadId: textOrNull(row.workloadId),
    x_Workload: textOrNull(row.workload),
    x_WorkloadKind: textOrNull(row.workloadKind),
    x_User: textOrNull(row.user),
    x_UsageState: row.state,
    x_UsageCause: row.cause,
    x_IdleReason: isIdle ? row.cause : null,
  };
}

/** The calendar months of a range, each cut to the range. */
export function* monthsOf({ fromMs, toMs }: BillingRange): Generator<BillingRange> {
  for (let startMs = fromMs; startMs < toMs;) {
    const endMs = Math.min(toMs, nextMonthStartMs(monthStartMs(startMs)));
    yield { fromMs: startMs, toMs: endMs };
    startMs = endMs;
  }
}

/** Every row of the dataset: the purchases of each month first, then its usage. */
export function* focusRows(
  all: Iterable<Charge>,
  book: PriceBook,
  range: BillingRange,
  meter: PowerMeter | null = null,
): Generator<FocusRow> {
  const rows = new FocusRows(book, meter);
  for (const month of monthsOf(range))
    for (const prices of book.byPool.values())
      for (const price of prices) {
        if (!isCapacity(price)) continue;
        const purchase = rows.purchase(price, month);
        if (purchase.BilledCost !== 0) yield purchase;
      }
  for (const charge of all) yield rows.usage(charge);
}
