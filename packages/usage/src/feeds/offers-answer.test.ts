import { describe, expect, it } from "vitest";
import { tcoDocument } from "../tco/tco.ts";
import { offerQuestion } from "./compare-offers.ts";
import { csvRecords } from "./csv-records.ts";
import { feedHeader, feedRow } from "./feed-table.ts";
import { offersAnswer, type NamedRow } from "./offers-answer.ts";

const DAY_MS = 24 * 3_600_000;
const NOW_MS = 400 * DAY_MS;

/** Rows of a feed; times are days. */
function rowsOf(text: string): readonly NamedRow[] {
  const [first, ...rest] = csvRecords(text) ?? [];
  const header = feedHeader(first?.fields ?? []) ?? new Map();
  return rest.map(({ fields, line }) => ({
    ...feedRow(fields, header, line, (day) => Number(day) * DAY_MS),
    feed: "feed.csv",
  }));
}

const feed = `provider,gpu,gpus,region,on_demand_usd_h,spot_usd_h,time
Alpha,H100,8,west,32,12,398
Alpha,H100,8,west,24,9.6,399
Beta,H100,8,north,20,,397
Beta,H100,8,south,60,60,399
Gamma,A100,8,north,10.4,,300
`;

const question = offerQuestion({
  interruptionEveryHours: 10,
  checkpointS: 120,
  restartS: 600,
  egressUsd: 0,
  workHours: 100,
  accelerators: 8,
});
const sources = { rows: rowsOf(feed), documents: [], nowMs: NOW_MS, staleAfterMs: 30 * DAY_MS };

describe("offers of feeds", () => {
  it("takes the newest row of each offer, and leaves prices with a defect out", () => {
    const { items, unpriced, accelerators } = offersAnswer(sources, question);
    expect(items.map(({ provider, region, market, usdPerHour }) => [provider, region, market, usdPerHour])).toEqual([
      ["Alpha", "west", "spot", 1.2],
      ["Beta", "north", "on-demand", 2.5],
      ["Alpha", "west", "on-demand", 3],
      ["Beta", "south", "on-demand", 7.5],
    ]);
    expect(items[0]?.usdPerUsefulHour).toBeGreaterThan(1.2);
    expect(unpriced.map(({ line, defects }) => [line, defects[0]?.class])).toEqual([
      [5, "spot-equals-list"],
      [6, "stale"],
    ]);
    expect(accelerators).toEqual(["A100", "H100"]);
    const asked = offersAnswer(sources, { ...question, accelerator: "a100" });
    expect([asked.offerCount, asked.unpricedCount]).toEqual([0, 1]);
  });

  it("has the lowest price of each day, and holds a price until the offer's next row", () => {
    const { history } = offersAnswer(sources, { ...question, accelerator: "H100" });
    const list = history.find(({ market }) => market === "on-demand")?.points;
    expect(list?.map(({ atMs, usdPerHour, offerCount }) => [atMs / DAY_MS, usdPerHour, offerCount])).toEqual([
      [397, 2.5, 1],
      [398, 2.5, 2],
      [399, 2.5, 3],
    ]);
    expect(history.find(({ market }) => market === "spot")?.points.map(({ usdPerHour }) => usdPerHour)).toEqual([
      1.5, 1.2,
    ]);
  });

  it("trusts no price of the future, and has no series of times that a chart cannot hold", () => {
    const [row] = sources.rows;
    if (row === undefined) throw new Error("the feed has rows");
    const dated = [NOW_MS + 3_000 * DAY_MS, NOW_MS - 20_000 * DAY_MS, NOW_MS].map((atMs, index) => ({
      ...row,
      atMs,
      region: `region-${index}`,
    }));
    const { items, unpriced, history } = offersAnswer({ ...sources, rows: dated }, question);
    expect([...new Set(items.map(({ region }) => region))]).toEqual(["region-2"]);
    expect(unpriced.map(({ region, defects }) => [region, defects.map(({ detail }) => detail)])).toEqual([
      ["region-0", ["the price is dated 3000 days ahead"]],
      ["region-1", ["the price is 20000 days old"]],
    ]);
    expect(new Set(history.flatMap(({ points }) => points.map(({ atMs }) => atMs)))).toEqual(new Set([NOW_MS]));
  });

  it("compares owned and leased capacity with the cheapest trusted offer", () => {
    const options = [{ name: "lease", source: "leased", accelerators: 8, perHour: 2 }];
    const tco = tcoDocument.parse({ kind: "tco", utilisation: 0.5, accelerator: "H100", options });
    const { breakEvens } = offersAnswer({ ...sources, documents: [{ document: "own.yaml", tco }] }, question);
    expect(breakEvens).toEqual([
      { document: "own.yaml", option: "lease", against: "Beta north", usdPerHour: 2.5, utilisation: 0.8 },
    ]);
  });
});

describe("CSV records", () => {
  it.each([
    [
      'a, "b ""c"", d" ,\r\n\n1,2',
      [
        ["a", 'b "c", d', ""],
        ["1", "2"],
      ],
    ],
    ["\uFEFFa\n", [["a"]]],
    ["", []],
  ])("reads %j", (text, expected) => {
    expect(csvRecords(text)?.map(({ fields }) => fields)).toEqual(expected);
  });

  it("numbers records by their first line, and refuses quotes without an end", () => {
    expect(csvRecords('a\n"b\nc"\nd')?.map(({ line }) => line)).toEqual([1, 2, 4]);
    expect(csvRecords('a,"b\nc')).toBeNull();
    expect(csvRecords('"a"b,c')).toBeNull();
  });
});
