import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { charges, HourlyRows } from "../bill/charges.ts";
import { hourCost } from "../prices/capacity-cost.ts";
import { demoMonth } from "./demo-fleet.ts";
import { FocusEvaluation } from "./evaluate.ts";
import { exactProduct } from "./exact-product.ts";
import { allColumns } from "./focus-columns.ts";
import { focusRows } from "./focus-rows.ts";
import { meteredFocusRows } from "./metered-rows.ts";
import { focusText } from "./focus-text.ts";
import type { FocusText } from "./row-rules.ts";

const DAY_MS = 86_400_000;
const columns = allColumns.map(({ name }) => name);

/** The first hours of the demo, with a correction of the month before. */
function demoRows(hours: number): readonly FocusText[] {
  const lengthMs = hours * 3_600_000;
  const { rows, book, fromMs } = demoMonth(1);
  const hourly = new HourlyRows();
  for (const row of rows) if (row.fromMs < fromMs + lengthMs) hourly.add(row);
  const range = { fromMs, toMs: fromMs + lengthMs };
  const all = [...charges(hourly, book, range)];
  const [first] = all.filter(({ row, price }) => row.team !== "" && price.source === "owned");
  if (first === undefined) throw new Error("the demo has no usage");
  const row = { ...first.row, correctedAtMs: fromMs + DAY_MS + 40 * DAY_MS };
  const corrections = [
    { ...first, row, milliMs: -first.milliMs, microUsd: -first.microUsd },
    { ...first, row: { ...row, state: "failed" as const } },
  ];
  return [...focusRows([...all, ...corrections], book, range)].map(focusText);
}

const valid = demoRows(2);

function violationsOf(rows: readonly FocusText[], header: readonly string[] = columns): readonly string[] {
  const evaluation = new FocusEvaluation(header);
  for (const row of rows) evaluation.add(row);
  return evaluation.violations().map(({ column, rule }) => `${column}: ${rule}`);
}

const find = (isFound: (row: FocusText) => boolean): FocusText => {
  const row = valid.find(isFound);
  if (row === undefined) throw new Error("no such row");
  return row;
};
const used = find((row) => row["CommitmentDiscountStatus"] === "Used");
const unused = find((row) => row["CommitmentDiscountStatus"] === "Unused");
const metered = find((row) => row["PricingCategory"] === "Standard" && row["ChargeCategory"] === "Usage");
const purchase = find((row) => row["ChargeCategory"] === "Purchase");
const correction = find((row) => row["ChargeClass"] === "Correction");

/** A violation: the changed columns of a row, and the rule that must find it. */
const planted: readonly (readonly [FocusText, Record<string, string | null>, string])[] = [
  [metered, { BilledCost: null }, "BilledCost: not null"],
  [metered, { BilledCost: "1,5" }, "BilledCost: number"],
  [metered, { BilledCost: "$3" }, "BilledCost: number"],
  [metered, { BillingAccountId: null }, "BillingAccountId: not null"],
  [metered, { BillingAccountType: null }, "BillingAccountType: null exactly if BillingAccountId is"],
  [metered, { BillingCurrency: "Dollar" }, "BillingCurrency: currency code"],
  [metered, { BillingPeriodStart: "2026-10-01" }, "BillingPeriodStart: date and time in UTC"],
  [metered, { BillingPeriodEnd: "2026-10-01T00:00:00Z" }, "BillingPeriodEnd: later than BillingPeriodStart"],
  [metered, { ChargePeriodEnd: "2026-09-01T00:00:00Z" }, "ChargePeriodEnd: later than ChargePeriodStart"],
  [metered, { ChargePeriodStart: "2026-10-01T00:00:00+02:00" }, "ChargePeriodStart: date and time in UTC"],
  [metered, { ChargeCategory: "Use" }, "ChargeCategory: allowed value"],
  [metered, { ChargeClass: "Refund" }, "ChargeClass: allowed value"],
  [metered, { ChargeClass: "Correction" }, "ChargeClass: null for a charge of the current billing period"],
  [metered, { ChargeFrequency: null }, "ChargeFrequency: not null"],
  [purchase, { ChargeFrequency: "Usage-Based" }, "ChargeFrequency: not Usage-Based for a purchase"],
  [metered, { ProviderName: "Someone" }, "BilledCost: 0 if a third party receives the payment"],
  [used, { CapacityReservationStatus: null }, "CapacityReservationStatus: stated for usage of a reservation"],
  [metered, { CapacityReservationStatus: "Used" }, "CapacityReservationStatus: null if CapacityReservationId is"],
  [used, { CommitmentDiscountStatus: null }, "CommitmentDiscountStatus: stated for usage of a commitment"],
  [used, { CommitmentDiscountStatus: "Active" }, "CommitmentDiscountStatus: allowed value"],
  [used, { CommitmentDiscountCategory: null }, "CommitmentDiscountCategory: null exactly if CommitmentDiscountId is"],
  [metered, { CommitmentDiscountType: "Lease" }, "CommitmentDiscountType: null exactly if CommitmentDiscountId is"],
  [
    used,
    { CommitmentDiscountQuantity: null, CommitmentDiscountUnit: null },
    "CommitmentDiscountQuantity: stated for usage and purchases of a commitment",
  ],
  [
    metered,
    { CommitmentDiscountQuantity: "1.0", CommitmentDiscountUnit: "Hours" },
    "CommitmentDiscountQuantity: null in all other cases",
  ],
  [used, { CommitmentDiscountUnit: null }, "CommitmentDiscountUnit: null exactly if CommitmentDiscountQuantity is"],
  [used, { CommitmentDiscountUnit: "Months" }, "CommitmentDiscountUnit: one value for each CommitmentDiscountId"],
  [unused, { ConsumedQuantity: "1.0", ConsumedUnit: "Hours" }, "ConsumedQuantity: null unless usage that was consumed"],
  [used, { ConsumedQuantity: null, ConsumedUnit: null }, "ConsumedQuantity: stated for usage that was consumed"],
  [used, { ConsumedUnit: null }, "ConsumedUnit: null exactly if ConsumedQuantity is"],
  [metered, { ContractedCost: "1000.0" }, "ContractedCost: ContractedUnitPrice × PricingQuantity"],
  [metered, { ListUnitPrice: "9.0" }, "ListCost: ListUnitPrice × PricingQuantity"],
  [metered, { ContractedUnitPrice: null }, "ContractedUnitPrice: stated for usage and purchases"],
  [metered, { ListUnitPrice: "-1.0" }, "ListUnitPrice: not negative"],
  [purchase, { EffectiveCost: "5.0" }, "EffectiveCost: 0 for a purchase that covers later usage"],
  [used, { EffectiveCost: "1000000.0" }, "EffectiveCost: the usage of a commitment costs what was paid for it"],
  [metered, { PricingCategory: null }, "PricingCategory: stated for usage and purchases"],
  [used, { PricingCategory: "Standard" }, "PricingCategory: Committed for usage of a commitment"],
  [purchase, { PricingCategory: "Committed" }, "PricingCategory: not Committed for a purchase"],
  [metered, { ChargeCategory: "Tax" }, "PricingQuantity: null for a tax"],
  [metered, { PricingUnit: null }, "PricingUnit: null exactly if PricingQuantity is"],
  [metered, { PricingUnit: "hours!" }, "PricingUnit: unit"],
  [metered, { RegionName: null }, "RegionName: null exactly if RegionId is"],
  [metered, { ResourceType: null }, "ResourceType: null exactly if ResourceId is"],
  [metered, { ResourceName: metered["ResourceId"] ?? null }, "ResourceName: no copy of ResourceId"],
  [metered, { ServiceCategory: "GPUs" }, "ServiceCategory: allowed value"],
  [metered, { ServiceSubcategory: "Machine Learning" }, "ServiceSubcategory: belongs to its category"],
  [
    metered,
    { ServiceCategory: "Storage", ServiceSubcategory: "Block Storage" },
    "ServiceCategory: one value for each ServiceName",
  ],
  [metered, { SkuId: null, SkuMeter: null }, "SkuId: stated for usage and purchases"],
  [metered, { SkuId: "other" }, "SkuId: one value for each SkuPriceId"],
  [metered, { SkuPriceDetails: '{"Model":"H100"}' }, "SkuPriceDetails: keys of FOCUS or x_"],
  [metered, { SubAccountType: null, SubAccountName: "x" }, "SubAccountType: null exactly if SubAccountId is"],
  [used, { Tags: "{team: a}" }, "Tags: key-value object"],
  [used, { Tags: '{"team":{"a":1}}' }, "Tags: key-value object"],
  [used, { InvoiceIssuerName: " Example" }, "InvoiceIssuerName: no surrounding space"],
];

describe("a FOCUS dataset", () => {
  it("of the demo has no violation, and every kind of row", () => {
    const days = demoRows(48);
    expect(violationsOf(days)).toEqual([]);
    expect(days.length).toBeGreaterThan(2_000);
    expect(correction["ChargeClass"]).toBe("Correction");
  });

  it.each(planted)("%#: finds what was planted", (row, changes, expected) => {
    const broken = { ...row, ...changes };
    if (row["SubAccountId"] === null && expected.startsWith("SubAccount")) broken["SubAccountId"] = "team/x";
    expect(violationsOf([...valid, broken])).toContain(expected);
  });

  it("without a mandatory column, or with a column of another name, is refused", () => {
    expect(
      violationsOf(
        [],
        columns.filter((name) => name !== "BilledCost"),
      ),
    ).toEqual(["BilledCost: present"]);
    expect(violationsOf([], [...columns, "GpuModel", "SkuId"])).toEqual([
      "GpuModel: own columns begin with x_",
      "SkuId: one column of each name",
    ]);
  });

  it("has storage and tokens, whose costs add up to the lines of the bill", () => {
    const { book, metered: lines } = demoMonth(1);
    const rows = [...meteredFocusRows(lines, book)].map(focusText);
    expect(violationsOf([...valid, ...rows])).toEqual([]);
    const sum = (category: string): number =>
      rows
        .filter((row) => row["ServiceCategory"] === category)
        .reduce((total, row) => total + Math.round(Number(row["EffectiveCost"]) * 1_000_000), 0);
    const billed = (service: string): number =>
      lines.filter((line) => line.service === service).reduce((total, { microUsd }) => total + microUsd, 0);
    expect([sum("Storage"), sum("AI and Machine Learning")]).toEqual([billed("storage"), billed("tokens")]);
    expect(Math.min(billed("storage"), billed("tokens"))).toBeGreaterThan(1_000_000);
    // The list cost differs from the bill by what it rounds: less than a thousandth of a dollar a row.
    for (const row of rows)
      expect(Math.abs(Number(row["ListCost"]) - Number(row["EffectiveCost"]))).toBeLessThan(0.001);
    const own = rows.filter((row) => row["ServiceName"] === "Own Model Serving");
    expect(own.length).toBeGreaterThan(100);
    expect(new Set(own.map((row) => row["BilledCost"]))).toEqual(new Set(["0.0"]));
  });

  it("leaves storage without a price out, as the bill does", () => {
    const { book, metered: lines } = demoMonth(1);
    const unpriced = lines.filter(({ service }) => service === "storage").map((line) => ({ ...line, price: "" }));
    expect([...meteredFocusRows(unpriced, book)]).toEqual([]);
  });

  it("states what every hour of a commitment costs, to the micro-dollar", () => {
    const { book } = demoMonth(1);
    const [price] = book.byPool.get("h100-owned") ?? [];
    if (price === undefined || "prices" in price) throw new Error("no owned price");
    const hours = new Map<string, number>();
    for (const row of demoRows(48))
      if (row["SkuPriceId"] === "price/h100-owned" && row["ChargeClass"] === null) {
        const hour = row["ChargePeriodStart"] ?? "";
        hours.set(hour, (hours.get(hour) ?? 0) + Math.round(Number(row["EffectiveCost"]) * 1_000_000));
      }
    expect([...hours.values()]).toEqual([...hours.keys()].map((hour) => hourCost(price, Date.parse(hour))));
    expect(hours.size).toBe(48);
  });
});

describe("exact products", () => {
  it("are the same in doubles and in decimals, close to the quantity", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 200_000 }),
        fc.integer({ min: -9_000_000, max: 900_000_000 }),
        (price, quantity) => {
          const unitPrice = price / 10_000;
          const { quantity: found, cost } = exactProduct(unitPrice, quantity / 1_000_000);
          expect(unitPrice * found).toBe(cost);
          const digits = BigInt(price) * BigInt(Math.round(found * 1_000_000));
          expect(Number(digits) / 1e10).toBeCloseTo(cost, 9);
          expect(String(cost).length).toBeLessThanOrEqual(18);
          expect(Math.abs(found - quantity / 1_000_000)).toBeLessThanOrEqual(0.000_061);
        },
      ),
    );
  });
});
