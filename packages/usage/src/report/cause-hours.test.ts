import { describe, expect, it } from "vitest";
import type { UsageRow } from "../rows/row.ts";
import { causeAnswer } from "./cause-answer.ts";
import { CauseTotals, HOUR_CAUSES, type UsedShares } from "./cause-hours.ts";

const row = (facts: Partial<UsageRow>): UsageRow => ({
  fromMs: 0,
  toMs: 1_001,
  milli: 333,
  state: "used",
  cause: "running",
  team: "t",
  user: "u",
  workloadId: "w1",
  workload: "w",
  workloadKind: "train",
  attemptId: "w1.1",
  site: "s",
  pool: "p",
  node: "n",
  acceleratorType: "H100",
  correctedAtMs: null,
  ...facts,
});

function hoursOf(rows: readonly UsageRow[], shares: Record<string, UsedShares> = {}) {
  const totals = new CauseTotals({ fromMs: 0, toMs: 10_000 }, "team");
  for (const each of rows) totals.add(each);
  return totals.hours((attemptId) => shares[attemptId] ?? null);
}

describe("allocated time by cause", () => {
  it("divides used time by the measured shares, and keeps the rest as unmeasured", () => {
    const { total } = hoursOf([row({})], { "w1.1": { compute: 0.6, communication: 0.3 } });
    expect(total.allocated).toBe(333_333n);
    expect(total.causes).toMatchObject({ compute: 199_999n, communication: 99_999n, io: 0n, unmeasured: 33_335n });
  });

  it("is exact beyond the integers of a double", () => {
    const [milli, toMs] = [20_000_001, 2_592_000_001];
    const totals = new CauseTotals({ fromMs: 0, toMs }, null);
    totals.add(row({ milli, toMs }));
    expect(totals.hours(() => null).total.allocated).toBe(BigInt(milli) * BigInt(toMs));
    expect(BigInt(milli * toMs)).not.toBe(BigInt(milli) * BigInt(toMs));
  });

  it("has one line for the smallest of too many groups, and the same sum", () => {
    const rows = Array.from({ length: 9 }, (_, index) => row({ team: `t${index}`, toMs: index + 1, milli: 1 }));
    const { items, total } = causeAnswer(hoursOf(rows), 4);
    expect(items.map(({ group, allocated }) => [group, allocated.acceleratorMs])).toEqual([
      ["t8", "0.009"],
      ["t7", "0.008"],
      ["t6", "0.007"],
      ["(others)", "0.021"],
    ]);
    expect(total.allocated.acceleratorMs).toBe("0.045");
    expect(causeAnswer(hoursOf(rows), 9).items).toHaveLength(9);
  });

  it("leaves nothing unmeasured if the parts fill the step, or more", () => {
    for (const scale of [1, 7]) {
      const { causes } = hoursOf([row({})], {
        "w1.1": { compute: 0.1 * scale, communication: 0.2 * scale, io: 0.7 * scale },
      }).total;
      expect(causes.unmeasured).toBe(0n);
      expect(causes.compute + causes.communication + causes.io).toBe(333_333n);
    }
  });

  it("measures nothing from shares that are no numbers", () => {
    const { causes } = hoursOf([row({})], { "w1.1": { compute: Number.NaN, io: -1, communication: Infinity } }).total;
    expect(causes).toMatchObject({ unmeasured: 333_333n });
  });

  it("counts starts of later attempts and evicted work as restarts, and the first start and back-offs as waiting", () => {
    const { total, items, unallocated } = hoursOf([
      row({ state: "idle", cause: "starting" }),
      row({ state: "idle", cause: "backoff", attemptId: "w1.2" }),
      row({ state: "idle", cause: "starting", attemptId: "w1.2" }),
      row({ state: "evicted", cause: "preempted", team: "b" }),
      row({ state: "failed", cause: "exited" }),
      row({ state: "lost", cause: "nodeLost" }),
      row({ state: "idle", cause: "reportedIdle" }),
      row({ state: "idle", cause: "free", team: "", attemptId: "" }),
    ]);
    const one = 333_333n;
    expect(total.causes).toMatchObject({ waiting: 2n * one, restart: 2n * one, failure: 2n * one, idle: one });
    expect(items.map(({ group, allocated }) => [group, allocated])).toEqual([
      ["t", 6n * one],
      ["b", one],
    ]);
    for (const { causes, allocated } of items)
      expect(HOUR_CAUSES.reduce((sum, cause) => sum + causes[cause], 0n)).toBe(allocated);
    expect([...unallocated]).toEqual([["free", one]]);
  });

  it("takes corrections back, and cuts rows at the ends of the range", () => {
    const { total } = hoursOf([
      row({ toMs: 20_000 }),
      row({ toMs: 20_000, milli: -333, correctedAtMs: 30_000 }),
      row({ toMs: 20_000, state: "failed", cause: "exited", correctedAtMs: 30_000 }),
    ]);
    expect(total.causes).toMatchObject({ unmeasured: 0n, failure: 3_330_000n });
  });
});
