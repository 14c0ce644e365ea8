import { describe, expect, it } from "vitest";
import { dueText, isPast, lateText, orderText, shareText, usdText } from "./plan-text.ts";

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
