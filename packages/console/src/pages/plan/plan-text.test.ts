import { describe, expect, it } from "vitest";
import { dueText, firstRemedyText, isPast, lateText, orderText, shareText, usdText } from "./plan-text.ts";

const order = {
  orderBy: "2026-02-26",
  name: "b200",
  kind: "own",
  pool: "h100",
  count: 72,
  inService: "2026-09",
  until: null,
  upfrontUsd: 1,
  monthlyUsd: 1,
  lead: null,
  monthLateUsd: 1234.5,
  monthLateShortage: 0,
} as const;

describe("dates of a plan", () => {
  it("are counted from the present day", () => {
    const noon = Date.UTC(2026, 1, 24, 12);
    expect(["2026-02-26", "2026-02-24", "2026-02-23"].map((day) => dueText(day, noon))).toEqual([
      "in 2 days",
      "today",
      "1 day overdue",
    ]);
    expect(["2026-01", "2026-02"].map((month) => isPast(month, noon))).toEqual([true, false]);
    expect(isPast("2025-12", Date.UTC(2026, 0, 1))).toBe(true);
  });
});

describe("amounts of a plan", () => {
  it("say what a late order costs, in money and in accelerators", () => {
    expect(lateText(order)).toBe("$1,235");
    expect(lateText({ ...order, monthLateShortage: 16.5 })).toBe("$1,235, 17 accelerators short");
    expect(lateText({ ...order, monthLateUsd: null, monthLateShortage: 1 })).toBe("1 accelerator short");
    expect(lateText({ ...order, monthLateUsd: -3 })).toBe("nothing");
    expect(lateText({ ...order, monthLateUsd: null, monthLateShortage: null })).toBe("not known");
  });

  it("have a unit", () => {
    expect([orderText(order), orderText({ ...order, kind: "expansion", count: 1, name: "hall-b" })]).toEqual([
      "72 × b200",
      "1 step of hall-b",
    ]);
    expect([usdText(-1234.4), shareText(0.004), shareText(0.9955), shareText(1)]).toEqual([
      "−$1,234",
      "under 1%",
      "over 99%",
      "100%",
    ]);
  });
});

describe("the axis that runs out first", () => {
  const axis = (name: string, orderBy: string | null) =>
    ({
      axis: name,
      unit: "",
      capacity: [],
      p50: [],
      p95: [],
      bindsP50: null,
      bindsP95: null,
      probability: 1,
      orderBy,
    }) as never;
  const remedy = (name: string, orderBy: string | null, pools: readonly string[], orders: readonly (typeof order)[]) =>
    firstRemedyText(
      {
        first: { axis: name, month: "2026-07", probability: 1 },
        axes: [axis(name, orderBy)],
        pools: pools.map((pool) => ({ pool })),
        orders: orders.map((each) => ({ ...each })),
      },
      Date.UTC(2026, 0, 6),
    );

  it("has the order for it, or the month by which it must be extended", () => {
    const text = "For it, order 72 × b200 by 26 Feb 2026; on-demand and spot capacity serve the rest.";
    expect(remedy("accelerators of h100", "2025-07", ["h100", "h200"], [order])).toBe(text);
    expect(remedy("accelerators", null, ["h100"], [order])).toBe(text);
    expect(remedy("accelerators of h200", null, ["h100", "h200"], [order])).toContain("The plan orders none");
    expect(remedy("power", "2025-06", ["h100"], [order])).toBe(
      "An extension must be ordered by Jun 2025, which is past.",
    );
  });
});
