/**
 * The rules of FOCUS 1.2 that a single row can break. They read the text of a file, so formats are checked too. A rule
 * has the name of its column and a short name; the statement itself is in the specification.
 */
import { allColumns, serviceSubcategories, type FocusColumn } from "./focus-columns.ts";

/** A row as text; null: an empty field. */
export type FocusText = Readonly<Record<string, string | null | undefined>>;

export interface RowRule {
  readonly column: string;
  readonly name: string;
  readonly isBroken: (row: FocusText) => boolean;
}

const DECIMAL = /^[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const INSTANT = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;
const CURRENCY = /^[A-Z]{3}$/;
const DATA_SIZE = "[KMGTPE]?i?[bB]";
const TIME = "(?:Year|Month|Day|Hour|Minute|Second)";
const COUNT = "[A-Z][A-Za-z0-9]*(?: [A-Z][A-Za-z0-9]*)*";
const UNIT = new RegExp(
  `^(?:(?:\\d+ )?(?:${DATA_SIZE}|${COUNT})|(?:${DATA_SIZE}|${COUNT})-${TIME}s|(?:${DATA_SIZE}|${COUNT})/(?:${TIME}|\\d+ ${TIME}s))$`,
);
/** Relative error of a product that a reader in doubles may see. */
const PRODUCT_TOLERANCE = 1e-9;

const present = (row: FocusText, column: string): boolean => row[column] !== undefined;
const isNull = (row: FocusText, column: string): boolean => (row[column] ?? null) === null;
const numberOf = (row: FocusText, column: string): number => Number(row[column]);
const is = (row: FocusText, column: string, ...values: readonly string[]): boolean =>
  values.includes(row[column] ?? "");

const isCorrection = (row: FocusText): boolean => is(row, "ChargeClass", "Correction");
const isUsageOrPurchase = (row: FocusText): boolean => is(row, "ChargeCategory", "Usage", "Purchase");

/** Keys and values of a JSON object with one level, or `null`. */
function keyValues(text: string): readonly (readonly [string, unknown])[] | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
    const entries = Object.entries(value);
    return entries.every(([, each]) => each === null || typeof each !== "object") ? entries : null;
  } catch {
    return null;
  }
}

function columnRules(column: FocusColumn): readonly RowRule[] {
  const { name, type } = column;
  const rules: RowRule[] = [];
  const add = (rule: string, isBroken: (value: string, row: FocusText) => boolean): void => {
    rules.push({ column: name, name: rule, isBroken: (row) => !isNull(row, name) && isBroken(row[name] ?? "", row) });
  };
  if (column.isNullable !== true)
    rules.push({ column: name, name: "not null", isBroken: (row) => present(row, name) && isNull(row, name) });
  if (type === "decimal") add("number", (value) => !DECIMAL.test(value));
  if (type === "instant") add("date and time in UTC", (value) => !INSTANT.test(value));
  if (type === "json") add("key-value object", (value) => keyValues(value) === null);
  if (type === "string") add("no surrounding space", (value) => value !== value.trim());
  if (column.isNonNegative === true) add("not negative", (value) => Number(value) < 0);
  if (column.isCurrency === true) add("currency code", (value) => !CURRENCY.test(value));
  if (column.isUnit === true) add("unit", (value) => !UNIT.test(value));
  const { values } = column;
  if (values !== undefined) add("allowed value", (value) => !values.includes(value));
  return rules;
}

const rule = (column: string, name: string, isBroken: RowRule["isBroken"]): RowRule => ({
  column,
  name,
  isBroken: (row) => present(row, column) && isBroken(row),
});

/** `column` is null exactly if `other` is. */
const nullTogether = (column: string, other: string): RowRule =>
  rule(column, `null exactly if ${other} is`, (row) => isNull(row, column) !== isNull(row, other));

const nullIfNull = (column: string, other: string): RowRule =>
  rule(column, `null if ${other} is`, (row) => isNull(row, other) && !isNull(row, column));

/** Columns of a price: never for a tax, always for usage and purchases that are no corrections. */
const priced = (column: string): readonly RowRule[] => [
  rule(column, "null for a tax", (row) => is(row, "ChargeCategory", "Tax") && !isNull(row, column)),
  rule(
    column,
    "stated for usage and purchases",
    (row) => isUsageOrPurchase(row) && !isCorrection(row) && isNull(row, column),
  ),
];

/** The cost is the unit price times the quantity; without a unit price, that of a credit or an adjustment is what is billed. */
const product = (cost: string, unitPrice: string): readonly RowRule[] => [
  rule(cost, `${unitPrice} × PricingQuantity`, (row) => {
    if (isNull(row, unitPrice) || isNull(row, "PricingQuantity") || isCorrection(row)) return false;
    const expected = numberOf(row, unitPrice) * numberOf(row, "PricingQuantity");
    return Math.abs(expected - numberOf(row, cost)) > PRODUCT_TOLERANCE * Math.max(1, Math.abs(expected));
  }),
  rule(
    cost,
    "that of a credit equals BilledCost",
    (row) =>
      isNull(row, unitPrice) &&
      is(row, "ChargeCategory", "Credit", "Adjustment") &&
      numberOf(row, cost) !== numberOf(row, "BilledCost"),
  ),
];

const ordered = (start: string, end: string): RowRule =>
  rule(end, `later than ${start}`, (row) => (row[end] ?? "") <= (row[start] ?? ""));

const FOCUS_DETAILS: ReadonlySet<string> = new Set([
  "CoreCount",
  "DiskMaxIops",
  "DiskSpace",
  "DiskType",
  "GpuCount",
  "InstanceSeries",
  "InstanceType",
  "MemorySize",
  "NetworkMaxIops",
  "NetworkMaxThroughput",
  "OperatingSystem",
  "Redundancy",
  "StorageClass",
]);

const commitmentRules: readonly RowRule[] = [
  nullTogether("CommitmentDiscountCategory", "CommitmentDiscountId"),
  nullTogether("CommitmentDiscountType", "CommitmentDiscountId"),
  nullIfNull("CommitmentDiscountName", "CommitmentDiscountId"),
  nullIfNull("CommitmentDiscountStatus", "CommitmentDiscountId"),
  rule(
    "CommitmentDiscountStatus",
    "stated for usage of a commitment",
    (row) =>
      !isNull(row, "CommitmentDiscountId") &&
      is(row, "ChargeCategory", "Usage") &&
      isNull(row, "CommitmentDiscountStatus"),
  ),
  rule("CommitmentDiscountQuantity", "stated for usage and purchases of a commitment", (row) => {
    const isNeeded = isUsageOrPurchase(row) && !isNull(row, "CommitmentDiscountId") && !isCorrection(row);
    return isNeeded && isNull(row, "CommitmentDiscountQuantity");
  }),
  rule("CommitmentDiscountQuantity", "null in all other cases", (row) => {
    const isAllowed = isUsageOrPurchase(row) && !isNull(row, "CommitmentDiscountId");
    return !isAllowed && !isNull(row, "CommitmentDiscountQuantity");
  }),
  nullTogether("CommitmentDiscountUnit", "CommitmentDiscountQuantity"),
  nullIfNull("CapacityReservationStatus", "CapacityReservationId"),
  rule(
    "CapacityReservationStatus",
    "stated for usage of a reservation",
    (row) =>
      !isNull(row, "CapacityReservationId") &&
      is(row, "ChargeCategory", "Usage") &&
      isNull(row, "CapacityReservationStatus"),
  ),
];

const quantityRules: readonly RowRule[] = [
  rule("ConsumedQuantity", "null unless usage that was consumed", (row) => {
    const isConsumed = is(row, "ChargeCategory", "Usage") && !is(row, "CommitmentDiscountStatus", "Unused");
    return !isConsumed && !isNull(row, "ConsumedQuantity");
  }),
  rule("ConsumedQuantity", "stated for usage that was consumed", (row) => {
    const isConsumed = is(row, "ChargeCategory", "Usage") && !is(row, "CommitmentDiscountStatus", "Unused");
    return isConsumed && !isCorrection(row) && isNull(row, "ConsumedQuantity");
  }),
  nullTogether("ConsumedUnit", "ConsumedQuantity"),
  nullTogether("PricingUnit", "PricingQuantity"),
  ...[
    "ContractedUnitPrice",
    "ListUnitPrice",
    "PricingQuantity",
    "PricingCategory",
    "SkuId",
    "SkuPriceId",
    "PricingCurrencyContractedUnitPrice",
    "PricingCurrencyListUnitPrice",
  ].flatMap(priced),
  ...product("ContractedCost", "ContractedUnitPrice"),
  ...product("ListCost", "ListUnitPrice"),
  rule(
    "PricingCategory",
    "Committed for usage of a commitment",
    (row) =>
      is(row, "ChargeCategory", "Usage") &&
      !isNull(row, "CommitmentDiscountId") &&
      !isNull(row, "PricingCategory") &&
      !is(row, "PricingCategory", "Committed"),
  ),
  rule(
    "PricingCategory",
    "not Committed for a purchase",
    (row) => is(row, "ChargeCategory", "Purchase") && is(row, "PricingCategory", "Committed"),
  ),
];

const costRules: readonly RowRule[] = [
  rule(
    "BilledCost",
    "0 if a third party receives the payment",
    (row) => numberOf(row, "BilledCost") !== 0 && row["ProviderName"] !== row["InvoiceIssuerName"],
  ),
  rule(
    "EffectiveCost",
    "0 for a purchase that covers later usage",
    (row) => is(row, "ChargeCategory", "Purchase") && numberOf(row, "EffectiveCost") !== 0,
  ),
  rule(
    "EffectiveCost",
    "that of a credit equals BilledCost",
    (row) =>
      is(row, "ChargeCategory", "Credit", "Adjustment") &&
      numberOf(row, "EffectiveCost") !== numberOf(row, "BilledCost"),
  ),
  rule(
    "PricingCurrencyEffectiveCost",
    "0 for a purchase",
    (row) => is(row, "ChargeCategory", "Purchase") && numberOf(row, "PricingCurrencyEffectiveCost") !== 0,
  ),
  rule(
    "ChargeFrequency",
    "not Usage-Based for a purchase",
    (row) => is(row, "ChargeCategory", "Purchase") && is(row, "ChargeFrequency", "Usage-Based"),
  ),
  ordered("BillingPeriodStart", "BillingPeriodEnd"),
  ordered("ChargePeriodStart", "ChargePeriodEnd"),
  rule(
    "ChargeClass",
    "null for a charge of the current billing period",
    (row) => isCorrection(row) && (row["ChargePeriodStart"] ?? "") >= (row["BillingPeriodStart"] ?? ""),
  ),
];

const nameRules: readonly RowRule[] = [
  nullTogether("BillingAccountType", "BillingAccountId"),
  nullTogether("RegionName", "RegionId"),
  nullTogether("ResourceType", "ResourceId"),
  nullIfNull("ResourceName", "ResourceId"),
  rule(
    "ResourceName",
    "no copy of ResourceId",
    (row) => !isNull(row, "ResourceName") && row["ResourceName"] === row["ResourceId"],
  ),
  nullTogether("SubAccountName", "SubAccountId"),
  nullTogether("SubAccountType", "SubAccountId"),
  nullIfNull("SkuMeter", "SkuId"),
  nullIfNull("SkuPriceDetails", "SkuPriceId"),
  rule("SkuPriceDetails", "keys of FOCUS or x_", (row) => {
    const entries = isNull(row, "SkuPriceDetails") ? [] : (keyValues(row["SkuPriceDetails"] ?? "") ?? []);
    return entries.some(([key]) => !FOCUS_DETAILS.has(key) && !key.startsWith("x_"));
  }),
  rule("ServiceCategory", "allowed value", (row) => !serviceSubcategories.has(row["ServiceCategory"] ?? "")),
  rule("ServiceSubcategory", "belongs to its category", (row) => {
    if (isNull(row, "ServiceSubcategory")) return false;
    const known = serviceSubcategories.get(row["ServiceCategory"] ?? "") ?? [];
    return !known.includes(row["ServiceSubcategory"] ?? "");
  }),
];

export const rowRules: readonly RowRule[] = [
  ...allColumns.flatMap(columnRules),
  ...commitmentRules,
  ...quantityRules,
  ...costRules,
  ...nameRules,
];
