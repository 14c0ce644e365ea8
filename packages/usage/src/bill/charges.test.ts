import { describe, expect, it } from "vitest";
import { hourCost, monthCosts } from "../prices/capacity-cost.ts";
import { instantOf } from "../prices/amounts.ts";
import { priceBook, priceDocument, type CapacityPrice, type PriceBook } from "../prices/price-documents.ts";
import type { UsageRow } from "../rows/row.ts";
import { charges, HourlyRows, isUnused } from "./charges.ts";

const HOUR_MS = 3_600_000;

const owned: CapacityPrice = {
  kind: "price",
  name: "owned",
  pool: "p",
  provider: "Own",
  source: "owned",
  accelerators: 3,
  from: "2026-01-01",
  components: [
    { name: "accelerators", purchase: 100_000, salvage: 1, on: "2026-01-01", months: 7 },
    { name: "space", perMonth: 1_000 },
    { name: "staff", perHour: 0.333_333 },
    { name: "power", kilowatts: 10.2, pue: 1.3, perKwh: 0.117 },
  ],
};

function bookOf(...documents: readonly object[]): PriceBook {
  const book = priceBook(documents.map((document) => priceDocument.parse(document)));
  if ("problem" in book) throw new Error(book.problem);
  return book;
}

const rowOf = (changes: Partial<UsageRow>): UsageRow => ({
  fromMs: instantOf("2026-03-01"),
  toMs: instantOf("2026-03-02"),
  milli: 1_000,
  state: "used",
  cause: "succeeded",
  team: "t",
  user: "",
  workloadId: "",
  workload: "",
  workloadKind: "",
  attemptId: "",
  site: "s",
  pool: "p",
  node: "n",
  acceleratorType: "A",
  correctedAtMs: null,
  ...changes,
});

describe("costs of capacity", () => {
  it("add up over months and over the life, to the micro-dollar", () => {
    const months = Array.from({ length: 7 }, (_, index) => instantOf(`2026-0${index + 1}-01`));
    const sums = months.map((monthMs) => monthCosts(owned, monthMs));
    const total = (index: number): number => sums.reduce((sum, costs) => sum + (costs[index] ?? 0), 0);
    expect(total(0)).toBe(99_999_000_000);
    expect(sums.map((costs) => costs[1])).toEqual(months.map(() => 1_000_000_000));
    expect(total(2)).toBe(333_333 * 212 * 24);
    expect(monthCosts(owned, instantOf("2026-08-01"))[0]).toBe(0);
  });
});

describe("charges", () => {
  const rows = new HourlyRows();
  // Sevenths of an accelerator, idle time, a row over midnight, and a correction.
  for (const [index, milli] of [142, 285, 571, 2].entries()) rows.add(rowOf({ milli, team: `t${index}` }));
  rows.add(rowOf({ milli: 2_000, team: "", state: "idle", cause: "free" }));
  rows.add(rowOf({ fromMs: instantOf("2026-03-02") - 1_234_567, toMs: instantOf("2026-03-02") + 7_654_321 }));
  rows.add(rowOf({ milli: -142, correctedAtMs: instantOf("2026-04-01") }));
  rows.add(rowOf({ milli: 142, state: "failed", correctedAtMs: instantOf("2026-04-01") }));
  const range = { fromMs: instantOf("2026-03-01"), toMs: instantOf("2026-03-03") };
  const second = { ...owned, name: "second", accelerators: 5, components: [{ name: "rent", perMonth: 77 }] };

  it("of every hour reconcile with its cost, with a difference of 0", () => {
    const all = [...charges(rows, bookOf(owned, second), range)];
    for (let hourMs = range.fromMs; hourMs < range.toMs; hourMs += HOUR_MS)
      for (const price of [owned, second]) {
        const own = all.filter((charge) => charge.hourMs === hourMs && charge.price.name === price.name);
        const sum = own.reduce((total, { microUsd }) => total + microUsd, 0);
        expect([hourMs, price.name, sum]).toEqual([hourMs, price.name, hourCost(price, hourMs)]);
      }
    expect(all.some((charge) => isUnused(charge))).toBe(true);
    const afterLast = all.filter(({ hourMs }) => hourMs === range.toMs - HOUR_MS);
    expect(afterLast.map(({ row }) => row.cause)).toEqual(["notInService", "notInService"]);
    const quantity = (team: string): number =>
      all
        .filter(({ row }) => row.team === team && row.correctedAtMs === null)
        .reduce((sum, { milliMs }) => sum + milliMs, 0);
    expect(quantity("t0")).toBe(142 * 24 * HOUR_MS);
    const corrected = all.filter(({ row }) => row.correctedAtMs !== null);
    expect(corrected.reduce((sum, { microUsd }) => sum + microUsd, 0)).toBe(0);
  });

  it("of metered prices follow their history, and hours without a price are unpriced", () => {
    const spot = {
      kind: "price",
      name: "spot",
      pool: "p",
      provider: "Cloud",
      source: "spot",
      from: "2026-03-01T01:00Z",
      prices: [
        { from: "2026-03-01", perHour: 2 },
        { from: "2026-03-01T12:00Z", perHour: 3 },
      ],
    };
    const unpriced = new Map<string, bigint>();
    const all = [...charges(rows, bookOf(spot), { ...range, toMs: instantOf("2026-03-02") }, unpriced)];
    const at = (hour: number): number =>
      all
        .filter(({ hourMs }) => hourMs === range.fromMs + hour * HOUR_MS)
        .reduce((sum, { microUsd }) => sum + microUsd, 0);
    expect([at(1), at(12)]).toEqual([6_000_000, 9_000_000]);
    expect(unpriced).toEqual(new Map([["p", BigInt(3_000 * HOUR_MS)]]));
  });

  it.each([
    [{ ...owned, components: [{ name: "x" }] }, "state exactly one of"],
    [{ ...owned, components: [{ name: "x", purchase: 1 }] }, "a purchase needs on"],
    [{ ...owned, from: "2026-13-01" }, "expected a day"],
    [{ ...owned, colour: "red" }, "colour"],
  ])("refuses %j", (document, message) => {
    expect(priceDocument.safeParse(document).error?.message).toContain(message);
  });
});
